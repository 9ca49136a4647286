//! The mistakes a user makes, and the whole text of what each is told: what is wrong, with the value, and what to do.
//!
//! Mistakes on a command line are in `examples/digits/tests/arguments.rs`, and mistakes that one crate alone notices in its own tests.

use binade::OptLevel;
use binade::core::ErrorKind;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_tape::{Tape, TapeError, Var};

type Failed = TapeError<binade_cpu::Error>;
type Grads = Vec<Named<Option<Tensor>>>;

fn weight(name: &str) -> Named<Tensor> {
    Named::new(name, Tensor::new(vec![1.0_f32, 2.0], &[1, 2]).unwrap())
}

fn amp(names: &[&str]) -> Amp<Cpu> {
    let model = Model::new(names.iter().map(|name| weight(name)).collect());
    let rule = LossScale::dynamic().with_init_scale(1024.0).unwrap();
    let properties = Properties { loss_scale: rule, ..OptLevel::O1.with(DType::F16) };
    initialize(Cpu, model, UpdateRule::sgd(0.1), properties).unwrap()
}

/// One step on the sum of `input` times the first parameter; the others are on the tape and take no part.
fn step(amp: &mut Amp<Cpu>, input: [f32; 2]) -> Result<Step, Failed> {
    let tape = Tape::new(Cpu, &amp.region);
    let params = tape.parameters(&amp.optimizer.params);
    let input = tape.constant(Tensor::new(input.to_vec(), &[1, 2])?);
    let loss = input.linear(&params[0], None)?.sum()?;
    let grads = amp.scaler.scale(&loss)?.backward(Var::backward)?;
    let pending = grads.unscale()?.step(&mut amp.optimizer)?;
    Ok(amp.scaler.update(pending)?.resolve()?)
}

/// Holds the text and the kind.
fn told<T, E: binade::core::Error>(outcome: Result<T, E>, kind: ErrorKind, text: &str) {
    let error = outcome.err().expect(text);
    assert_eq!(error.to_string(), text);
    assert_eq!(error.kind(), kind);
}

#[test]
fn a_loss_that_leaves_a_parameter_out() {
    let report = step(&mut amp(&["used", "left.out"]), [0.5, 0.25]).unwrap();
    assert!(report.is_applied(), "what has a gradient moves");
    assert_eq!(
        report.report().to_string(),
        "step 1 applied; no gradient for left.out; scale 1024. Let the loss depend on a parameter that has no \
         gradient, or take it out of the set"
    );
}

#[test]
fn a_step_without_any_gradient() {
    let mut amp = amp(&["first", "second"]);
    let tape = Tape::new(Cpu, &amp.region);
    let loss = tape.parameter(&amp.optimizer.params[0]).sum().unwrap();
    let none = |_: &Var<Cpu>| -> Result<binade_cpu::Gradients, Failed> {
        let missing = ["first", "second"].map(|name| Named::new(name, None));
        Ok(Vec::from(missing).into())
    };
    let grads = amp.scaler.scale(&loss).unwrap().backward(none).unwrap();
    told(
        grads.unscale().unwrap().step(&mut amp.optimizer),
        ErrorKind::InvalidArgument,
        "no gradient came for any of 2 parameters, so there is nothing to step with: run backward on a loss that \
         depends on them, and hand its gradients over",
    );
}

#[test]
fn after_a_step_without_any_gradient_the_next_one_is_taken() {
    let mut amp = amp(&["weight"]);
    let before = amp.scaler.state().unwrap();
    for _ in 0..2 {
        let none = vec![Named::new("weight", None)];
        let grads = amp.scaler.check_unscaled(none.into()).unwrap();
        assert!(grads.step(&mut amp.optimizer).is_err());
        assert_eq!(amp.scaler.state().unwrap(), before);
    }
    assert!(step(&mut amp, [0.5, 0.25]).unwrap().is_applied());
    assert_eq!(amp.scaler.state().unwrap().good_steps, 1);
}

/// The unscaled gradients of one batch.
fn gradients(amp: &Amp<Cpu>) -> Result<binade::grad_scaler::UnscaledGrads<Cpu>, Failed> {
    let tape = Tape::new(Cpu, &amp.region);
    let loss = tape.parameter(&amp.optimizer.params[0]).sum()?;
    Ok(amp.scaler.scale(&loss)?.backward(Var::backward)?.unscale()?)
}

#[test]
fn a_step_that_never_reaches_update() {
    let mut amp = amp(&["weight"]);
    drop(gradients(&amp).unwrap().step(&mut amp.optimizer).unwrap());
    told(
        gradients(&amp),
        ErrorKind::Mismatch,
        "step 1 never reached `Scaler::update`, so that the scale has not moved by what it found and nobody has heard whether it \
         was skipped: give every step to `update`, or call `abandon` on it; this is told once, and the next call goes on",
    );
    assert!(step(&mut amp, [0.5, 0.25]).unwrap().is_applied());
}

#[test]
fn an_update_of_another_scaler() {
    let (mut mine, mut other) = (amp(&["weight"]), amp(&["weight"]));
    let step = gradients(&mine).unwrap().step(&mut mine.optimizer).unwrap();
    told(
        other.scaler.update(step),
        ErrorKind::Mismatch,
        "the step holds gradients of a loss that another scaler has scaled, whose scale this update would not move: give it to \
         the `Scaler::update` of that scaler, or use `Scaler::update_each` for a step made of several scalers' gradients",
    );
}

#[test]
fn an_update_for_each_of_two_steps_of_one_iteration() {
    let mut amp = amp(&["weight"]);
    let grads = [gradients(&amp).unwrap(), gradients(&amp).unwrap()];
    let [first, second] = grads.map(|grads| grads.step(&mut amp.optimizer).unwrap());
    amp.scaler.update(first).unwrap().ignore();
    told(
        amp.scaler.update(second),
        ErrorKind::Mismatch,
        "the step holds gradients of losses that were all scaled before the last `Scaler::update`, which has ended their \
         iteration: join the steps of one iteration with `.and()` and update once, and scale the next iteration's losses after it",
    );
}

#[test]
fn a_loss_that_depends_on_no_parameter() {
    let amp = amp(&["weight"]);
    let tape = Tape::new(Cpu, &amp.region).no_grad();
    let loss = tape.parameter(&amp.optimizer.params[0]).sum().unwrap();
    told(
        loss.backward::<Grads>(),
        ErrorKind::InvalidArgument,
        "backward of a loss that no parameter led to: it was made of constants, of detached values, or under \
         `no_grad`; make weights with `tape.parameter`",
    );
}

#[test]
fn a_nan_loss() {
    let mut amp = amp(&["weight"]);
    let Step::Skipped(report) = step(&mut amp, [f32::NAN, 1.0]).unwrap() else { panic!("a NaN") };
    assert_eq!(
        report.to_string(),
        "step 1 skipped; weight[0] is NaN (0 infinite, 1 NaN, largest finite 1.024e3); scale 1024 -> 512; \
         1 skipped in a row, 1 of 1 in all. A lower scale cures NaN only where an overflow inside backward made it: if it stays, look at the loss and at the \
         operation before this parameter"
    );
}

#[test]
fn an_f16_model_without_masters() {
    let properties = Properties { master_weights: Some(false), ..OptLevel::O2.with(DType::F16) };
    let model = Model::new(vec![weight("weight")]);
    told(
        initialize(Cpu, model, UpdateRule::sgd(0.1), properties),
        ErrorKind::InvalidArgument,
        "O2 stores f16 parameters without masters: updates below half a unit in the last place are lost. Keep \
         master_weights, or choose O3, which is that choice by name",
    );
}

#[test]
fn two_parameters_of_one_name_on_a_tape() {
    let tape = Tape::new(Cpu, &Region::bf16().off());
    let twins = tape.parameters(&[weight("weight"), weight("weight")]);
    let loss = twins[0].mul(&twins[1]).unwrap().sum().unwrap();
    told(
        loss.backward::<Grads>(),
        ErrorKind::Mismatch,
        "two parameters are called `weight`: gradients go by name; register each once, and use its `Var` twice",
    );
}

#[test]
fn a_gradient_towards_what_is_no_parameter() {
    let tape = Tape::new(Cpu, &Region::bf16().off());
    let (x, y) = (tape.parameter(&weight("x")), tape.constant(weight("y").value));
    let loss = x.mul(&y).unwrap().sum().unwrap();
    told(
        loss.backward_to::<Grads>([&x, &y]),
        ErrorKind::Mismatch,
        "operand 1 of `backward_to` is no parameter of this tape: make it with `tape.parameter`",
    );
}

#[test]
fn a_gradient_of_a_parameter_that_the_optimizer_does_not_have() {
    let (mut ours, other) = (amp(&["ours"]), amp(&["other"]));
    let tape = Tape::new(Cpu, &ours.region);
    let loss = tape.parameter(&other.optimizer.params[0]).sum().unwrap();
    let grads = ours.scaler.scale(&loss).unwrap().backward(Var::backward).unwrap();
    let stepped = grads.unscale().unwrap().step(&mut ours.optimizer);
    told(
        stepped.map(|_| ()),
        ErrorKind::Mismatch,
        "`other`: a gradient came for it that no parameter of the optimizer is waiting for: it has none of that name, or a \
         gradient had come already",
    );
}

#[test]
fn a_scale_or_an_interval_that_no_rule_takes() {
    let rule = LossScale::dynamic();
    for (refused, text) in [
        (
            rule.with_init_scale(1000.0),
            "a loss scale of 1000 is not a power of two between 2^-126 and 2^126; take 65536 (2^16), or import it with \
             `ScaleState::import`, which is not exact",
        ),
        (
            rule.with_growth_interval(0),
            "a growth interval of 0 would grow the scale at every step; take 1 or more (torch's default is 2000)",
        ),
    ] {
        assert_eq!(refused.unwrap_err().to_string(), text);
    }
}

#[test]
fn a_norm_to_clip_to_that_is_none() {
    let amp = amp(&["weight"]);
    let tape = Tape::new(Cpu, &amp.region);
    let loss = tape.parameter(&amp.optimizer.params[0]).sum().unwrap();
    let grads = amp.scaler.scale(&loss).unwrap().backward(Var::backward).unwrap();
    let clipped = grads.unscale().unwrap().clip_norm(0.0);
    told(
        clipped.map(|_| ()),
        ErrorKind::InvalidArgument,
        "clip_norm: a limit of 0 given, takes a positive number",
    );
}
