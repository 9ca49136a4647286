//! Multiple models, losses and optimizers: torch's recipe, with the names of its steps.
//!
//! Both losses are of both models, so that each optimizer's gradients are a sum of two backward passes. torch adds up in `.grad`;
//! here each optimizer has a window. The tape outlives a backward pass, as under `retain_graph=True`.

use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::Tape;

/// Runs one iteration, and returns the models' weights and the outcome.
fn run(input: [f32; 2]) -> Result<([f32; 2], Step)> {
    let scale = LossScale::dynamic().with_init_scale(256.0)?;
    let setup = Setup::new(Cpu, Properties { loss_scale: scale, ..OptLevel::O1.with(DType::F16) })?;
    let model = |name, start| parameter(name, &[start], &[1, 1]).map(|it| Model::new(vec![it]));
    let mut scaler = setup.scaler()?;
    let mut optimizer0 = setup.optimizer(model("model0", 1.0)?, UpdateRule::sgd(0.125))?;
    let mut optimizer1 = setup.optimizer(model("model1", 0.5)?, UpdateRule::sgd(0.125))?;

    let autocast = Tape::new(Cpu, &setup.region);
    let (model0, model1) =
        (autocast.parameters(&optimizer0.params), autocast.parameters(&optimizer1.params));
    let input = autocast.constant(Tensor::new(input.to_vec(), &[2, 1])?);
    let target = autocast.constant(Tensor::new(vec![1.0_f32; 2], &[2, 1])?);
    let (output0, output1) = (input.linear(&model0[0], None)?, input.linear(&model1[0], None)?);
    let sum = |a: f32, b: f32| output0.scaled_by(a)?.add(&output1.scaled_by(b)?);
    let loss0 = sum(2.0, 3.0)?.mse_loss(&target)?;
    let loss1 = sum(3.0, -5.0)?.mse_loss(&target)?;

    let (mut grads0, mut grads1) = (scaler.sum_scaled(), scaler.sum_scaled());
    for loss in [&loss0, &loss1] {
        grads0.backward(loss, |scaled| scaled.backward_to(&model0))?;
        grads1.backward(loss, |scaled| scaled.backward_to(&model1))?;
    }
    // Both are unscaled; the gradients of `optimizer0` are clipped besides.
    let grads0 = grads0.unscale()?.ok_or("no pass")?.named("model0").clip_norm(1.0)?;
    let grads1 = grads1.unscale()?.ok_or("no pass")?.named("model1");

    let step = grads0.step(&mut optimizer0)?.and(grads1.step(&mut optimizer1)?);
    let step = scaler.update(step)?.resolve()?;
    Ok(([&optimizer0, &optimizer1].map(|it| it.params[0].value.to_f32()[0]), step))
}

fn main() -> Result<()> {
    for input in [[1.0, -1.0], [1e5, 1.0]] {
        let (weights, step) = run(input)?;
        println!("input {input:?}: weights {weights:?}; {}", step.report());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_steps_by_the_sum_of_both_losses_and_one_is_clipped() {
        let (weights, step) = run([1.0, -1.0]).unwrap();
        // Means over x = ±1 of 2·x·(k·x − 1) are 2·k, with k = 3.5 for loss0 and 0.5 for loss1.
        let [grad0, grad1] = [2.0 * 7.0 + 3.0 * 1.0, 3.0 * 7.0 - 5.0 * 1.0];
        assert_eq!(weights, [1.0 - 0.125, 0.5 - 0.125 * grad1]);
        assert_eq!(step.report().steps[0].norm, Some(grad0));
    }

    #[test]
    fn both_skip_an_input_beyond_f16_and_one_update_halves_the_scale() {
        let (weights, step) = run([1e5, 1.0]).unwrap();
        assert_eq!(weights, [1.0, 0.5]);
        let scale = step.report().scale;
        assert_eq!((scale.before, scale.exponent, scale.updates), (8, 7, 1));
    }
}
