//! Recorded gradients as values of a tape: types, regions, history, and refusals.

use super::{grads, squared};
use crate::common::{f32s, named, plain, tensor};
use binade_autocast::Region;
use binade_core::ops::AttentionConfig;
use binade_core::{DType, Error, ErrorKind, Op, OpClass};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{LossScale, Scaler};
use binade_tape::{CustomCall, Tape, Var};
use std::sync::Arc;

#[track_caller]
fn refused(loss: &Var<Cpu>, x: &Var<Cpu>, name: &str) {
    let error = loss.grad(&[x]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains(&format!("`{name}` has no double backward")), "{error}");
    loss.gradient(x).unwrap().expect("a plain gradient");
}

#[test]
fn attention_is_refused_by_name() {
    let tape = plain();
    let x = tape.variable(tensor(&[1, 3, 4], 1));
    let config = AttentionConfig { causal: true, scale: None };
    let y = x.scaled_dot_product_attention(&x, &x, None, config).unwrap();
    refused(&y.sum().unwrap(), &x, "scaled_dot_product_attention");
}

#[test]
fn group_norm_is_refused_by_name() {
    let tape = plain();
    let x = tape.variable(tensor(&[2, 4, 3], 1));
    let [weight, bias] = [2, 3].map(|seed| tape.constant(tensor(&[4], seed)));
    let y = x.group_norm(&weight, &bias, 2, 1e-3).unwrap();
    refused(&y.sum().unwrap(), &x, "group_norm");
}

#[test]
fn parts_computed_again_and_custom_operations_are_refused_by_name() {
    let tape = plain();
    let x = tape.variable(tensor(&[3], 1));
    let again = tape.recompute(&[&x], |of| of[0].exp()).unwrap();
    refused(&again.sum().unwrap(), &x, "recompute");
    let mine = custom(&x);
    refused(&mine.sum().unwrap(), &x, "mine");
    // One that does not lead from the input to the loss is no obstacle.
    let beside = mine.detach().mul(&x).unwrap().sum().unwrap();
    assert!(beside.grad(&[&x]).is_ok());
    let other = tape.variable(tensor(&[3], 2));
    assert!(mine.mul(&other).unwrap().sum().unwrap().grad(&[&other]).is_ok());
}

fn custom(x: &Var<Cpu>) -> Var<Cpu> {
    let op = Op::custom("mine", OpClass::Other);
    let back = |_: CustomCall<'_, Cpu>, grad: &Tensor| Ok(vec![Some(grad.clone())]);
    x.tape().custom(op, &[x], |call| Ok(call.operands[0].clone()), back).unwrap()
}

#[test]
fn a_custom_operation_with_the_name_of_another_is_refused_too() {
    let x = plain().variable(tensor(&[3], 1));
    let back = |_: CustomCall<'_, Cpu>, grad: &Tensor| Ok(vec![Some(grad.clone())]);
    let forward = |call: CustomCall<'_, Cpu>| Ok(call.operands[0].clone());
    let y = x.tape().custom(Op::GELU, &[&x], forward, back).unwrap();
    refused(&y.sum().unwrap(), &x, "gelu");
}

#[test]
fn a_region_casts_no_recorded_backward_but_what_is_computed_of_it() {
    for (region, dtype) in [(Region::f16(), DType::F16), (Region::bf16(), DType::BF16)] {
        let tape = Tape::new(Cpu, &region);
        let w = tape.variable(tensor(&[8, 8], 1));
        let x = tape.constant(tensor(&[4, 8], 2));
        let y = x.linear(&w, None).unwrap().gelu().unwrap().linear(&w, None).unwrap();
        let loss = y.mean().unwrap();
        let grad = grads(&loss, std::slice::from_ref(&w)).remove(0);
        assert_eq!(grad.dtype(), DType::F32);
        let plain = loss.gradient(&w).unwrap().unwrap();
        assert!(grad.tensor().to_bits() == plain.to_bits());
        assert_eq!(grad.matmul(&grad).unwrap().dtype(), dtype, "the loss' region");
    }
}

#[test]
fn recorded_gradients_of_a_value_used_often_are_summed_in_f32_and_rounded_once() {
    let x = plain().variable(tensor(&[64], 1).cast(DType::F16).unwrap());
    let uses = (0_u8..5).map(|i| x.scaled_by(f32::from(i).mul_add(0.37, 0.11)).unwrap().tanh());
    let sum = uses.reduce(|sum, part| sum?.add(&part?)).unwrap().unwrap();
    let loss = sum.mul(&sum).unwrap().sum().unwrap();
    let grad = grads(&loss, std::slice::from_ref(&x)).remove(0);
    assert!(grad.tensor().to_bits() == loss.gradient(&x).unwrap().unwrap().to_bits());
}

#[test]
fn a_normalisation_of_16_bit_values_with_f32_parameters_goes_back_twice() {
    let second = |dtype| {
        let tape = plain();
        let x = tape.variable(tensor(&[3, 8], 1).cast(DType::F16).unwrap().cast(dtype).unwrap());
        let [gain, offset] = [2, 3].map(|seed| tape.variable(tensor(&[8], seed)));
        let y = x.layer_norm(&gain, &offset, 1e-3).unwrap().cast(DType::F32).unwrap();
        let loss = y.mul(&y).unwrap().mul(&y).unwrap().sum().unwrap();
        let grad = grads(&loss, &[gain]).remove(0);
        assert_eq!(grad.dtype(), DType::F32);
        f32s(&grad.mul(&grad).unwrap().sum().unwrap().gradient(&x).unwrap().unwrap())
    };
    let (got, want) = (second(DType::F16), second(DType::F32));
    let largest = want.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    assert!(got.iter().zip(&want).all(|(got, want)| (got - want).abs() <= 0.01 * largest));
}

#[test]
fn a_gradient_taken_without_gradients_has_a_history_all_the_same() {
    let tape = plain();
    let x = tape.variable(tensor(&[3], 1));
    let loss = x.mul(&x).unwrap().mul(&x).unwrap().sum().unwrap();
    let grad = loss.on(&tape.no_grad()).unwrap().grad(&[&x]).unwrap().remove(0).unwrap();
    let second = grad.on(&tape).unwrap().sum().unwrap().gradient(&x).unwrap().unwrap();
    let expected: Vec<f32> = f32s(x.tensor()).iter().map(|x| 6.0 * x).collect();
    let near = f32s(&second).iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-6);
    assert!(near, "{second:?}");
}

#[test]
fn inputs_without_a_path_have_no_gradient_and_others_keep_their_order() {
    let tape = plain();
    let [x, y, z] = [1, 2, 3].map(|seed| tape.variable(tensor(&[3], seed)));
    let constant = tape.constant(tensor(&[3], 4));
    let later = tape.variable(tensor(&[3], 5));
    let loss = z.mul(&x).unwrap().sum().unwrap();
    let after = tape.variable(tensor(&[3], 6));
    let grads = loss.grad(&[&x, &y, &z, &constant, &later, &after]).unwrap();
    let found: Vec<_> =
        grads.iter().map(|grad| grad.as_ref().map(|it| f32s(it.tensor()))).collect();
    let of = |var: &Var<Cpu>| Some(f32s(var.tensor()));
    assert_eq!(found, [of(&z), None, of(&x), None, None, None]);
}

#[test]
fn a_gradient_with_respect_to_an_inner_value_stops_there_and_goes_on_for_others() {
    let tape = plain();
    let x = tape.variable(tensor(&[3], 1));
    let inner = x.exp().unwrap();
    let loss = inner.mul(&inner).unwrap().sum().unwrap();
    let found = loss.grad(&[&inner, &x]).unwrap();
    for (grad, var) in found.iter().zip([&inner, &x]) {
        let plain = loss.gradient(var).unwrap().unwrap();
        assert_eq!(f32s(grad.as_ref().unwrap().tensor()), f32s(&plain));
    }
}

#[test]
fn mistakes_are_those_of_the_plain_gradient() {
    let (a, b) = (plain().variable(tensor(&[2], 1)), plain().variable(tensor(&[2], 2)));
    let kind = |outcome: Result<Vec<Option<Var<Cpu>>>, binade_tape::TapeError<_>>| {
        Error::kind(&outcome.unwrap_err())
    };
    assert_eq!(kind(a.sum().unwrap().grad(&[&b])), ErrorKind::Mismatch);
    assert_eq!(kind(a.grad(&[&a])), ErrorKind::InvalidArgument);
    assert_eq!(kind(a.detach().sum().unwrap().grad(&[&a])), ErrorKind::InvalidArgument);
}

#[test]
fn a_scaled_losss_gradients_are_unscaled_on_the_tape_with_their_history() {
    let scaler = Scaler::new(Cpu, LossScale::fixed(1024.0).unwrap()).unwrap();
    let tape = plain();
    let [x, y] = [1, 2].map(|seed| tape.variable(tensor(&[3], seed)));
    let loss = x.mul(&x).unwrap().mul(&y).unwrap().sum().unwrap();
    let raised = scaler.scale(&loss).unwrap();
    let grads = raised.grads(|loss| Ok(loss.grad(&[&x, &y])?.into_iter().flatten())).unwrap();
    let (x_values, y_values) = (f32s(x.tensor()), f32s(y.tensor()));
    let twice: Vec<f32> = x_values.iter().zip(&y_values).map(|(x, y)| 2.0 * x * y).collect();
    assert_eq!(f32s(grads[0].tensor()), twice);
    let second = grads[0].sum().unwrap().gradient(&x).unwrap().unwrap();
    assert_eq!(f32s(&second), y_values.iter().map(|y| 2.0 * y).collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_of_a_thousand_recorded_gradients_and_parts_computed_again() {
    let token = Arc::new(());
    let weight = named("weight", &[4, 4], 1);
    for _ in 0..1000 {
        let tape = Tape::new(Cpu, &Region::bf16());
        let w = tape.parameter(&weight);
        let kept = token.clone();
        let again = tape.recompute(&[&w], move |of| {
            let _ = &kept;
            of[0].exp()
        });
        let hidden = w.linear(&w, None).unwrap().gelu().unwrap().layer_norm(
            &tape.constant(tensor(&[4], 2)),
            &tape.constant(tensor(&[4], 3)),
            1e-5,
        );
        let loss = hidden.unwrap().sum().unwrap();
        let grad = grads(&loss, &[w]).remove(0);
        drop(again.unwrap().mul(&grad).unwrap());
        assert_eq!(Arc::strong_count(&token), 2, "this step's rule alone");
    }
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn a_deep_record_is_recorded_backward_without_recursion() {
    let tape = plain();
    let x = tape.variable(tensor(&[1], 1));
    let deep = (0..20_000).fold(x.clone(), |y, _| y.reshape(&[1]).unwrap());
    let grad = grads(&deep.mul(&deep).unwrap().sum().unwrap(), std::slice::from_ref(&x)).remove(0);
    assert_eq!(f32s(&grad.sum().unwrap().gradient(&x).unwrap().unwrap()), [2.0]);
}

#[test]
fn a_plain_backward_keeps_no_byte_more_for_double_backward() {
    let row = super::rows::rows().into_iter().find(|row| row.name == "layer_norm").unwrap();
    let (vars, loss) = squared(&row, &row.inputs);
    let before = loss.tape().activation_bytes();
    loss.gradient(&vars[0]).unwrap();
    assert_eq!(loss.tape().activation_bytes(), before);
    grads(&loss, &vars);
    assert!(loss.tape().activation_bytes() > before);
}
