//! Reason for f32 masters: 4096 updates of 2⁻¹² take a weight from 1 to 2, or nowhere.
//!
//! At 1, f16 has steps of 2⁻¹⁰ and bf16 of 2⁻⁷: 1 + 2⁻¹² rounds to 1, as often as it is tried. A master adds the updates up in
//! f32, and the stored weight is the master rounded once. Gradients and scale are without fault here.

use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, Var};

/// Returns the weight after 4096 steps of 2⁻¹², stored in `dtype`, with a master (O2) or without (O3).
fn run(level: OptLevel, dtype: DType) -> Result<f32> {
    let model = Model::new(vec![parameter("weight", &[1.0], &[1])?]);
    let level = Properties { loss_scale: LossScale::fixed(256.0)?, ..level.with(dtype) };
    let rule = UpdateRule::sgd(2.0_f64.powi(-12));
    let mut amp = initialize(Cpu, model, rule, level)?;
    let ascent = Tensor::new(vec![-1.0_f32], &[1])?.cast(dtype)?;
    for _ in 0..4096 {
        let tape = Tape::new(Cpu, &amp.region);
        let loss = tape.parameter(&amp.optimizer.params[0]).mul(&tape.constant(ascent.clone()))?;
        let grads = amp.scaler.scale(&loss.sum()?)?.backward(Var::backward)?.unscale()?;
        let step = grads.step(&mut amp.optimizer)?;
        amp.scaler.update(step)?.resolve()?.into_applied()?;
    }
    Ok(amp.optimizer.params[0].value.to_f32()[0])
}

fn main() -> Result<()> {
    for dtype in [DType::BF16, DType::F16] {
        let (with, without) = (run(OptLevel::O2, dtype)?, run(OptLevel::O3, dtype)?);
        println!("{dtype:4}: 1 + 4096 * 2^-12 is {with} with a master, {without} without");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_master_no_update_arrives() {
        for dtype in [DType::BF16, DType::F16] {
            assert_eq!(run(OptLevel::O3, dtype).unwrap().to_bits(), 1.0_f32.to_bits(), "{dtype}");
        }
    }

    #[test]
    fn with_a_master_every_update_arrives() {
        for dtype in [DType::BF16, DType::F16] {
            assert_eq!(run(OptLevel::O2, dtype).unwrap().to_bits(), 2.0_f32.to_bits(), "{dtype}");
        }
    }
}
