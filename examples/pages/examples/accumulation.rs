//! Accumulation of four micro-batches into one step; one of them overflows, and the scale moves while the window is open.
//!
//! Each micro-batch is unscaled by the scale it was made with before it is added, in f32, so that a scale that moves inside the
//! window changes nothing. A bad micro-batch is left out and named in the report, and it backs the scale off once, at the
//! window's end. The rest is still a sum of quarters: a mean of three needs a factor of 4/3.

use binade::Amp;
use binade::grad_scaler::{ScaleState, StepReport, UnscaledGrads};
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, Var};

/// Inputs, one a micro-batch. 1e5 is beyond f16's 65504, and becomes infinite in the cast before the linear layer.
const INPUTS: [[f32; 2]; 4] = [[1.0, 2.0], [3.0, -1.0], [1e5, 1.0], [-2.0, 0.5]];

/// Number of micro-batches of a step, by which torch's recipe divides each loss.
const ITERS_TO_ACCUMULATE: f32 = 4.0;

/// Result of a window.
#[derive(Clone, Debug)]
struct Window {
    /// Parameters after the step.
    weight: Vec<f32>,
    /// Names of the micro-batches that were left out.
    dropped: Vec<String>,
    /// Report of the step.
    report: StepReport,
}

/// Runs one window of [`INPUTS`].
fn run() -> Result<Window> {
    let model = Model::new(vec![parameter("weight", &[1.0, 1.0], &[1, 2])?]);
    let scale = LossScale::dynamic().with_init_scale(1024.0)?;
    let level = Properties { loss_scale: scale, ..OptLevel::O1.with(DType::F16) };
    let mut amp = initialize(Cpu, model, UpdateRule::sgd(1.0), level)?;

    let mut window = amp.scaler.accumulate(BadMicroBatch::Drop);
    for (index, input) in INPUTS.iter().enumerate() {
        if index == 1 {
            // A checkpoint moves the scale so, or the update of another loss that shares the scaler.
            amp.scaler.set_state(ScaleState::from_exponent(8))?;
        }
        window.add(gradients(&amp, input)?)?;
    }
    let grads = window.finish()?.ok_or("an empty window")?;
    let step = grads.step(&mut amp.optimizer)?;
    let outcome = amp.scaler.update(step)?.resolve()?;
    let report = outcome.into_applied()?;

    let parts = report.steps.iter().flat_map(|step| &step.parts);
    let bad = parts.filter(|part| part.finding.is_raised());
    let dropped = bad.map(|part| part.name.clone()).collect();
    let weight = amp.optimizer.params[0].value.to_f32().into_owned();
    Ok(Window { weight, dropped, report })
}

/// Returns the gradients of a quarter of (weight·input − 1)².
fn gradients(amp: &Amp<Cpu>, input: &[f32]) -> Result<UnscaledGrads<Cpu>> {
    let tape = Tape::new(Cpu, &amp.region);
    let weight = tape.parameter(&amp.optimizer.params[0]);
    let input = tape.constant(Tensor::new(input.to_vec(), &[1, 2])?);
    let target = tape.constant(Tensor::new(vec![1.0_f32], &[1, 1])?);
    let loss =
        input.linear(&weight, None)?.mse_loss(&target)?.scaled_by(1.0 / ITERS_TO_ACCUMULATE)?;
    Ok(amp.scaler.scale(&loss)?.backward(Var::backward)?.unscale()?)
}

fn main() -> Result<()> {
    let window = run()?;
    println!("weight is {:?} after one step of the window", window.weight);
    println!("left out: {}", window.dropped.join(", "));
    println!("{}", window.report);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_the_sum_of_its_good_micro_batches_across_a_scale_change() {
        // A quarter of the gradient of (x·w − 1)² at w = (1, 1), in numbers that f16 has exactly.
        let mut expected = [1.0, 1.0];
        for x in [INPUTS[0], INPUTS[1], INPUTS[3]] {
            let towards_y = 2.0 * (x[0] + x[1] - 1.0) / 4.0;
            expected = [expected[0] - towards_y * x[0], expected[1] - towards_y * x[1]];
        }
        assert_eq!(run().unwrap().weight, expected);
    }

    #[test]
    fn a_bad_micro_batch_is_named_and_backs_the_scale_off_once() {
        let window = run().unwrap();
        assert_eq!(window.dropped, ["micro-batch 2"]);
        assert_eq!((window.report.scale.before, window.report.scale.exponent), (8, 7));
        assert_eq!((window.report.scale.overflows, window.report.scale.skipped), (1, 0));
        let text = window.report.to_string();
        assert!(text.contains("micro-batch 2: weight[0] is +inf"), "{text}");
    }
}
