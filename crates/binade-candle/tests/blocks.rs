//! Operations whose backward pass the kit does not run, compared with candle's own in `f32`.

use crate::{Result, drawn, values};
use binade::autocast::Scope;
use binade::core::Error as _;
use binade::prelude::*;
use binade_candle::{Candle, Error, backward, named, ops};
use candle_core::{DType as Type, Device, Result as CandleResult, Tensor, Var};
use candle_nn::rotary_emb::rope_slow;
use candle_nn::{Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, GroupNorm, Module};

type Ours = fn(&Scope<'_, Candle>, &[Tensor]) -> std::result::Result<Tensor, Error>;
type Theirs = fn(&[Tensor]) -> CandleResult<Tensor>;

/// Operation, the shapes of its operands, and how Binade and candle compute it.
struct Block {
    name: &'static str,
    shapes: &'static [&'static [usize]],
    ours: Ours,
    theirs: Theirs,
}

const CONV: Conv1dConfig =
    Conv1dConfig { padding: 1, stride: 2, dilation: 1, groups: 2, cudnn_fwd_algo: None };

const CONV2D: Conv2dConfig =
    Conv2dConfig { padding: 1, stride: 1, dilation: 2, groups: 2, cudnn_fwd_algo: None };

/// Cosines and sines for four places and three pairs.
fn tables() -> CandleResult<[Tensor; 2]> {
    let angles = Tensor::arange(0.0_f32, 12.0, &Device::Cpu)?.reshape((4, 3))?;
    Ok([angles.cos()?, angles.sin()?])
}

const BLOCKS: [Block; 8] = [
    Block {
        name: "softmax",
        shapes: &[&[3, 5]],
        ours: |s, x| ops::softmax(s, "", &x[0], 1),
        theirs: |x| candle_nn::ops::softmax(&x[0], 1),
    },
    Block {
        name: "log_softmax",
        shapes: &[&[3, 5]],
        ours: |s, x| ops::log_softmax(s, "", &x[0], 1),
        theirs: |x| candle_nn::ops::log_softmax(&x[0], 1),
    },
    Block {
        name: "rms_norm",
        shapes: &[&[3, 6], &[6]],
        ours: |s, x| ops::rms_norm(s, "", [&x[0], &x[1]], 1e-5),
        theirs: |x| candle_nn::ops::rms_norm_slow(&x[0], &x[1], 1e-5),
    },
    Block {
        name: "add, broadcast",
        shapes: &[&[3, 4, 5], &[5]],
        ours: |s, x| ops::add(s, "", &x[0], &x[1]),
        theirs: |x| x[0].broadcast_add(&x[1]),
    },
    Block {
        name: "group_norm",
        shapes: &[&[2, 6, 5], &[6], &[6]],
        ours: |s, x| ops::group_norm(s, "", [&x[0], &x[1], &x[2]], 3, 1e-5),
        theirs: |x| GroupNorm::new(x[1].clone(), x[2].clone(), 6, 3, 1e-5)?.forward(&x[0]),
    },
    Block {
        name: "conv1d",
        shapes: &[&[2, 4, 9], &[6, 2, 3], &[6]],
        ours: |s, x| ops::conv1d(s, "", &x[0], &x[1], Some(&x[2]), CONV),
        // One row at a time: over several, candle's own gradient of the kernel is wrong.
        theirs: |x| {
            let conv = Conv1d::new(x[1].clone(), Some(x[2].clone()), CONV);
            let row = |at| conv.forward(&x[0].narrow(0, at, 1)?);
            Tensor::cat(&[row(0)?, row(1)?], 0)
        },
    },
    Block {
        name: "conv2d",
        shapes: &[&[2, 4, 7, 5], &[6, 2, 3, 2], &[6]],
        ours: |s, x| ops::conv2d(s, "", &x[0], &x[1], Some(&x[2]), CONV2D),
        theirs: |x| Conv2d::new(x[1].clone(), Some(x[2].clone()), CONV2D).forward(&x[0]),
    },
    Block {
        name: "rope",
        shapes: &[&[2, 3, 4, 6]],
        ours: |s, x| {
            let [cos, sin] = tables()?;
            ops::rope(s, "", &x[0], [&cos, &sin])
        },
        theirs: |x| {
            let [cos, sin] = tables()?;
            rope_slow(&x[0], &cos, &sin)
        },
    },
];

/// Returns the result of `run` on operands of `dtype`, and each operand's gradient for a random gradient of the result.
fn both_passes<E: Into<Error>>(
    block: &Block,
    dtype: Type,
    run: impl Fn(&[Tensor]) -> std::result::Result<Tensor, E>,
) -> Result<Vec<Tensor>> {
    let mut operands = Vec::new();
    for (seed, shape) in (1_u8..).zip(block.shapes) {
        let var = Var::from_tensor(&drawn(shape, seed)?.to_dtype(dtype)?)?;
        operands.push((format!("{seed}"), var));
    }
    let params = named(operands);
    let operands: Vec<_> = params.iter().map(|param| param.value.clone()).collect();
    let result = run(&operands).map_err(Into::into)?;
    let seed = drawn(result.dims(), 9)?;
    let loss = (result.to_dtype(Type::F32)? * seed)?.sum_all()?;
    let mut all = vec![result];
    for grad in backward::<NamedGrads<_>>(&loss, &params)? {
        all.push(grad.value.ok_or_else(|| format!("{}: cut", block.name))?);
    }
    Ok(all)
}

/// Bounds: one rounding to the type, and 2^-18 between two orders of summing values up to 32 in `f32`.
#[test]
fn blocks_in_half_are_candles_in_f32_rounded_once_forward_and_backward() -> Result {
    let region = Region::f16().off();
    let scope = region.open(&Candle);
    for (dtype, place) in [(Type::BF16, 2_f32.powi(-8)), (Type::F16, 2_f32.powi(-11))] {
        for block in &BLOCKS {
            let ours = both_passes(block, dtype, |x| (block.ours)(&scope, x))?;
            let theirs = both_passes(block, Type::F32, |x| (block.theirs)(x))?;
            for (which, (got, wanted)) in ours.iter().zip(&theirs).enumerate() {
                assert_eq!((got.dtype(), got.dims()), (dtype, wanted.dims()));
                for (got, wanted) in values(got)?.into_iter().zip(values(wanted)?) {
                    let bound = place * wanted.abs() + 2_f32.powi(-18);
                    let close = (got - wanted).abs() <= bound;
                    assert!(close, "{}, {which}, {dtype:?}: {got} {wanted}", block.name);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn blocks_take_the_types_that_torchs_lists_say() -> Result {
    let region = Region::f16();
    let scope = region.open(&Candle);
    for block in &BLOCKS {
        let operands: CandleResult<Vec<_>> =
            block.shapes.iter().map(|shape| drawn(shape, 1)).collect();
        let wanted = if block.name.starts_with("conv") { Type::F16 } else { Type::F32 };
        assert_eq!((block.ours)(&scope, &operands?)?.dtype(), wanted, "{}", block.name);
    }
    Ok(())
}

#[test]
fn a_residual_of_a_layer_in_half_and_an_input_in_f32_is_summed_by_policy() -> Result {
    let (x, w) = (drawn(&[2, 3], 1)?, drawn(&[3, 3], 2)?);
    for region in [Region::f16(), Region::new(DType::F16, OpTable::apex_o1())?] {
        let scope = region.open(&Candle);
        let y = ops::linear(&scope, "", &x, &w, None)?;
        assert!((&x + &y).is_err(), "candle promotes now: say so in the README");
        let sum = ops::add(&scope, "", &x, &y)?;
        assert_eq!(sum.dtype(), Type::F32);
        assert_eq!(values(&sum)?, values(&(&x + y.to_dtype(Type::F32)?)?)?);
    }
    Ok(())
}

/// A position's bias is added to many rows: in `bf16` its gradient would stop at 256.
#[test]
fn the_gradient_of_what_add_broadcasts_grows_beyond_where_halves_stop() -> Result {
    for dtype in [Type::BF16, Type::F16] {
        let row = Var::zeros(1, dtype, &Device::Cpu)?;
        let params = named([("row".to_owned(), row)]);
        let x = Tensor::zeros((4096, 1), dtype, &Device::Cpu)?;
        let region = Region::f16().off();
        let scope = region.open(&Candle);
        let sum = ops::add(&scope, "", &x, &params[0].value)?;
        let grads: NamedGrads<_> = backward(&ops::sum(&scope, "", &sum)?, &params)?;
        assert_eq!(values(grads[0].value.as_ref().ok_or("cut")?)?, [4096.0]);
    }
    Ok(())
}

#[test]
fn what_does_not_fit_a_block_is_refused() -> Result {
    let ones = |shape: &[usize]| Tensor::ones(shape, Type::F32, &Device::Cpu);
    let region = Region::f16().off();
    let scope = region.open(&Candle);
    let (x, w) = (ones(&[1, 4, 9])?, ones(&[6, 4, 3])?);
    let still = Conv1dConfig { stride: 0, ..Conv1dConfig::default() };
    let errors = [
        ops::add(&scope, "", &x, &ones(&[2])?),
        ops::conv1d(&scope, "", &x, &w, None, Conv1dConfig { groups: 2, ..Default::default() }),
        ops::conv1d(&scope, "", &ones(&[4, 9])?, &w, None, Conv1dConfig::default()),
        ops::conv1d(&scope, "", &x, &w, None, still),
        ops::group_norm(&scope, "", [&x, &ones(&[4])?, &ones(&[4])?], 3, 1e-5),
        ops::rope(&scope, "", &x, [&ones(&[9, 2])?, &ones(&[9, 2])?]),
    ];
    let kinds = errors.map(|result| result.err().map(|error| error.kind()));
    let (mismatch, other) = (Some(ErrorKind::Mismatch), Some(ErrorKind::Other));
    let invalid = Some(ErrorKind::InvalidArgument);
    assert_eq!(kinds, [mismatch, mismatch, mismatch, invalid, other, mismatch]);
    Ok(())
}
