//! Checkpoints of a run.

use crate::Result;
use crate::args::Args;
use crate::trainer::Trainer;
use binade::core::{DType, RawTensor, TensorSpec};
use binade_checkpoint::{Checkpoint, Draft};
use binade_example_shared::program::Trains;
use std::path::{Path, PathBuf};

impl<D: Trains> Trainer<'_, D> {
    /// Saves the run after its last step where the command line asks for it; the best so far in another file too.
    pub(crate) fn save(&self, is_best: bool) -> Result<()> {
        let (Some(file), Some(last)) = (&self.job.args.checkpoint, &self.last) else {
            return Ok(());
        };
        let draft = Draft::after(last).scaler("loss", &self.amp.scaler)?;
        let draft = draft.optimizer("model", &self.amp.optimizer)?;
        let draft = draft.word("model", self.model()).word("run", self.identity());
        let draft = draft.word("step", self.taken()).word("best", self.run.best);
        let running = self.net.running(self.device)?.into_iter();
        let draft = running.fold(draft, |draft, (name, values)| draft.tensor(&name, raw(&values)));
        let checkpoint = draft.finish()?;
        // All ranks have the same, and one writes it.
        let files = [Some(file.clone()), is_best.then(|| best(file))];
        for file in files.iter().flatten().filter(|_| self.is_first()) {
            let told = |error| format!("--checkpoint {}: {error}", file.display());
            checkpoint.write(file).map_err(told)?;
        }
        Ok(())
    }

    /// Resumes the run that was saved in `file`. To validate, its model alone has to be this one, and nothing else is loaded.
    pub(crate) fn resume(&mut self, file: &Path) -> Result<()> {
        self.restore(file).map_err(|why| format!("--resume {}: {why}", file.display()).into())
    }

    fn restore(&mut self, file: &Path) -> Result<()> {
        let saved = Checkpoint::read(file)?;
        let word = |name| saved.words.get(name).ok_or_else(|| format!("it has no word `{name}`"));
        let mut same = vec![("model", self.model())];
        if !self.job.args.evaluate {
            same.push(("run", self.identity()));
        }
        for (name, here) in same {
            let there = word(name)?;
            if *there != here {
                return Err(format!("it is of `{there}`, and this is `{here}`").into());
            }
        }
        let (step, best) = (word("step")?.parse::<u64>()?, word("best")?.parse()?);
        let last = self.job.steps();
        if step >= last && !self.job.args.evaluate {
            return Err(format!(
                "it has taken {step} of {last} steps; take more --epochs or --steps"
            )
            .into());
        }
        if self.job.args.evaluate {
            self.set_parameters(&saved)?;
        } else {
            let mut restore = saved.restore();
            restore.scaler("loss", &mut self.amp.scaler)?;
            restore.optimizer("model", &mut self.amp.optimizer)?;
            restore.finish()?;
        }
        let running = |name: &str| saved.tensors.get(name).and_then(RawTensor::to_f32);
        if let Some(name) = self.net.set_running(self.device, running)? {
            return Err(format!("it has no `{name}`").into());
        }
        self.run.best = best;
        self.run.outcomes.steps.attempted = step;
        self.run.outcomes.scales = vec![self.amp.scaler.state()?.factor()];
        Ok(())
    }

    /// Puts the parameters of a checkpoint in the place of these. Its scale and counts of steps are loaded for the report.
    fn set_parameters(&mut self, saved: &Checkpoint) -> Result<()> {
        let scaler = saved.scalers.get("loss").ok_or("it has no scaler `loss`")?;
        let model = saved.optimizers.get("model").ok_or("it has no optimizer `model`")?;
        self.amp.scaler.set_state(scaler.state)?;
        let params = self.amp.optimizer.params.iter_mut();
        for (param, (name, shape)) in params.zip(self.net.resnet.shapes()) {
            let of_name = model.parameters.iter().find(|saved| *saved.name == *name);
            let value = of_name.map(|saved| &saved.value).filter(|it| it.spec().shape == shape);
            let Some((value, values)) = value.and_then(|it| Some((it, it.to_f32()?))) else {
                return Err(format!("it has no `{name}` of shape {shape:?}").into());
            };
            param.value = self.device.upload(&values, shape, value.spec().dtype)?;
        }
        Ok(())
    }

    /// Returns the arguments that make the model and its types.
    fn model(&self) -> String {
        let kept = self.job.args.keep_batchnorm_fp32;
        let (name, classes) = (&self.run.name, self.job.data.classes.len());
        let kept = kept.map(|kept| format!(" --keep-batchnorm-fp32 {kept}"));
        format!(
            "{name} of {classes} classes, --width {}{}",
            self.job.sizes.width,
            kept.unwrap_or_default()
        )
    }

    /// Returns the arguments that a resumed run shares with the saved one. Ranks that normalise apart are another run in any other number.
    fn identity(&self) -> String {
        let Args { lr, momentum, weight_decay, no_norm_decay, seed, sync_bn, .. } = self.job.args;
        let (sizes, images, ranks) =
            (self.job.sizes, self.job.data.train.len(), self.job.args.ranks());
        format!(
            "{images} images, {} a step, --image-size {} --lr {lr} --momentum {momentum} --weight-decay {weight_decay} \
             --no-norm-decay {no_norm_decay} --seed {seed} --ranks {ranks} --sync-bn {sync_bn}",
            sizes.batch, sizes.image
        )
    }
}

/// Returns the file of the best model.
fn best(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".best");
    name.into()
}

/// Returns values as a tensor of a checkpoint.
fn raw(values: &[f32]) -> RawTensor {
    let spec = TensorSpec::new(DType::F32, [values.len()]);
    RawTensor::from_f32(spec, values).expect("f32, and as many values as the shape has")
}
