//! Gradient penalty: a critic's slope with respect to its input, measured, and held near 1 (arXiv 1704.00028).
//!
//! [`ScaledLoss::grad`](binade::grad_scaler::ScaledLoss::grad) differentiates with respect to a value that no optimizer owns, and
//! its result is still scaled: its norm would be 65536 times too large before `unscale`. The tape has no double backward, so the
//! slope in the penalty is written down as an expression: for f(x) = Σⱼ tanh(wⱼ·x) it is Σⱼ (1 − tanh²(wⱼ·x)) wⱼ. The measured
//! slope checks the expression. A measurement goes into no finite check: a slope that the scale takes beyond f16 arrives as
//! infinity.

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
    /// Slope at each point in between, as the tape differentiated and the scaler unscaled it.
    measured: Vec<f32>,
    /// Slope at each point by the expression.
    expressed: Vec<f32>,
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
    let towards_x = amp.scaler.scale(&score(&x, &w)?)?.grad(|scaled| {
        let gradient = scaled.gradient(&x)?.ok_or(TapeError::Detached)?;
        Ok(tape.constant(gradient))
    })?;
    // Of a mean over four points.
    let measured = towards_x.scaled_by(4.0)?;
    let slope = slope(&x.detach(), &w)?;
    let squares = slope.mul(&slope)?.matmul(&ones(&tape, 2, 1)?)?;
    let penalty = squares.mse_loss(&ones(&tape, 4, 1)?)?;

    let (real, fake) = (tape.constant(points(REAL)?), tape.constant(points(FAKE)?));
    let distance = score(&real, &w)?.add(&score(&fake, &w)?.scaled_by(-1.0)?)?;
    let loss = distance.scaled_by(-1.0)?.add(&penalty.scaled_by(lambda)?)?;
    let grads = amp.scaler.scale(&loss)?.backward(Var::backward)?.unscale()?;
    let pending = grads.step(&mut amp.optimizer)?;
    amp.scaler.update(pending)?.resolve()?.unless_diverged()?;
    let (measured, expressed) = (norms(&measured), norms(&slope));
    Ok(Critic { distance: distance.tensor().to_f32()[0], measured, expressed })
}

/// Computes the mean of f. The gradient of a sum would be the scale itself, and 65536 is beyond f16's 65504.
fn score(x: &Var<Cpu>, w: &Var<Cpu>) -> Outcome {
    x.linear(w, None)?.tanh()?.matmul(&ones(x.tape(), HIDDEN, 1)?)?.mean()
}

/// Computes the gradient of f at each row of `x`, as an expression in `w`.
fn slope(x: &Var<Cpu>, w: &Var<Cpu>) -> Outcome {
    let tanh = x.linear(w, None)?.tanh()?;
    let square = tanh.mul(&tanh)?;
    ones(x.tape(), 4, HIDDEN)?.add(&square.scaled_by(-1.0)?)?.matmul(w)
}

fn ones(tape: &Tape<Cpu>, rows: usize, columns: usize) -> Outcome {
    Ok(tape.constant(Tensor::new(vec![1.0_f32; rows * columns], &[rows, columns])?))
}

/// Returns the length of each row of two.
fn norms(rows: &Var<Cpu>) -> Vec<f32> {
    rows.tensor().to_f32().chunks(2).map(|row| row[0].hypot(row[1])).collect()
}

fn main() -> Result<()> {
    for lambda in [0.0, 10.0] {
        let critic = run(lambda)?;
        println!("penalty x {lambda}: real and fake are {:.2} apart", critic.distance);
        println!("  slopes, measured  {:.3?}", critic.measured);
        println!("  slopes, expressed {:.3?}", critic.expressed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_penalty_holds_the_slope_near_one_and_still_tells_real_from_fake() {
        let critic = run(10.0).unwrap();
        assert!(critic.measured.iter().all(|slope| (slope - 1.0).abs() < 0.1), "{critic:?}");
        assert!(critic.distance > 1.5, "{critic:?}");
    }

    #[test]
    fn what_is_measured_and_unscaled_is_what_the_expression_says() {
        for lambda in [0.0, 10.0] {
            let critic = run(lambda).unwrap();
            assert_eq!(critic.measured.len(), 4);
            for (measured, expressed) in critic.measured.iter().zip(&critic.expressed) {
                // Both are rounded to f16 a few times on their way, 2^-11 of the value each.
                assert!((measured - expressed).abs() < 4e-3 * expressed, "{critic:?}");
            }
        }
    }

    #[test]
    fn without_the_penalty_the_slope_runs_away() {
        let critic = run(0.0).unwrap();
        assert!(critic.measured.iter().any(|slope| *slope > 5.0), "{critic:?}");
    }
}
