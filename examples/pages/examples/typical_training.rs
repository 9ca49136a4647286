//! Typical mixed precision training, the first recipe of torch's page of AMP examples, with the names of its steps.
//!
//! `optimizer.zero_grad()` has no counterpart: gradients are values, and gone after the step.

use binade::Amp;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, Var};

/// Inputs of four batches of one column; the targets are 2·input + 1.
const DATA: [[f32; 2]; 4] = [[-1.0, 0.5], [0.0, 1.0], [2.0, -0.5], [1.5, -1.5]];

/// Creates model and optimizer in f32, the region of f16 and the scaler.
fn start() -> Result<Amp<Cpu>> {
    let params = vec![parameter("weight", &[0.0], &[1, 1])?, parameter("bias", &[0.0], &[1])?];
    Ok(initialize(Cpu, Model::new(params), UpdateRule::sgd(0.1), OptLevel::O1.with(DType::F16))?)
}

/// Outcome of one iteration.
#[derive(Clone, Copy, Debug)]
struct Iteration {
    loss: f32,
    output: DType,
    applied: bool,
}

/// Trains for some epochs.
fn run(amp: &mut Amp<Cpu>, epochs: usize) -> Result<Vec<Iteration>> {
    let mut iterations = Vec::new();
    for _epoch in 0..epochs {
        for input in DATA {
            let column = |values: [f32; 2]| Tensor::new(values.to_vec(), &[2, 1]);
            // Runs the forward pass with autocasting.
            let autocast = Tape::new(Cpu, &amp.region);
            let params = autocast.parameters(&amp.optimizer.params);
            let output = autocast.constant(column(input)?).linear(&params[0], Some(&params[1]))?;
            let target = autocast.constant(column(input.map(|x| 2.0 * x + 1.0))?);
            let loss = output.mse_loss(&target)?;

            // Scales the loss, and differentiates the scaled loss: backward runs in the types of forward.
            let grads = amp.scaler.scale(&loss)?.backward(Var::backward)?;
            // Unscales the gradients. The step is skipped if one is infinite or NaN.
            let step = grads.unscale()?.step(&mut amp.optimizer)?;
            // Updates the scale for the next iteration.
            let applied = amp.scaler.update(step)?.resolve()?.is_applied();
            let loss = loss.tensor().to_f32()[0];
            iterations.push(Iteration { loss, output: output.dtype(), applied });
        }
    }
    Ok(iterations)
}

fn main() -> Result<()> {
    let mut amp = start()?;
    for (number, Iteration { loss, output, applied }) in run(&mut amp, 20)?.into_iter().enumerate()
    {
        let skipped = if applied { "" } else { ", skipped" };
        println!("iteration {number}: loss {loss:.6} of an output in {output}{skipped}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forward_pass_is_f16_the_parameters_f32_and_the_line_is_found() {
        let mut amp = start().unwrap();
        let iterations = run(&mut amp, 20).unwrap();
        assert!(iterations.iter().all(|it| it.output == DType::F16));
        // The first scale, 65536, is too large for some of the first gradients, as torch's is.
        assert!(iterations[..DATA.len()].iter().any(|it| !it.applied), "{iterations:?}");
        assert!(iterations[DATA.len()..].iter().all(|it| it.applied), "{iterations:?}");
        for (param, expected) in amp.optimizer.params.iter().zip([2.0, 1.0]) {
            assert_eq!(param.value.dtype(), DType::F32);
            assert!((param.value.to_f32()[0] - expected).abs() < 0.01, "{}", param.name);
        }
    }
}
