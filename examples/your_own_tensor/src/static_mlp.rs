//! Training on arrays of `E`: products and sums in `f32`, everything stored in `E`.

use crate::mlp::rectified;
use crate::static_join::{Mlp, cast};
use crate::{BATCH, LR, Result, Row, digits::Digits, mlp, tensor::Mine};
use binade::core::{Element, StaticSet as _, TypedModel};
use binade::prelude::*;
use ndarray::{Array1, Array2, Axis};

/// Optimizer of a model of arrays of `E`.
pub type Optimizer<E> = MasterOptimizer<TypedModel<Mlp<E>>>;

/// Returns the weights that the first program starts from, in `f32`.
///
/// # Errors
///
/// None but for parameters of other shapes.
pub fn parameters() -> Result<Mlp<f32>> {
    let params = mlp::parameters();
    let layer = |place: usize| -> Result<_> {
        let bias: Array1<f32> = params[place + 1].value.to_f32().into();
        Ok((matrix(&params[place].value)?, bias))
    };
    Ok(Mlp { hidden: layer(0)?, out: layer(2)? })
}

/// Creates an optimizer with these weights as masters.
///
/// # Errors
///
/// None: the configuration names no parameter.
pub fn optimizer<E: Element>() -> Result<Optimizer<E>> {
    Ok(Optimizer::lower(parameters()?, OptimizerConfig::new(UpdateRule::adamw(LR))?)?)
}

/// Trains a model of arrays of `E` under a scale that moves by `rule`.
///
/// # Errors
///
/// If the run diverges.
pub fn train<E: Element>(
    rule: LossScale,
    epochs: u64,
    [images, test]: &[Digits; 2],
) -> Result<Row> {
    let mut scaler = Scaler::new(TypedModel::<Mlp<E>>::new(), rule)?;
    let mut optimizer = optimizer::<E>()?;
    let mut loss = 0.0;
    for epoch in 0..epochs {
        let batches = images.batches(epoch, BATCH);
        loss = 0.0;
        for batch in &batches {
            loss += step(&mut scaler, &mut optimizer, batch)?.0 / batches.len() as f32;
        }
    }
    let (images, labels) = test.whole();
    let logits = forward(&optimizer.params, &cast(&matrix(&images)?)).1;
    let accuracy = mlp::share(&tensor(&cast(&logits)), &labels);
    let state = scaler.state()?;
    let what = format!("{} arrays", E::DTYPE);
    Ok(Row { what, loss, accuracy, skipped: Some(state.skipped), scale: Some(state.factor()) })
}

/// Runs one step. Returns the batch's loss, and the outcome.
///
/// # Errors
///
/// If the run diverges.
pub fn step<E: Element>(
    scaler: &mut Scaler<TypedModel<Mlp<E>>>,
    optimizer: &mut Optimizer<E>,
    (images, labels): &(Mine, Vec<usize>),
) -> Result<(f32, Step)> {
    let (params, x) = (&optimizer.params, cast::<f32, E, _>(&matrix(images)?));
    let (hidden, logits) = forward(params, &x);
    let (loss, towards) = mlp::cross_entropy(&tensor(&cast(&logits)), labels)?;
    let (loss, towards) = (loss.to_f32()[0], matrix(&towards)?);
    // The gradient of the loss with respect to itself is 1; scaling that is scaling the loss.
    let grads = scaler.scale(&1.0)?.backward(|scale| {
        let towards = cast::<f32, E, _>(&(towards * *scale));
        Ok(backward(params, &x, &hidden, &towards).into_grads())
    })?;
    let step = grads.unscale()?.clip_norm(10.0)?.step(optimizer)?;
    let step = scaler.update(step)?.resolve()?;
    step.clone().unless_diverged()?;
    Ok((loss, step))
}

/// Returns the hidden layer's values and the logits.
fn forward<E: Element>(model: &Mlp<E>, x: &Array2<E>) -> (Array2<E>, Array2<E>) {
    let linear = |x: &Array2<E>, (weight, bias): &(Array2<E>, Array1<E>)| {
        cast::<_, f32, _>(x).dot(&cast::<_, f32, _>(weight).t()) + cast::<_, f32, _>(bias)
    };
    let hidden = cast(&linear(x, &model.hidden).mapv(rectified));
    let logits = cast(&linear(&hidden, &model.out));
    (hidden, logits)
}

/// Returns every parameter's gradient, from the one with respect to the logits.
fn backward<E: Element>(
    model: &Mlp<E>,
    x: &Array2<E>,
    hidden: &Array2<E>,
    towards_logits: &Array2<E>,
) -> Mlp<E> {
    let layer = |towards: &Array2<E>, x: &Array2<E>| {
        let (towards, x) = (cast::<_, f32, _>(towards), cast::<_, f32, _>(x));
        (cast(&towards.t().dot(&x)), cast(&towards.sum_axis(Axis(0))))
    };
    let mut towards_hidden =
        cast::<_, f32, _>(towards_logits).dot(&cast::<_, f32, _>(&model.out.0));
    towards_hidden.zip_mut_with(hidden, |grad, x| *grad *= f32::from(u8::from(x.to_f32() != 0.0)));
    Mlp { hidden: layer(&cast(&towards_hidden), x), out: layer(towards_logits, hidden) }
}

fn matrix(tensor: &Mine) -> Result<Array2<f32>> {
    Ok(Array2::from_shape_vec((tensor.shape[0], tensor.shape[1]), tensor.to_f32())?)
}

fn tensor(matrix: &Array2<f32>) -> Mine {
    Mine::new(matrix.iter().copied(), matrix.shape())
}
