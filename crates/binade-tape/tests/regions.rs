//! Effects of a region: element types of results, of kept activations and of gradients, and nothing else.

use crate::common::{Grads, dtype_of, f32s, named, plain, tensor};
use binade_autocast::{Autocast, CastStats, Region};
use binade_cast_policy::{CastPolicy, CastRule, Condition, OpCall, OpTable, Overrides};
use binade_core::ops::{
    AttentionConfig, BatchNormConfig, Conv2dConfig, Linear, MseLoss, Relu, RunningStats,
};
use binade_core::{DType, Named, Op, OpClass};
use binade_cpu::{Cpu, Tensor};
use binade_tape::{CustomCall, Tape, TapeError, Var};
use rayon::prelude::*;
use std::sync::Arc;

const LOW: [DType; 2] = [DType::BF16, DType::F16];

fn region(dtype: DType) -> Region {
    Region::new(dtype, OpTable::torch_cuda()).unwrap()
}

#[test]
fn results_and_gradients_have_the_types_the_lists_say() {
    for low in LOW {
        let tape = Tape::new(Cpu, &region(low));
        let weight = tape.parameter(&named("weight", &[3, 4], 1));
        let x = tape.constant(tensor(&[2, 4], 2));
        let product = x.linear(&weight, None).unwrap();
        assert_eq!(product.dtype(), low);
        assert_eq!(product.relu().unwrap().dtype(), low, "untouched");
        assert_eq!(product.softmax().unwrap().dtype(), DType::F32, "an f32 result");
        let shift = tape.constant(tensor(&[2, 3], 3));
        assert_eq!(product.add(&shift).unwrap().dtype(), DType::F32, "promoted");
        let loss = product.sum().unwrap();
        assert_eq!(loss.dtype(), DType::F32);
        assert_eq!(loss.gradient(&product).unwrap().unwrap().dtype(), low, "as the product");
        assert_eq!(dtype_of(&loss.backward().unwrap(), 0), DType::F32, "as the weight");
    }
}

#[test]
fn a_region_computes_what_casts_by_hand_do_bit_for_bit() {
    for low in LOW {
        let (x, w, t) = (tensor(&[4, 5], 1), named("w", &[3, 5], 2), tensor(&[4, 3], 3));
        let tape = Tape::new(Cpu, &region(low));
        let y = tape.constant(x.clone()).linear(&tape.parameter(&w), None).unwrap().relu().unwrap();
        let loss = y.mse_loss(&tape.constant(t.clone())).unwrap();
        let grads: Grads = loss.backward().unwrap();

        let (x_low, w_low) = (x.cast(low).unwrap(), w.value.cast(low).unwrap());
        let active = Cpu.relu(&Cpu.linear(&x_low, &w_low, None).unwrap()).unwrap();
        let wide = active.cast(DType::F32).unwrap();
        assert_eq!(loss.tensor().to_bits(), Cpu.mse_loss(&wide, &t).unwrap().to_bits());
        let [back, _] = Cpu.mse_loss_backward(&Tensor::scalar(1.0_f32), &wide, &t).unwrap();
        let back = Cpu.relu_backward(&back.cast(low).unwrap(), &active).unwrap();
        let back = Cpu.linear_backward(&back, &x_low, &w_low, false).unwrap().weight;
        let by_hand = Cpu.cast(&back, DType::F32).unwrap();
        assert_eq!(grads[0].value.as_ref().unwrap().to_bits(), by_hand.to_bits());
    }
}

#[test]
fn what_is_kept_for_backward_has_the_type_forward_computed_in() {
    let bytes = |region: &Region| {
        let tape = Tape::new(Cpu, region);
        let weight = tape.parameter(&named("weight", &[8, 16], 1));
        let _ = tape.constant(tensor(&[4, 16], 2)).linear(&weight, None).unwrap();
        tape.activation_bytes()
    };
    assert_eq!(bytes(&Region::bf16().off()), 4 * 16 * 4, "the batch; the weight is kept anyway");
    assert_eq!(bytes(&Region::bf16()), (4 * 16 + 8 * 16) * 2, "the batch and the weight's cast");
}

#[test]
fn each_kept_tensor_counts_once() {
    let tape = plain();
    let x = tape.variable(tensor(&[2, 6], 1));
    let active = x.relu().unwrap();
    let seen = active.reshape(&[3, 4]).unwrap();
    let _ = seen.mul(&seen).unwrap();
    assert_eq!(tape.activation_bytes(), 12 * 4, "kept by relu, and twice by the product");
}

#[test]
fn nothing_is_kept_without_gradients() {
    let tape = Tape::new(Cpu, &Region::bf16()).no_grad();
    let weight = tape.parameter(&named("weight", &[3, 4], 1));
    let _ = tape.constant(tensor(&[2, 4], 2)).linear(&weight, None).unwrap();
    assert_eq!(tape.activation_bytes(), 0);
}

#[test]
fn a_weight_used_twice_is_cast_once() {
    let stats = Arc::new(CastStats::default());
    let tape = Tape::new(Cpu, &Region::f16()).with_stats(stats.clone());
    let weight = tape.parameter(&named("weight", &[4, 4], 1));
    let x = tape.constant(tensor(&[2, 4], 2));
    let _ = x.linear(&weight, None).unwrap().linear(&weight, None).unwrap();
    let account = stats.accounts()["linear"];
    assert_eq!((account.casts, account.reused), (2, 1), "the batch and the weight");
}

#[test]
fn gradients_are_there_after_a_pass_without_in_the_same_region() {
    let tape = Tape::new(Cpu, &Region::f16());
    let weight = tape.parameter(&named("weight", &[3, 4], 1));
    let x = tape.constant(tensor(&[2, 4], 2));
    let looked = x.on(&tape.no_grad()).unwrap().linear(&weight, None).unwrap();
    assert!(looked.sum().unwrap().backward::<Grads>().is_err(), "nothing to differentiate");
    let loss = x.linear(&weight, None).unwrap().sum().unwrap();
    assert_eq!(dtype_of(&loss.backward().unwrap(), 0), DType::F32);
}

#[test]
fn an_inner_region_holds_for_what_carries_it_and_no_longer() {
    let tape = Tape::new(Cpu, &Region::bf16());
    let weight = tape.parameter(&named("weight", &[3, 4], 1));
    let x = tape.constant(tensor(&[2, 4], 2));
    let product = |tape: &Tape<Cpu>| x.on(tape).unwrap().linear(&weight, None).unwrap().dtype();
    let off = tape.within(tape.region().off());
    assert_eq!(product(&off), DType::F32);
    assert_eq!(product(&off.within(Region::f16())), DType::F16);
    assert_eq!(product(&tape), DType::BF16);
}

#[test]
fn backward_computes_in_the_types_of_forward_whatever_is_in_force_by_then() {
    let tape = Tape::new(Cpu, &Region::f16());
    let weight = tape.parameter(&named("weight", &[3, 4], 1));
    let y = tape.constant(tensor(&[2, 4], 2)).linear(&weight, None).unwrap();
    let loss = y.on(&tape.within(Region::bf16().off())).unwrap().sum().unwrap();
    assert_eq!(loss.gradient(&y).unwrap().unwrap().dtype(), DType::F16);
}

#[test]
fn batch_norm_takes_a_low_input_with_f32_parameters() {
    let stats = Arc::new(CastStats::default());
    let tape = Tape::new(Cpu, &Region::f16()).with_stats(stats.clone());
    let x = tape.variable(tensor(&[3, 2, 2, 2], 1).cast(DType::F16).unwrap());
    let [gain, offset] = ["gain", "offset"].map(|name| tape.parameter(&named(name, &[2], 4)));
    let running = RunningStats { mean: tensor(&[2], 5), var: tensor(&[2], 6) };
    let (y, _) = x.batch_norm(&gain, &offset, &running, BatchNormConfig::default()).unwrap();
    assert_eq!((y.dtype(), stats.total().casts), (DType::F16, 0), "no parameter is cast");
    let loss = y.mul(&y).unwrap().sum().unwrap();
    assert_eq!(loss.gradient(&x).unwrap().unwrap().dtype(), DType::F16);
    let grads: Grads = loss.backward().unwrap();
    assert_eq!((dtype_of(&grads, 0), dtype_of(&grads, 1)), (DType::F32, DType::F32));
}

#[test]
fn a_policy_may_go_by_the_place_in_the_model() {
    let policy = Overrides::over(OpTable::torch_cuda()).path("head.*", CastRule::F32);
    let tape = Tape::new(Cpu, &Region::new(DType::BF16, policy).unwrap());
    let weight = tape.parameter(&named("weight", &[4, 4], 1));
    let x = tape.constant(tensor(&[2, 4], 2));
    assert_eq!(x.at("body.0").linear(&weight, None).unwrap().dtype(), DType::BF16);
    assert_eq!(x.at("head.0").linear(&weight, None).unwrap().dtype(), DType::F32);
    let back = x.at("head.0").relu().unwrap().at("body.1").linear(&weight, None).unwrap();
    assert_eq!(back.dtype(), DType::BF16);
}

/// Policy of the book's page on policies: small products are not worth their casts.
#[derive(Debug)]
struct LargeOnly(OpTable);

impl CastPolicy for LargeOnly {
    fn rule(&self, call: &OpCall<'_>) -> CastRule {
        let small = !call.elements.is_empty() && call.elements.iter().all(|count| *count < 4096);
        if small { CastRule::Untouched } else { self.0.rule(call) }
    }
}

#[test]
fn a_policy_may_go_by_how_many_elements_there_are() {
    let tape = Tape::new(Cpu, &Region::new(DType::F16, LargeOnly(OpTable::torch_cuda())).unwrap());
    let (small, large) = (tape.constant(tensor(&[2, 2], 1)), tape.constant(tensor(&[2, 2048], 2)));
    assert_eq!(small.matmul(&small).unwrap().dtype(), DType::F32);
    assert_eq!(small.linear(&small, None).unwrap().dtype(), DType::F32);
    assert_eq!(small.matmul(&large).unwrap().dtype(), DType::F16);
}

#[test]
fn every_operation_that_sums_says_how_much_to_an_override() {
    type Run = fn(&Var<Cpu>, &Var<Cpu>) -> Result<Var<Cpu>, TapeError<binade_cpu::Error>>;
    let cases: [(&str, u64, Run); 16] = [
        ("matmul", 4, |x, _| x.matmul(x)),
        ("bmm", 4, |x, _| x.reshape(&[1, 4, 4])?.bmm(&x.reshape(&[1, 4, 4])?)),
        ("linear", 4, |x, v| x.linear(x, Some(v))),
        ("linear_relu", 4, |x, _| x.linear_relu(x, None)),
        ("conv2d", 8, |x, _| {
            let image = x.reshape(&[1, 2, 2, 4])?;
            image.conv2d(&x.reshape(&[2, 2, 2, 2])?, None, Conv2dConfig::default())
        }),
        ("scaled_dot_product_attention", 4, |x, _| {
            x.scaled_dot_product_attention(x, x, None, AttentionConfig::default())
        }),
        ("layer_norm", 4, |x, v| x.layer_norm(v, v, 1e-5)),
        ("rms_norm", 4, |x, v| x.rms_norm(v, 1e-5)),
        ("batch_norm", 4, |x, v| {
            let running = RunningStats { mean: tensor(&[4], 5), var: tensor(&[4], 6) };
            Ok(x.batch_norm(v, v, &running, BatchNormConfig::default())?.0)
        }),
        ("softmax", 4, |x, _| x.softmax()),
        ("log_softmax", 4, |x, _| x.log_softmax()),
        ("cross_entropy", 4, |x, _| {
            x.cross_entropy(&Tensor::new(vec![1_i64, 0, 3, 2], &[4]).unwrap())
        }),
        ("mse_loss", 16, |x, _| x.mse_loss(x)),
        ("sum", 16, |x, _| x.sum()),
        ("mean", 16, |x, _| x.mean()),
        ("mine", 3, |x, _| {
            let call = OpCall::from(Op::custom("mine", OpClass::Reduce));
            let call = OpCall { reduction: Some(3), ..call };
            let forward = |call: CustomCall<'_, Cpu>| Ok(call.operands[0].clone());
            x.tape().custom(call, &[x], forward, |_, _| Ok(vec![None]))
        }),
    ];
    for (op, length, run) in cases {
        let banned = |above| {
            let when = Condition {
                op: Some(op.into()),
                reduction_above: Some(above),
                ..Condition::default()
            };
            let policy = Overrides::over(OpTable::torch_cuda());
            let policy = policy.when(when, CastRule::Banned("it matched".into()));
            let tape = Tape::new(Cpu, &Region::new(DType::F16, policy).unwrap());
            let (x, v) = (tape.constant(tensor(&[4, 4], 1)), tape.constant(tensor(&[4], 2)));
            run(&x, &v).is_err_and(|error| error.to_string().contains("it matched"))
        };
        assert_eq!([length - 1, length].map(banned), [true, false], "{op} sums {length}");
    }
}

#[test]
fn statistics_count_products_whose_extents_are_no_multiples_of_eight() {
    let stats = Arc::new(CastStats::default());
    let tape = Tape::new(Cpu, &Region::f16()).with_stats(stats.clone());
    let square = |n: usize, seed| tape.constant(tensor(&[n, n], seed));
    let (even, odd) = (square(8, 1), square(9, 2));
    even.matmul(&even).unwrap();
    odd.matmul(&odd).unwrap();
    odd.linear(&odd, None).unwrap();
    // No matrix unit computes a product that stays f32.
    odd.on(&tape.within(tape.region().off())).unwrap().matmul(&odd).unwrap();
    let accounts = stats.accounts();
    assert_eq!((accounts["matmul"].uneven, accounts["linear"].uneven), (1, 1));
    assert_eq!(stats.total().uneven, 2);
}

#[test]
fn integers_and_f64_are_left_alone() {
    let tape = Tape::new(Cpu, &Region::f16());
    let table = tape.parameter(&named("table", &[4, 3], 1));
    let indices = Tensor::new(vec![3_i64, 0], &[2]).unwrap();
    assert_eq!(table.embedding(&indices).unwrap().dtype(), DType::F32);
    let wide = tape.constant(Tensor::new(vec![1.0_f64; 4], &[2, 2]).unwrap());
    assert!(wide.matmul(&wide).is_err(), "not cast to what the device could do");
}

#[test]
fn workers_see_the_region_that_their_values_carry() {
    let stats = Arc::new(CastStats::default());
    let tape = Tape::new(Cpu, &Region::bf16()).with_stats(stats.clone());
    let weight = tape.parameter(&named("weight", &[3, 4], 1));
    let losses: Vec<_> = (0..8_u32)
        .into_par_iter()
        .map(|seed| {
            let y = tape.constant(tensor(&[2, 4], seed)).linear(&weight, None).unwrap();
            assert_eq!(y.dtype(), DType::BF16);
            y.sum().unwrap()
        })
        .collect();
    assert_eq!(stats.total().casts, 8 + 1, "one cast of the weight for all of them");
    for (seed, loss) in (0..).zip(&losses) {
        let alone = Tape::new(Cpu, &Region::bf16());
        let parameter = alone.parameter(&named("weight", &[3, 4], 1));
        let y = alone.constant(tensor(&[2, 4], seed)).linear(&parameter, None).unwrap();
        let (here, there): (Grads, Grads) =
            (loss.backward().unwrap(), y.sum().unwrap().backward().unwrap());
        assert_eq!(bits(&here), bits(&there));
    }
}

#[test]
fn a_cast_by_hand_is_recorded() {
    let tape = plain();
    let x = tape.variable(tensor(&[3], 1));
    let low = x.cast(DType::F16).unwrap();
    assert_eq!(low.dtype(), DType::F16);
    let grad = low.sum().unwrap().gradient(&x).unwrap().unwrap();
    assert_eq!((grad.dtype(), f32s(&grad)), (DType::F32, vec![1.0; 3]));
}

fn bits(grads: &[Named<Option<Tensor>>]) -> Vec<u8> {
    grads.iter().flat_map(|grad| grad.value.as_ref().unwrap().to_bits()).collect()
}
