//! Training on a tensor of one's own: three methods make it a device, and its owner writes forward and backward.

use crate::{Result, loss::cross_entropy};
use binade::prelude::*;
use binade_example_shared::five_ways::{LEARNING_RATE, Row, Run, Scaling, Task, properties};
use binade_example_shared::mlp::Parameter;
use binade_example_your_own_tensor::tensor::{Mine, NoSuchType};

type Outcome<T> = std::result::Result<T, NoSuchType>;

/// Trains, and returns the row of the table.
///
/// # Errors
///
/// If the run diverges.
pub fn row(task: &Task, precision: DType) -> Result<Row> {
    let parameter =
        |p: &Parameter| Named::new(p.name, Mine::new(p.values.iter().copied(), &p.shape));
    let model = Model::new(task.parameters.iter().map(parameter).collect());
    let (device, rule) = (HostDevice::<Mine>::new(), UpdateRule::adam(LEARNING_RATE));
    let mut amp = initialize(device, model, rule, properties(precision)?)?;
    let mut losses = Vec::new();
    for batch in task.batches() {
        let params = &amp.optimizer.params;
        let kept = forward(params, &batch.pixels)?;
        // The gradient of the loss with respect to itself is 1; scaling that is scaling the loss.
        let grads = amp.scaler.scale(&Mine::scalar(1.0))?.backward(|one| {
            let logits = &kept[kept.len() - 1];
            let (loss, towards) = cross_entropy(&logits.to_f32(), &batch.labels, one.to_f32()[0]);
            losses.push(loss);
            Ok(backward(params, &kept, &Mine::new(towards, &logits.shape))?)
        })?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?;
        amp.scaler.update(step)?.resolve()?.unless_diverged()?;
    }
    let params = &amp.optimizer.params;
    let logits = forward(params, &task.test.pixels)?.pop().map(|x| x.to_f32()).unwrap_or_default();
    let weights = params.iter().map(|p| p.value.to_f32()).collect();
    let scaling = Some(Scaling::from(&amp.scaler.state()?));
    let run = Run { losses, weights, logits, scaling };
    Ok(Row::new(("own tensor", precision, "Binade"), task, &run))
}

/// Returns the input of each layer, and the logits, all in the parameters' stored type.
fn forward(params: &[Named<Mine>], pixels: &[f32]) -> Outcome<Vec<Mine>> {
    let inputs = params[0].value.shape[1];
    let pixels = Mine::new(pixels.iter().copied(), &[pixels.len() / inputs, inputs]);
    let mut kept = vec![pixels.cast(params[0].value.dtype())?];
    let layers = params.chunks_exact(2);
    let last = layers.len() - 1;
    for (layer, pair) in layers.enumerate() {
        let y = Mine::linear(&kept[layer], &pair[0].value, &pair[1].value);
        // Written so that NaN stays.
        let rectified = |x: f32| if x <= 0.0 { 0.0 } else { x };
        kept.push(if layer < last { y.map(rectified) } else { y });
    }
    Ok(kept)
}

/// Returns every parameter's gradient, from the scaled loss's gradient with respect to the logits.
fn backward(
    params: &[Named<Mine>],
    kept: &[Mine],
    towards_logits: &Mine,
) -> Outcome<NamedGrads<Mine>> {
    let mut towards = towards_logits.cast(params[0].value.dtype())?;
    let mut grads = Vec::new();
    for (layer, pair) in params.chunks_exact(2).enumerate().rev() {
        let (weight, bias) = (&pair[0], &pair[1]);
        grads.push(Named::new(bias.name.clone(), Some(towards.sum_rows())));
        grads.push(Named::new(weight.name.clone(), Some(towards.transposed_matmul(&kept[layer]))));
        let through = towards.matmul(&weight.value);
        towards = through.with(&kept[layer], |grad, x| if x == 0.0 { 0.0 } else { grad });
    }
    grads.reverse();
    Ok(grads)
}
