//! Run of 200 steps beside one in `f32`.

use binade::prelude::*;
use binade_candle::{Candle, backward, params, var_builder};
use candle_core::{DType as Type, Device, Module, Tensor, Var};
use candle_nn::{VarBuilder, VarMap};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Points on a line through eight dimensions, and what the line gives.
fn data() -> Result<[Tensor; 2]> {
    let x: Vec<f32> = (0_u16..128).map(|i| f32::from(i * 37 % 101) / 50.0 - 1.0).collect();
    let y: Vec<f32> = x.chunks(8).map(|row| row[0] - 0.5 * row[3] + 0.25).collect();
    Ok([Tensor::from_vec(x, (16, 8), &Device::Cpu)?, Tensor::from_vec(y, (16, 1), &Device::Cpu)?])
}

/// Losses of 200 steps with `Var`s in `dtype` and masters in `f32`.
fn losses(dtype: Type) -> Result<Vec<f32>> {
    let map = VarMap::new();
    let build = |vb: VarBuilder<'_>| candle_nn::linear(8, 1, vb.pp("line"));
    build(VarBuilder::from_varmap(&map, Type::F32, &Device::Cpu))?;
    for param in params(&map) {
        Var::from_tensor(&param.value)?.set(&param.value.ones_like()?)?;
    }
    let level = if dtype == Type::F32 { OptLevel::O0 } else { OptLevel::O2 };
    let properties = level.with(binade_candle::dtype(dtype));
    let mut amp = initialize(Candle, Model::new(params(&map)), UpdateRule::adam(0.01), properties)?;
    let (line, [x, y]) = (build(var_builder(&amp.optimizer.params))?, data()?);
    let mut losses = Vec::new();
    for _ in 0..200 {
        let output = line.forward(&x.to_dtype(dtype)?)?.to_dtype(Type::F32)?;
        let loss = candle_nn::loss::mse(&output, &y)?;
        losses.push(loss.to_scalar()?);
        let grads =
            amp.scaler.scale(&loss)?.backward(|loss| backward(loss, &amp.optimizer.params))?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?;
        amp.scaler.update(step)?.resolve()?.unless_diverged()?;
    }
    Ok(losses)
}

/// Band of a twentieth of the first loss, which a run that stops learning, or learns from wrong gradients, leaves at once.
#[test]
fn the_loss_of_200_steps_stays_within_a_twentieth_of_the_first_of_that_in_f32() -> Result {
    let wanted = losses(Type::F32)?;
    assert!(wanted[199] < 0.05 * wanted[0], "f32 itself learns: {} {}", wanted[0], wanted[199]);
    for dtype in [Type::BF16, Type::F16] {
        for (step, (got, wanted_now)) in losses(dtype)?.iter().zip(&wanted).enumerate() {
            let off = (got - wanted_now).abs();
            assert!(off <= 0.05 * wanted[0], "{dtype:?}, step {step}: {got} for {wanted_now}");
        }
    }
    Ok(())
}
