//! The GPT in f16 and bf16 with masters, and what is told of a layer that has no backward pass.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade::prelude::*;
use binade_adoption_candle_gpt::{Gpt, Norm, batch};
use binade_candle::{Candle, backward, params, var_builder};
use candle_core::{DType::F32, Device};
use candle_nn::{VarBuilder, VarMap};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The share that is guessed right at the end, and what was told.
fn train(norm: Norm, dtype: DType, steps: usize) -> Result<(f32, Vec<String>), Failure> {
    let (inputs, targets) = batch()?;
    let map = VarMap::new();
    Gpt::new(norm, &VarBuilder::from_varmap(&map, F32, &Device::Cpu))?;
    let (mut told, mut last) = (Vec::new(), 0.0);
    // glue: loop
    let level = OptLevel::O2.with(dtype);
    let mut amp = initialize(Candle, Model::new(params(&map)), UpdateRule::adam(1e-2), level)?;
    let gpt = Gpt::new(norm, &var_builder(&amp.optimizer.params))?;
    // end of glue
    for _ in 0..steps {
        let (loss, right) = gpt.loss(&inputs, &targets)?;
        last = right;
        // glue: loop
        let grads = amp.scaler.scale(&loss)?.backward(|l| backward(l, &amp.optimizer.params))?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut amp.optimizer)?;
        let report = amp.scaler.update(step)?.resolve()?.unless_diverged()?;
        if report.is_remarkable() {
            told.push(report.to_string());
        }
        // end of glue
    }
    Ok((last, told))
}

#[test]
fn a_gpt_learns_in_sixteen_bits() {
    for dtype in [DType::BF16, DType::F16] {
        let (right, told) = train(Norm::Slow, dtype, 60).unwrap();
        println!("{dtype}: {right}");
        assert!(right > 0.8 && told.is_empty(), "{dtype}: {right} {told:?}");
    }
}

#[test]
fn a_layer_without_a_backward_pass_is_told_at_the_first_step() {
    let (_, told) = train(Norm::Usual, DType::BF16, 1).unwrap();
    assert!(
        told[0].contains("no gradient for ") && told[0].contains("block0.att.k.weight"),
        "{told:?}"
    );
}
