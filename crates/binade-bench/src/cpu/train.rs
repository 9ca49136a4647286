//! Rows of whole training steps: an MLP, and the examples' programs.

use super::row::{Spec, Work, timed};
use crate::Result;
use crate::mlp::Mlp;
use crate::speed::data::values;
use crate::training::{Setting, Training};
use binade::OptLevel;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_example_digits::{args::Args as Digits, config, data, train};
use binade_example_gpt::{args::Args as Gpt, session};
use clap::Parser;
use indicatif::ProgressBar;
use serde_json::{Value, json};

/// MLP of PyTorch's baseline on a CPU.
pub(crate) const MLP: Mlp = Mlp { widths: &[1024, 4096, 4096, 1024], batch: 256 };

/// Training step of an MLP. PyTorch has no O2.
pub(crate) fn mlp(group: &'static str, mlp: Mlp, setting: Setting) -> Spec {
    let peer =
        json!({ "kind": "mlp", "widths": mlp.widths, "batch": mlp.batch, "low": low(setting) });
    let peer = (setting.0 != OptLevel::O2).then_some(peer);
    let row = Spec::new(group, name(setting), peer, move || {
        let widest = mlp.widths.iter().max().copied().unwrap_or(0);
        let mut training = Training::new(&Cpu, mlp, setting, &values(mlp.batch * widest))?;
        Ok(timed(move || training.step()))
    });
    Spec { flops: mlp.flops(), ..row }
}

/// Step of the example `gpt`, of its default sizes.
pub(crate) fn gpt(setting: Setting, steps: usize) -> Spec {
    let row = json!({ "kind": "gpt", "low": low(setting) });
    Spec::new("gpt", name(setting), row, move || {
        let line = format!(
            "gpt {} --steps {steps} --every {steps} --dropout 0 --sample 0",
            level(setting)
        );
        let args = Gpt::try_parse_from(line.split(' '))?;
        Ok(work(steps, move || {
            let mut runs = Vec::new();
            session::run(&args, &mut runs)?;
            Ok(runs.iter().map(|run| run.seconds).sum())
        }))
    })
}

/// Step of the example `digits`: one of its models on batches of 32. The seconds are of a run of one epoch, its test included.
pub(crate) fn digits(setting: Setting, model: &'static str) -> Spec {
    let row = json!({ "kind": "digits", "model": model, "low": low(setting) });
    Spec::new("digits", format!("{model}, {}", name(setting)), row, move || {
        let rule = "--clip-norm 1 --init-scale 1024 --growth-interval 4000000000";
        let line = format!("digits {} --model {model} --epochs 1 {rule}", level(setting));
        let args = Digits::try_parse_from(line.split(' '))?;
        let (data, [setting]) = (data::load(None, 0)?, one(config::settings(&args))?);
        let steps = data.train.len().div_ceil(args.batch as usize);
        Ok(work(steps, move || {
            Ok(train::run(&Cpu, &args, setting, &data, &ProgressBar::hidden())?.seconds)
        }))
    })
}

/// Makes work of a function that takes `steps` steps, and returns their seconds: a step counts as one time.
#[expect(clippy::cast_precision_loss, reason = "a few hundred")]
fn work(steps: usize, mut run: impl FnMut() -> Result<f64> + 'static) -> Work {
    Box::new(move |times| {
        let runs = times.div_ceil(steps);
        let seconds: f64 = (0..runs).map(|_| run()).sum::<Result<f64>>()?;
        Ok(seconds * times as f64 / (runs * steps) as f64)
    })
}

fn one<T>(all: Vec<T>) -> Result<[T; 1]> {
    all.try_into().map_err(|_| "one level was asked for".into())
}

fn name((level, dtype): Setting) -> String {
    format!("{level} {}", dtype.name())
}

fn level((level, dtype): Setting) -> String {
    if level == OptLevel::O0 {
        format!("--level {level}")
    } else {
        format!("--level {level} --dtype {}", dtype.name())
    }
}

fn low((level, dtype): Setting) -> Value {
    if level == OptLevel::O0 { Value::Null } else { dtype.name().into() }
}

/// Settings of the examples' rows.
pub(crate) const EXAMPLES: [Setting; 3] =
    [(OptLevel::O0, DType::F32), (OptLevel::O1, DType::BF16), (OptLevel::O1, DType::F16)];
