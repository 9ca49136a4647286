//! Gradient penalty by the recipe of torch's page of AMP examples, with the names of its steps.
//!
//! `create_graph=True` is [`Var::grad`](binade_tape::Var::grad): gradients with a history on the tape. Those of the scaled loss are
//! scaled; [`ScaledLoss::grads`](binade::grad_scaler::ScaledLoss::grads) divides them by the scale they were made with, on the device,
//! where the recipe reads `get_scale()`. They go into no finite check: one that overflows makes the loss infinite, whose step is
//! skipped.

use binade::prelude::*;
use binade::{Amp, Properties};
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, TapeError, Var};

type Outcome = std::result::Result<Var<Cpu>, TapeError<binade_cpu::Error>>;

const INPUT: [f32; 6] = [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0];
const TARGET: [f32; 6] = [0.8, 0.1, -0.4, -0.2, 0.3, 0.9];
const HIDDEN: usize = 8;

/// Loss and penalty of one step.
#[derive(Clone, Copy, Debug)]
struct Losses {
    loss: f32,
    grad_norm: f32,
    applied: bool,
}

/// Returns a model of two layers.
fn start(level: Properties) -> Result<Amp<Cpu>> {
    let values =
        |count: u8, phase: f32| (0..count).map(move |i| (f32::from(i) * 2.4 + phase).sin());
    let first: Vec<f32> = values(8, 0.5).collect();
    let second: Vec<f32> = values(8, 1.0).map(|x| x * 0.3).collect();
    let params = vec![
        parameter("first.weight", &first, &[HIDDEN, 1])?,
        parameter("first.bias", &[0.1; HIDDEN], &[HIDDEN])?,
        parameter("second.weight", &second, &[1, HIDDEN])?,
    ];
    Ok(initialize(Cpu, Model::new(params), UpdateRule::sgd(0.05), level)?)
}

fn model(input: &Var<Cpu>, params: &[Var<Cpu>]) -> Outcome {
    input.linear(&params[0], Some(&params[1]))?.tanh()?.linear(&params[2], None)
}

fn step(amp: &mut Amp<Cpu>, weight: f32) -> Result<Losses> {
    let autocast = Tape::new(Cpu, &amp.region);
    let column = |values: [f32; 6]| Tensor::new(values.to_vec(), &[6, 1]);
    let (input, target) = (autocast.constant(column(INPUT)?), autocast.constant(column(TARGET)?));
    let params = autocast.parameters(&amp.optimizer.params);

    let output = model(&input, &params)?;
    let loss = output.mse_loss(&target)?;

    // scaled_grad_params = torch.autograd.grad(outputs=scaler.scale(loss), inputs=model.parameters(), create_graph=True)
    // inv_scale = 1. / scaler.get_scale()
    // grad_params = [p * inv_scale for p in scaled_grad_params]
    let inputs: Vec<_> = params.iter().collect();
    let grad_params = amp.scaler.scale(&loss)?.grads(|scaled_loss| {
        let scaled_grad_params = scaled_loss.grad(&inputs)?;
        Ok(scaled_grad_params.into_iter().flatten())
    })?;

    // Under autocast, which a gradient carries as the loss does.
    let mut grad_norm = autocast.constant(Tensor::scalar(0.0_f32));
    for grad in &grad_params {
        grad_norm = grad_norm.add(&grad.mul(grad)?.sum()?)?;
    }
    let grad_norm = grad_norm.sqrt()?;
    let penalized = loss.add(&grad_norm.scaled_by(weight)?)?;

    let grads = amp.scaler.scale(&penalized)?.backward(Var::backward)?.unscale()?;
    let pending = grads.step(&mut amp.optimizer)?;
    let applied = amp.scaler.update(pending)?.resolve()?.is_applied();
    let number = |scalar: &Var<Cpu>| scalar.tensor().to_f32()[0];
    Ok(Losses { loss: number(&loss), grad_norm: number(&grad_norm), applied })
}

fn main() -> Result<()> {
    for weight in [0.0, 0.5] {
        let mut amp = start(OptLevel::O1.with(DType::F16))?;
        println!("penalty x {weight}");
        for number in 0..=40 {
            let Losses { loss, grad_norm, applied } = step(&mut amp, weight)?;
            if !applied {
                println!("  step {number}: skipped, as its gradients overflowed");
            }
            if number % 10 == 0 {
                println!("  step {number}: loss {loss:.4}, norm of its gradient {grad_norm:.4}");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what 41 steps began and ended with.
    fn run(weight: f32, level: Properties) -> [Losses; 2] {
        let mut amp = start(level).unwrap();
        let steps: Vec<_> = (0..41).map(|_| step(&mut amp, weight).unwrap()).collect();
        // At the first scale, 65536, the penalty's own gradient may be beyond f16.
        assert!(steps[1..].iter().all(|step| step.applied), "{steps:?}");
        [steps[0], steps[40]]
    }

    #[test]
    fn a_penalty_takes_another_way_and_falls_with_the_loss() {
        let level = OptLevel::O1.with(DType::F16);
        let [[_, without], [first, with]] = [0.0, 0.5].map(|weight| run(weight, level.clone()));
        assert!(with.loss < 0.6 * first.loss, "{with:?}, {first:?}");
        assert!(with.grad_norm < 0.2 * first.grad_norm, "{with:?}, {first:?}");
        assert!((with.loss - without.loss).abs() > 1e-3, "{with:?}, {without:?}");
    }

    #[test]
    fn a_norm_is_in_the_units_of_the_loss_at_any_scale_and_type() {
        let level = |dtype, exponent: i32| {
            let rule = LossScale::dynamic().with_init_scale(2.0_f32.powi(exponent)).unwrap();
            Properties { loss_scale: rule, ..OptLevel::O1.with(dtype) }
        };
        let norm = |level| run(0.5, level)[0].grad_norm;
        let exact = norm(OptLevel::O0.with(DType::F32));
        for level in [level(DType::F16, 4), level(DType::F16, 12), level(DType::BF16, 0)] {
            let found = norm(level);
            assert!((found - exact).abs() <= 2e-2 * exact, "{found}, {exact}");
        }
    }

    #[test]
    fn a_gradient_beyond_f16_skips_the_step() {
        let rule = LossScale::dynamic().with_init_scale(2.0_f32.powi(24)).unwrap();
        let mut amp =
            start(Properties { loss_scale: rule, ..OptLevel::O1.with(DType::F16) }).unwrap();
        let losses = step(&mut amp, 0.5).unwrap();
        assert!(
            losses.loss.is_finite() && !losses.grad_norm.is_finite() && !losses.applied,
            "{losses:?}"
        );
    }
}
