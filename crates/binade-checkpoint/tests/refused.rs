//! Checkpoints of other runs are refused, with the name that differs, and no checkpoint can be made in the middle of a step. Nothing changes then.

use crate::common::device::Trains;
use crate::common::{Setting, Training};
use binade_checkpoint::{Checkpoint, Draft, DraftError, SaveError};
use binade_core::{DType, Error, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Scaler};
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};

fn setting() -> Setting {
    Setting::new(UpdateRule::adamw(0.01))
}

fn run(setting: &Setting, micro_batches: usize) -> Training<Cpu> {
    let mut run = Training::new(&Cpu, setting);
    run.run(micro_batches);
    run
}

/// Returns the error of restoring `run` to `checkpoint`, and asserts that nothing of it has changed.
fn refusal(run: &mut Training<Cpu>, checkpoint: &Checkpoint) -> String {
    let before = run.checkpoint().to_bytes().unwrap();
    let mut restore = checkpoint.restore();
    let asked = restore.scaler("loss", &mut run.scaler);
    let asked = asked.and_then(|()| restore.optimizer("model", &mut run.optimizer));
    let error = asked.and_then(|()| restore.finish()).expect_err("it is of something else");
    assert_eq!(run.checkpoint().to_bytes().unwrap(), before, "{error}");
    error.to_string()
}

/// Returns the error of a checkpoint of another setting.
fn refused(other: &Setting) -> String {
    let checkpoint = run(other, 3).checkpoint();
    refusal(&mut run(&setting(), 5), &checkpoint)
}

#[test]
fn another_storage_names_the_tensor_and_both_types() {
    let text = refused(&Setting { storage: DType::BF16, ..setting() });
    assert_eq!(
        text,
        "optimizer `model`: the value of `weight`: found bf16 [2, 3], expected f16 [2, 3]; store parameters in the type that \
         was saved"
    );
}

#[test]
fn another_store_names_what_differs() {
    let text = refused(&Setting { store: MasterStore::NoMaster, ..setting() });
    assert!(text.contains("the master of `weight`: found none, expected f32 [2, 3]"), "{text}");
}

#[test]
fn another_rule_of_as_many_moments_names_both() {
    let text = refused(&Setting::new(UpdateRule::sgd(0.01)));
    assert!(text.starts_with("the rule of optimizer `model`: found sgd, expected adam;"), "{text}");
    let text = refused(&Setting::new(UpdateRule::adam(0.01)));
    let differing = "the rule of optimizer `model`: found decoupled: false, weight_decay: 0.0, expected decoupled: true, \
                     weight_decay: 0.01;";
    assert!(text.starts_with(differing), "{text}");
}

#[test]
fn another_learning_rate_is_taken_over() {
    let checkpoint = run(&Setting::new(UpdateRule::adamw(0.5)), 3).checkpoint();
    let resumed = Training::resumed(&Cpu, &setting(), &checkpoint);
    assert_eq!(resumed.optimizer.config(), &checkpoint.optimizers["model"].config);
}

fn of(params: Vec<Named<binade_cpu::Tensor>>) -> Checkpoint {
    let config = OptimizerConfig::new(UpdateRule::adamw(0.01)).unwrap();
    let optimizer = MasterOptimizer::new(Cpu, params, config).unwrap();
    let rule = Training::new(&Cpu, &setting()).scaler;
    let draft = Draft::fresh().scaler("loss", &rule).unwrap();
    draft.optimizer("model", &optimizer).unwrap().finish().unwrap()
}

#[test]
fn another_shape_a_missing_parameter_and_a_strange_one_are_named() {
    let half = |name: &str, shape: &[usize]| {
        let values = vec![1.0; shape.iter().product()];
        Named::new(name, Cpu.tensor(&values, shape, DType::F16))
    };
    let norm = || Named::new("norm", Cpu.tensor(&[1.0, 1.0], &[2], DType::F32));
    for (params, expected) in [
        (
            vec![half("weight", &[3, 2]), norm()],
            "the value of `weight`: found f16 [3, 2], expected f16 [2, 3]; build the model that was saved",
        ),
        (vec![half("weight", &[2, 3])], "the value of `norm`: found none, expected f32 [2]; "),
        (
            vec![half("weight", &[2, 3]), norm(), half("head", &[1])],
            "the value of `head`: found f16 [1], expected none; ",
        ),
    ] {
        let text = refusal(&mut run(&setting(), 5), &of(params));
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn another_rule_of_the_scale_names_both() {
    let checkpoint = run(&setting(), 3).checkpoint();
    let mut scaler = Scaler::new(Cpu, LossScale::fixed(128.0).unwrap()).unwrap();
    let mut restore = checkpoint.restore();
    let text = restore.scaler("loss", &mut scaler).unwrap_err().to_string();
    assert!(text.starts_with("the rule of scaler `loss`: found LossScale"), "{text}");
}

#[test]
fn a_name_that_is_not_there_is_told_with_those_that_are() {
    let checkpoint = run(&setting(), 3).checkpoint();
    let mut other = run(&setting(), 0);
    let mut restore = checkpoint.restore();
    let text = restore.optimizer("generator", &mut other.optimizer).unwrap_err().to_string();
    assert_eq!(text, "the checkpoint has no optimizer `generator`; it has model");
}

#[test]
fn a_part_that_nobody_asks_for_is_refused() {
    let windowed = Setting { window: 3, ..setting() };
    let text = refusal(&mut run(&setting(), 2), &run(&windowed, 4).checkpoint());
    assert!(text.starts_with("the checkpoint has the window `window`, which was not"), "{text}");
}

#[test]
fn a_window_of_other_parameters_names_the_gradient() {
    let checkpoint = run(&Setting { window: 3, ..setting() }, 5).checkpoint();
    let scaler = Training::new(&Cpu, &setting()).scaler;
    let params = vec![Named::new("weight", Cpu.tensor(&[1.0], &[1], DType::F16))];
    let mut restore = checkpoint.restore();
    let error = restore.window("window", &scaler, &params).unwrap_err();
    let expected =
        "window `window`: the gradient sum of `weight`: found f32 [2, 3], expected f32 [1]";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// Asserts that no checkpoint is made with an earlier outcome while `hold`'s value of a step is in flight.
fn held<T>(hold: impl FnOnce(&mut Training<Cpu>) -> T) {
    let mut run = run(&setting(), 3);
    let earlier = run.last.clone().unwrap();
    let _held = hold(&mut run);
    let draft = Draft::after(&earlier).scaler("loss", &run.scaler).unwrap();
    assert_eq!(
        draft.finish().unwrap_err(),
        DraftError::InFlight { in_flight: 1, windows: 0 },
        "{}",
        std::any::type_name::<T>()
    );
}

#[test]
fn what_is_kept_of_a_step_beside_an_earlier_outcome_is_found() {
    held(|run| run.scaler.scale(&Cpu.loss()).unwrap());
    held(|run| {
        let grads = Cpu.gradients(&[None, None], DType::F16);
        run.scaler.scale(&Cpu.loss()).unwrap().backward(|_| Ok(grads)).unwrap()
    });
    held(Training::gradients);
    held(|run| run.gradients().step(&mut run.optimizer).unwrap());
    held(|run| {
        let mut window = run.scaler.accumulate(BadMicroBatch::Drop);
        window.add(run.gradients()).unwrap();
        window
    });
}

#[test]
fn an_outcome_of_an_earlier_step_is_found() {
    let mut run = run(&setting(), 3);
    let earlier = run.last.clone().unwrap();
    run.run(1);
    let draft = |begun: Draft| begun.scaler("loss", &run.scaler).unwrap().finish();
    assert_eq!(draft(Draft::after(&earlier)).unwrap_err(), DraftError::Stale);
    assert_eq!(draft(Draft::fresh()).unwrap_err(), DraftError::Stale);
    assert!(draft(Draft::after(run.last.as_ref().unwrap())).is_ok());
}

#[test]
fn names_are_taken_once_and_have_no_slash() {
    let run = run(&setting(), 0);
    let twice = Draft::fresh().scaler("loss", &run.scaler).unwrap().scaler("loss", &run.scaler);
    let duplicate = DraftError::Duplicate { kind: "scaler", name: "loss".into() };
    assert!(matches!(twice, Err(SaveError::Draft(error)) if error == duplicate));
    let slash = Draft::fresh().optimizer("a/b", &run.optimizer);
    assert!(matches!(slash, Err(SaveError::Draft(DraftError::Name(name))) if name == "a/b"));
}

#[test]
fn a_device_that_refuses_to_be_read_says_so() {
    let device = binade_conformance::counting::Counting::strict(Cpu);
    let run = Training::new(&device, &setting());
    let refused = Draft::fresh().optimizer("model", &run.optimizer);
    let Err(SaveError::Device(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.kind(), binade_core::ErrorKind::Unsupported);
    let _window = device.window();
    assert!(Draft::fresh().optimizer("model", &run.optimizer).is_ok());
}

#[test]
fn a_number_that_is_none_is_refused_rather_than_written() {
    let mut scaler = Scaler::new(Cpu, LossScale::dynamic()).unwrap();
    let state = scaler.state().unwrap();
    scaler.set_state(ScaleState { significand: f32::INFINITY, ..state }).unwrap();
    let checkpoint = Draft::fresh().scaler("loss", &scaler).unwrap().finish().unwrap();
    let error = checkpoint.to_bytes().unwrap_err().to_string();
    assert!(
        error.contains("infinite, NaN or beyond its type (scalers.loss.state.significand:"),
        "{error}"
    );
}
