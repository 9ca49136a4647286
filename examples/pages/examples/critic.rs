//! Critic with a gradient penalty: its slope with respect to its input is measured, and held near 1 (arXiv 1704.00028).
//!
//! The slope is a gradient that no optimizer owns, part of the loss, and differentiated again:
//! [`ScaledLoss::grads`](binade::grad_scaler::ScaledLoss::grads) records it on the tape and divides it by the scale, without which
//! its norm would be 65536 times too large. It goes into no finite check: a slope that the scale takes beyond f16 arrives as
//! infinity, the loss made of it is not finite either, and its step is skipped.

use binade::Amp;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, TapeError, Var};

type Outcome = std::result::Result<Var<Cpu>, TapeError<binade_cpu::Error>>;

const HIDDEN: usize = 4;
const REAL: [f32; 8] = [1.0, 0.2, 1.2, -0.2, 0.8, 0.0, 1.0, -0.1];
const FAKE: [f32; 8] = [-1.0, 0.1, -0.8, 0.2, -1.2, 0.0, -1.0, -0.3];
/// Points between real and fake ones; the paper draws the shares at random.
const BETWEEN: [f32; 8] = [-0.8, 0.15, -0.3, 0.0, 0.3, 0.0, 0.8, -0.2];

/// Result of a critic's training.
#[derive(Clone, Debug)]
struct Critic {
    /// Difference between its scores of real and fake.
    distance: f32,
    /// Slope at each point in between.
    slopes: Vec<f32>,
}

/// Trains a critic for 200 steps, with the penalty weighted by `lambda`.
fn run(lambda: f32) -> Result<Critic> {
    let first: Vec<f32> = (1_u8..=8).map(|i| (f32::from(i) * 2.4).sin() * 0.1).collect();
    let model = Model::new(vec![parameter("weight", &first, &[HIDDEN, 2])?]);
    let level = OptLevel::O1.with(DType::F16);
    let mut amp = initialize(Cpu, model, UpdateRule::adam(0.02), level)?;
    for _ in 1..200 {
        step(&mut amp, lambda)?;
    }
    step(&mut amp, lambda)
}

fn step(amp: &mut Amp<Cpu>, lambda: f32) -> Result<Critic> {
    let tape = Tape::new(Cpu, &amp.region);
    let w = tape.parameter(&amp.optimizer.params[0]);
    let points = |values: [f32; 8]| Tensor::new(values.to_vec(), &[4, 2]);

    let x = tape.variable(points(BETWEEN)?);
    let towards_x =
        amp.scaler.scale(&score(&x, &w)?)?.grads(|scaled| scaled.grad(&[&x]).map(found))?;
    // Of a mean over four points.
    let gradient = towards_x[0].scaled_by(4.0)?;
    let slopes = gradient.mul(&gradient)?.matmul(&ones(&tape, 2, 1)?)?.sqrt()?;
    let penalty = slopes.mse_loss(&ones(&tape, 4, 1)?)?;

    let (real, fake) = (tape.constant(points(REAL)?), tape.constant(points(FAKE)?));
    let distance = score(&real, &w)?.add(&score(&fake, &w)?.scaled_by(-1.0)?)?;
    let loss = distance.scaled_by(-1.0)?.add(&penalty.scaled_by(lambda)?)?;
    let grads = amp.scaler.scale(&loss)?.backward(Var::backward)?.unscale()?;
    let pending = grads.step(&mut amp.optimizer)?;
    amp.scaler.update(pending)?.resolve()?.unless_diverged()?;
    let distance = distance.tensor().to_f32()[0];
    Ok(Critic { distance, slopes: slopes.tensor().to_f32().into_owned() })
}

/// Returns the gradients of inputs to which a path leads.
fn found(gradients: Vec<Option<Var<Cpu>>>) -> impl Iterator<Item = Var<Cpu>> {
    gradients.into_iter().flatten()
}

/// Computes the mean of f(x) = Σⱼ tanh(wⱼ·x). The gradient of a sum would be the scale itself, and 65536 is beyond f16's 65504.
fn score(x: &Var<Cpu>, w: &Var<Cpu>) -> Outcome {
    x.linear(w, None)?.tanh()?.matmul(&ones(x.tape(), HIDDEN, 1)?)?.mean()
}

fn ones(tape: &Tape<Cpu>, rows: usize, columns: usize) -> Outcome {
    Ok(tape.constant(Tensor::new(vec![1.0_f32; rows * columns], &[rows, columns])?))
}

fn main() -> Result<()> {
    for lambda in [0.0, 10.0] {
        let critic = run(lambda)?;
        println!("penalty x {lambda}: real and fake are {:.2} apart", critic.distance);
        println!("  slopes in between: {:.3?}", critic.slopes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_penalty_holds_the_slope_near_one_and_still_tells_real_from_fake() {
        let critic = run(10.0).unwrap();
        assert!(critic.slopes.iter().all(|slope| (slope - 1.0).abs() < 0.2), "{critic:?}");
        assert!(critic.distance > 1.5, "{critic:?}");
    }

    #[test]
    fn without_the_penalty_the_slope_runs_away() {
        let critic = run(0.0).unwrap();
        assert!(critic.slopes.iter().any(|slope| *slope > 5.0), "{critic:?}");
    }
}
