//! Two layers, forward and backward by hand. A region casts the operands of each operation.

use crate::{Result, digits, tensor::Mine};
use binade::prelude::*;

/// Handle that the tensor's three methods make available.
pub type Device = HostDevice<Mine>;
const HIDDEN: usize = 32;

/// Returns the weights before training, in `f32`: the same each time.
pub fn parameters() -> Vec<Named<Mine>> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut layer = |name: &str, outputs: usize, inputs: usize| {
        // A uniform distribution whose variance is one over the number of inputs.
        let bound = (3.0 / inputs as f32).sqrt();
        let weight = (0..outputs * inputs).map(|_| (2.0 * random.f32() - 1.0) * bound);
        let weight = Mine::new(weight, &[outputs, inputs]);
        let bias = Mine::new(vec![0.0; outputs], &[outputs]);
        [Named::new(format!("{name}.weight"), weight), Named::new(format!("{name}.bias"), bias)]
    };
    let hidden = layer("hidden", HIDDEN, digits::PIXELS);
    [hidden, layer("out", digits::CLASSES, HIDDEN)].concat()
}

/// Values of a forward pass that backward needs.
#[derive(Clone, Debug)]
pub struct Forward {
    /// Mean loss of the batch, in `f32`.
    pub loss: Mine,
    /// Logits of each image.
    pub logits: Mine,
    /// Gradient of the loss with respect to the logits, in `f32`.
    towards_logits: Mine,
    images: Mine,
    hidden: Mine,
    out_weight: Mine,
}

/// Computes the mean cross-entropy of a batch.
///
/// # Errors
///
/// If the region's policy or the tensor refuses.
pub fn forward(
    region: &Region,
    params: &[Named<Mine>],
    (images, labels): &(Mine, Vec<usize>),
) -> Result<Forward> {
    let device = Device::new();
    let scope = region.open(&device);
    let [weight, bias, out_weight, out_bias] = params else { return Err("four parameters".into()) };
    let [x, w, b] = scope.cast(Op::LINEAR, "hidden", [images, &weight.value, &bias.value])?;
    let hidden = Mine::linear(&x, &w, &b).map(rectified);
    let operands = [&hidden, &out_weight.value, &out_bias.value];
    let [hidden, w, b] = scope.cast(Op::LINEAR, "out", operands)?;
    let logits = Mine::linear(&hidden, &w, &b);
    let [widened] = scope.cast(Op::CROSS_ENTROPY, "loss", [&logits])?;
    let (loss, towards_logits) = cross_entropy(&widened, labels)?;
    let (images, out_weight) = (x.into_owned(), w.into_owned());
    let hidden = hidden.into_owned();
    Ok(Forward { loss, logits, towards_logits, images, hidden, out_weight })
}

/// Returns 0 for negative values; NaN stays, for the check of gradients to find.
pub(crate) fn rectified(x: f32) -> f32 {
    if x <= 0.0 { 0.0 } else { x }
}

/// Returns the mean of -log softmax at the labels, and its gradient.
pub(crate) fn cross_entropy(logits: &Mine, labels: &[usize]) -> Result<(Mine, Mine)> {
    let (mut total, mut gradient) = (0.0, Vec::new());
    let count = labels.len() as f32;
    for (row, label) in logits.rows().into_iter().zip(labels) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = row.iter().map(|x| (x - largest).exp()).sum();
        total += (largest - row[*label] + sum.ln()) / count;
        gradient.extend(row.iter().enumerate().map(|(class, x)| {
            let probability = (x - largest).exp() / sum;
            (probability - f32::from(u8::from(class == *label))) / count
        }));
    }
    Ok((Mine::scalar(total).cast(logits.dtype())?, Mine::new(gradient, &logits.shape)))
}

impl Forward {
    /// Returns every parameter's gradient times `scale`, the gradient of the scaled loss with respect to the loss.
    ///
    /// A cast's gradient has the type of the cast's operand, so that gradients here are as wide as the stored parameters.
    ///
    /// # Errors
    ///
    /// If the tensor refuses.
    pub fn backward(
        &self,
        params: &[Named<Mine>],
        scale: f32,
    ) -> Result<NamedGrads<Mine>, crate::tensor::NoSuchType> {
        let towards_logits = self.towards_logits.map(|x| x * scale).cast(self.logits.dtype())?;
        let towards_hidden = towards_logits.matmul(&self.out_weight);
        let towards_hidden =
            towards_hidden.with(&self.hidden, |grad, x| if x == 0.0 { 0.0 } else { grad });
        let grads = [
            towards_hidden.transposed_matmul(&self.images),
            towards_hidden.sum_rows(),
            towards_logits.transposed_matmul(&self.hidden),
            towards_logits.sum_rows(),
        ];
        let named = params.iter().zip(grads);
        named.map(|(p, g)| Ok(Named::new(p.name.clone(), Some(g.cast(p.value.dtype())?)))).collect()
    }
}

/// Returns the share of images whose largest logit is at their label; a row with a NaN counts as wrong.
///
/// # Errors
///
/// The errors of [`forward`].
pub fn accuracy(
    region: &Region,
    params: &[Named<Mine>],
    batch: &(Mine, Vec<usize>),
) -> Result<f32> {
    Ok(share(&forward(region, params, batch)?.logits, &batch.1))
}

/// Returns that share for given logits.
pub(crate) fn share(logits: &Mine, labels: &[usize]) -> f32 {
    let is_right = |row: &Vec<f32>, label: usize| {
        let below = |(class, x): (usize, &f32)| class == label || *x < row[label];
        row.iter().enumerate().all(below)
    };
    let rows = logits.rows();
    let right = rows.iter().zip(labels).filter(|(row, label)| is_right(row, **label)).count();
    right as f32 / labels.len() as f32
}
