//! Record of a tape: missing gradients, sums, several losses, custom operations, and nothing left behind.

use crate::common::{Grads, f32s, named, plain, tensor};
use binade_autocast::Region;
use binade_core::ops::{Mul, Relu};
use binade_core::{DType, Named, Op, OpClass};
use binade_cpu::{Cpu, Tensor};
use binade_tape::{Tape, TapeError, Var};
use half::f16;
use std::sync::Arc;

fn halves(values: &[f32]) -> Tensor {
    Tensor::new(values.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>(), &[values.len()])
        .unwrap()
}

#[test]
fn a_parameter_that_no_path_leads_to_has_no_gradient() {
    let tape = plain();
    let used = tape.parameter(&named("used", &[3], 1));
    let cut = tape.parameter(&named("cut", &[3], 2));
    tape.parameter(&named("unused", &[3], 3));
    let loss = used.mul(&cut.detach()).unwrap().sum().unwrap();
    tape.parameter(&named("later", &[3], 4));
    let grads: Grads = loss.backward().unwrap();
    let there: Vec<_> = grads.iter().map(|g| (&*g.name, g.value.is_some())).collect();
    assert_eq!(there, [("used", true), ("cut", false), ("unused", false), ("later", false)]);
}

#[test]
fn gradients_of_a_value_used_often_are_summed_in_f32_and_rounded_once() {
    let tape = plain();
    let x = tape.variable(halves(&[1.0]));
    // The last term comes first. In f16, 1 + 2^-11 is 1 each time; in f32 the four of them make 2^-9, which f16 keeps.
    let terms = [1.0 / 2048.0, 1.0 / 2048.0, 1.0 / 2048.0, 1.0 / 2048.0, 1.0];
    let term = |factor: f32| x.mul(&tape.constant(halves(&[factor]))).unwrap().sum().unwrap();
    let loss = terms.map(term).into_iter().reduce(|a, b| a.add(&b).unwrap()).unwrap();
    let grad = loss.gradient(&x).unwrap().unwrap();
    assert_eq!((grad.dtype(), f32s(&grad)), (DType::F16, vec![1.0 + 1.0 / 512.0]));
}

#[test]
fn the_sum_that_reaches_a_cast_is_not_rounded_before_it() {
    let tape = Tape::new(Cpu, &Region::f16());
    let weight =
        tape.parameter(&Named::new("weight", Tensor::new(vec![1.0_f32], &[1, 1]).unwrap()));
    let term = |x: f32| {
        let x = tape.constant(Tensor::new(vec![x], &[1, 1]).unwrap());
        x.linear(&weight, None).unwrap().sum().unwrap()
    };
    let loss = term(1.0).add(&term(1.0 / 4096.0)).unwrap();
    let grads: Grads = loss.backward().unwrap();
    assert_eq!(f32s(grads[0].value.as_ref().unwrap()), [1.0 + 1.0 / 4096.0]);
}

#[test]
fn two_losses_of_one_tape_may_each_be_differentiated() {
    let tape = plain();
    let generator = tape.parameter(&named("generator", &[4], 1));
    let discriminator = tape.parameter(&named("discriminator", &[4], 2));
    let fake = generator.tanh().unwrap();
    let judged = fake.mul(&discriminator).unwrap();
    let (loss_g, loss_d) = (judged.sum().unwrap(), judged.mean().unwrap());
    let d: Grads = loss_d.backward_to([&discriminator]).unwrap();
    let g: Grads = loss_g.backward_to([&generator]).unwrap();
    let again: Grads = loss_d.backward().unwrap();
    assert_eq!((&*d[0].name, d.len(), &*g[0].name, g.len()), ("discriminator", 1, "generator", 1));
    let values = |grad: &Named<Option<Tensor>>| f32s(grad.value.as_ref().unwrap());
    assert_eq!(values(&d[0]), values(&again[1]), "as before the other was taken");
    let fourths: Vec<f32> = values(&g[0]).iter().map(|x| x / 4.0).collect();
    assert_eq!(values(&again[0]), fourths, "a mean is a quarter of the sum");
}

#[test]
fn a_parameter_that_moves_later_leaves_the_record_alone() {
    let mut weight = named("weight", &[2], 1);
    let before = f32s(&weight.value);
    let tape = plain();
    let w = tape.parameter(&weight);
    let loss = w.mul(&w).unwrap().sum().unwrap();
    weight.value.as_mut_slice::<f32>().unwrap().fill(100.0);
    let twice: Vec<f32> = before.iter().map(|x| 2.0 * x).collect();
    assert_eq!(f32s(&loss.gradient(&w).unwrap().unwrap()), twice);
}

#[test]
fn a_custom_operation_goes_back_in_the_region_it_went_forward_in() {
    const SQUARE: Op = Op::custom("square", OpClass::Pointwise);
    let policy = binade_cast_policy::OpTable::torch_cuda()
        .register("square", binade_cast_policy::CastRule::Lower);
    let tape = Tape::new(Cpu, &Region::new(DType::BF16, policy).unwrap());
    let x = tape.variable(tensor(&[3], 1));
    let y = tape
        .custom(
            SQUARE,
            &[&x],
            |call| Ok(call.device.mul(&call.operands[0], &call.operands[0])?),
            |call, grad| {
                assert_eq!(call.region.dtype(), DType::BF16);
                assert!(call.region.enabled);
                let half = call.device.mul(grad, &call.operands[0])?;
                Ok(vec![Some(binade_core::ops::Add::add(call.device, &half, &half)?)])
            },
        )
        .unwrap();
    assert_eq!(y.dtype(), DType::BF16);
    let loss = y.on(&tape.within(Region::f16().off())).unwrap().sum().unwrap();
    let grad = loss.gradient(&x).unwrap().unwrap();
    let low: Vec<f32> = f32s(&tensor(&[3], 1).cast(DType::BF16).unwrap());
    assert_eq!(grad.dtype(), DType::F32);
    assert_eq!(f32s(&grad), low.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_of_a_thousand_steps() {
    let token = Arc::new(());
    let weight = named("weight", &[4, 4], 1);
    for step in 0..1000 {
        let tape = Tape::new(Cpu, &Region::bf16());
        let w = tape.parameter(&weight);
        let kept = token.clone();
        let x = tape.constant(tensor(&[2, 4], step)).linear(&w, None).unwrap();
        let y = tape
            .custom(
                Op::custom("kept", OpClass::Other),
                &[&x],
                |call| Ok(call.device.relu(&call.operands[0])?),
                move |call, grad| {
                    let _ = &kept;
                    Ok(vec![Some(call.device.relu_backward(grad, &call.operands[0])?)])
                },
            )
            .unwrap();
        let _: Grads = y.linear(&w, None).unwrap().sum().unwrap().backward().unwrap();
        assert_eq!(Arc::strong_count(&token), 2, "this step's rule alone");
    }
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn a_deep_record_neither_goes_back_nor_away_by_recursion() {
    let tape = plain();
    let x = tape.variable(tensor(&[1], 1));
    let deep = (0..100_000).fold(x.clone(), |y, _| y.reshape(&[1]).unwrap());
    let grad = deep.sum().unwrap().gradient(&x).unwrap().unwrap();
    assert_eq!(f32s(&grad), [1.0]);
}

/// A block of a model, with a mask of dropout: two products around a nonlinearity, added to the input.
fn block(of: &[Var<Cpu>]) -> Result<Var<Cpu>, TapeError<binade_cpu::Error>> {
    let [x, up, down] = of else { panic!("an input and two weights") };
    let key = Tensor::new(vec![1_i64, 2], &[2]).unwrap();
    let part = x.at("block").linear(up, None)?.gelu()?.dropout(&key, 0.5)?.linear(down, None)?;
    x.add(&part)
}

#[test]
fn what_is_computed_again_has_the_same_gradients_and_keeps_less() {
    let run = |recomputes: bool| {
        let tape = Tape::new(Cpu, &Region::bf16());
        let weights: Vec<_> = ["a", "b", "c", "d"].into_iter().zip(1..).collect();
        let weights = weights.iter().map(|(name, seed)| {
            let shape: &[usize] = if seed % 2 == 1 { &[24, 6] } else { &[6, 24] };
            tape.parameter(&named(name, shape, *seed))
        });
        let weights: Vec<_> = weights.collect();
        let mut x = tape.variable(tensor(&[5, 6], 9));
        let first = x.clone();
        for pair in weights.chunks(2) {
            let inputs = [&x, &pair[0], &pair[1]];
            x = if recomputes {
                tape.recompute(&inputs, block).unwrap()
            } else {
                block(&inputs.map(Var::clone)).unwrap()
            };
        }
        // Another region is in force by the time of backward.
        let loss = x.on(&tape.within(Region::f16())).unwrap().mean().unwrap();
        let grads: Grads = loss.backward().unwrap();
        let mut bits: Vec<_> =
            grads.iter().map(|it| it.value.as_ref().unwrap().to_bits()).collect();
        bits.push(loss.gradient(&first).unwrap().unwrap().to_bits());
        bits.push(loss.tensor().to_bits());
        (bits, tape.activation_bytes())
    };
    let ((plain, all), (again, kept)) = (run(false), run(true));
    assert!(plain == again, "the bits differ");
    assert!(kept * 3 < all, "{kept} bytes are kept, and {all} without");
}

#[test]
fn a_part_whose_input_wants_no_gradient_is_a_constant() {
    let tape = plain();
    let x = tape.constant(tensor(&[3], 1));
    let y = tape.recompute(&[&x], |of| of[0].relu()).unwrap();
    assert!(y.sum().unwrap().backward::<Grads>().is_err());
    assert_eq!(tape.activation_bytes(), 0);
}
