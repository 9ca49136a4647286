//! Reason for loss scaling: the same program learns nothing in f16 without it, and everything with it.
//!
//! The data are displacements of a few micrometres, given in metres, and the loss is a mean over 1024 of them. With respect to a
//! prediction it has a gradient of 2·10⁻⁵/1024 ≈ 2·10⁻⁸ at most. f16 rounds everything below 2⁻²⁵ ≈ 3·10⁻⁸ to zero. Nothing is
//! infinite, no step is skipped, no loss is NaN: the weights just stay where they are. The report's largest gradient shows it.

use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, Var};

const ROWS: usize = 1024;

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    /// Loss before the first step and after the last.
    losses: [f32; 2],
    /// Weights, which started as zeros.
    weight: Vec<f32>,
    /// Largest |scaled gradient| of the first step.
    largest: f32,
}

/// Fits four weights by 60 steps of gradient descent at O1 in f16, with the loss scaled by `scale`.
fn run(scale: LossScale) -> Result<Run> {
    let model = Model::new(vec![parameter("weight", &[0.0; 4], &[1, 4])?]);
    // Without the last call, f16 without a scale is refused.
    let level =
        Properties { loss_scale: scale, unscaled_f16: true, ..OptLevel::O1.with(DType::F16) };
    let mut amp = initialize(Cpu, model, UpdateRule::sgd(0.5), level)?;
    let (inputs, targets) = data()?;

    let (mut losses, mut largest) = (Vec::new(), Vec::new());
    for _ in 0..=60 {
        let tape = Tape::new(Cpu, &amp.region);
        let weight = tape.parameter(&amp.optimizer.params[0]);
        let predicted = tape.constant(inputs.clone()).linear(&weight, None)?;
        let loss = predicted.mse_loss(&tape.constant(targets.clone()))?;
        losses.push(loss.tensor().to_f32()[0]);

        let grads = amp.scaler.scale(&loss)?.backward(Var::backward)?.unscale()?;
        let step = grads.step(&mut amp.optimizer)?;
        let outcome = amp.scaler.update(step)?.resolve()?;
        largest.push(outcome.into_applied()?.steps[0].verdict.magnitude);
    }
    let weight = amp.optimizer.params[0].value.to_f32().into_owned();
    Ok(Run { losses: [losses[0], losses[60]], weight, largest: largest[0] })
}

/// Returns inputs within ±1, and targets that are at most 10⁻⁵ from zero.
fn data() -> Result<(Tensor, Tensor)> {
    const TRUTH: [f32; 4] = [4e-6, -3e-6, 2e-6, -1e-6];
    let (mut inputs, mut targets) = (Vec::new(), Vec::new());
    for row in 0..u16::try_from(ROWS)? {
        let x = [0.7, 1.1, 1.9, 2.3].map(|step| (f32::from(row) * step).sin());
        targets.push(x.iter().zip(TRUTH).map(|(x, w)| x * w).sum::<f32>());
        inputs.extend(x);
    }
    Ok((Tensor::new(inputs, &[ROWS, 4])?, Tensor::new(targets, &[ROWS, 1])?))
}

fn main() -> Result<()> {
    for (name, scale) in [("scale 1", LossScale::none()), ("scale 2^16", LossScale::dynamic())] {
        let run = run(scale)?;
        println!("{name:10}: loss {:e} -> {:e}", run.losses[0], run.losses[1]);
        println!("{:10}  largest scaled gradient of the first step {:e}", "", run.largest);
        println!("{:10}  weights {:?}", "", run.weight);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_scale_gradients_vanish_and_no_bit_of_the_weights_changes() {
        let stuck = run(LossScale::none()).unwrap();
        assert_eq!(stuck.largest, 0.0);
        assert_eq!(stuck.weight.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [0; 4]);
        assert_eq!(stuck.losses[1].to_bits(), stuck.losses[0].to_bits());
        assert!(stuck.losses[0] > 1e-12, "there was something to learn: {stuck:?}");
    }

    #[test]
    fn with_a_scale_the_same_program_learns() {
        let learnt = run(LossScale::dynamic()).unwrap();
        assert!(learnt.largest > 0.0);
        assert!(learnt.losses[1] < 1e-3 * learnt.losses[0], "{learnt:?}");
        for (weight, truth) in learnt.weight.iter().zip([4e-6, -3e-6, 2e-6, -1e-6]) {
            assert!((weight - truth).abs() < 1e-7, "{learnt:?}");
        }
    }

    #[test]
    fn both_start_from_the_same_loss() {
        let first =
            [LossScale::none(), LossScale::dynamic()].map(|rule| run(rule).unwrap().losses[0]);
        assert_eq!(first[0].to_bits(), first[1].to_bits());
    }
}
