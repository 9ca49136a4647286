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
         depends on them, and hand its gradients over; if the layers were built before `initialize`, build them over \
         `optimizer.params`",
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
        "`other`: a gradient came for it, and no parameter of the optimizer has that name; correct the name, or give one optimizer all parameters and move some by another rule, as a group",
    );
}
