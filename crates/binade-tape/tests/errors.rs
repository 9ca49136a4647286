//! Mistakes, and the advice of their errors; `tests/tests/mistakes.rs` has those of a whole loop.

use crate::common::{Grads, named, plain, tensor};
use binade_core::{Error, ErrorKind, Op, OpClass};
use binade_cpu::Cpu;
use binade_tape::TapeError;

fn holds<T: std::fmt::Debug>(
    outcome: Result<T, TapeError<binade_cpu::Error>>,
    kind: ErrorKind,
    words: &[&str],
) {
    let error = outcome.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

#[test]
fn operands_of_two_tapes_are_refused() {
    let (a, b) = (plain().variable(tensor(&[2], 1)), plain().variable(tensor(&[2], 2)));
    holds(a.add(&b), ErrorKind::Mismatch, &["`add`", "two tapes", "tape.constant("]);
    let loss = a.sum().unwrap();
    holds(loss.gradient(&b), ErrorKind::Mismatch, &["`gradient`"]);
    holds(a.on(b.tape()), ErrorKind::Mismatch, &["`on`"]);
}

#[test]
fn only_a_scalar_can_be_differentiated() {
    let x = plain().parameter(&named("x", &[2, 3], 1));
    holds(x.backward::<Grads>(), ErrorKind::InvalidArgument, &["[2, 3]", "mean()"]);
}

#[test]
fn a_custom_operation_gives_one_gradient_for_each_operand() {
    let tape = plain();
    let x = tape.variable(tensor(&[], 1));
    let mine = |count: usize| {
        let op = Op::custom("mine", OpClass::Other);
        let back = move |_: binade_tape::CustomCall<'_, Cpu>, _: &_| Ok(vec![None; count]);
        tape.custom(op, &[&x, &x], |call| Ok(call.operands[0].clone()), back).unwrap()
    };
    assert!(mine(2).gradient(&x).unwrap().is_none(), "none for either is an answer");
    holds(mine(1).gradient(&x), ErrorKind::Mismatch, &["`mine`", "1 gradients for 2 operands"]);
    let none =
        tape.custom(Op::custom("mine", OpClass::Other), &[], |_| unreachable!(), |_, _| Ok(vec![]));
    holds(none, ErrorKind::InvalidArgument, &["`mine`", "tape.constant("]);
}

#[test]
fn what_has_no_backward_pass_says_so_at_the_call() {
    let tape = plain();
    let x = tape.variable(tensor(&[2, 3], 1));
    let [gain, offset] = [1, 2].map(|seed| tape.constant(tensor(&[3], seed)));
    let running = binade_core::ops::RunningStats { mean: tensor(&[3], 3), var: tensor(&[3], 1) };
    let outcome = x.batch_norm_inference(&gain, &offset, &running, 1e-5);
    holds(outcome, ErrorKind::Unsupported, &["batch_norm_inference", "tape.no_grad()"]);
    assert!(x.detach().batch_norm_inference(&gain, &offset, &running, 1e-5).is_ok());
}

#[test]
fn the_devices_own_errors_keep_their_words_and_kind() {
    let tape = plain();
    let x = tape.constant(tensor(&[2, 3], 1));
    holds(x.matmul(&x), ErrorKind::Mismatch, &["matmul", "[2, 3]"]);
}
