//! Perceptron by loops: sums in `f32`, every result rounded to the weights' type once.

use crate::loss::cross_entropy;
use binade::core::Element;

/// Values of a batch's forward pass: the input of each layer, and the logits behind the last.
pub(super) struct Pass<E>(Vec<Vec<E>>);

impl<E: Element> Pass<E> {
    /// Returns ten logits for each image.
    pub(super) fn logits(&self) -> Vec<f32> {
        self.0.last().map(|logits| wide(logits)).unwrap_or_default()
    }
}

/// Runs the forward pass. `parameters` are weight and bias of each layer in turn; a rectifier stands between layers.
pub(super) fn forward<E: Element>(parameters: &[&[E]], pixels: &[f32]) -> Pass<E> {
    let mut kept = vec![narrow(pixels)];
    let layers = parameters.chunks_exact(2);
    let last = layers.len() - 1;
    for (layer, pair) in layers.enumerate() {
        let mut y = linear(&wide(&kept[layer]), &wide(pair[0]), &wide(pair[1]));
        if layer < last {
            // Written so that NaN stays.
            for y in y.iter_mut().filter(|y| **y <= 0.0) {
                *y = 0.0;
            }
        }
        kept.push(narrow(&y));
    }
    Pass(kept)
}

/// Returns the mean cross-entropy, and the gradients of `scale` times it by parameter, rounded to the weights' type and widened.
pub(super) fn backward<E: Element>(
    parameters: &[&[E]],
    pass: &Pass<E>,
    labels: &[i64],
    scale: f32,
) -> (f32, Vec<Vec<f32>>) {
    let (loss, towards) = cross_entropy(&pass.logits(), labels, scale);
    let mut towards = through::<E>(&towards);
    let mut grads = Vec::new();
    for (layer, pair) in parameters.chunks_exact(2).enumerate().rev() {
        let (x, outputs) = (wide(&pass.0[layer]), pair[1].len());
        grads.push(through::<E>(&column_sums(&towards, outputs)));
        grads.push(through::<E>(&of_weight(&towards, &x, outputs)));
        towards = of_input(&towards, &wide(pair[0]), outputs);
        // The rectifier before this layer passed values above 0. NaN stays, for the check to find.
        towards
            .iter_mut()
            .zip(&x)
            .filter(|(_, x)| **x == 0.0)
            .for_each(|(towards, _)| *towards = 0.0);
        towards = through::<E>(&towards);
    }
    grads.reverse();
    (loss, grads)
}

/// Computes `x wᵀ + b`.
fn linear(x: &[f32], w: &[f32], b: &[f32]) -> Vec<f32> {
    let inputs = w.len() / b.len();
    let mut y = Vec::with_capacity(x.len() / inputs * b.len());
    for row in x.chunks_exact(inputs) {
        y.extend(w.chunks_exact(inputs).zip(b).map(|(w, b)| dot(row, w) + b));
    }
    y
}

/// Adds products in eight sums, which a processor computes side by side.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum()
}

fn column_sums(towards: &[f32], outputs: usize) -> Vec<f32> {
    let mut sums = vec![0.0; outputs];
    for row in towards.chunks_exact(outputs) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    sums
}

/// Computes `towardsᵀ x`.
fn of_weight(towards: &[f32], x: &[f32], outputs: usize) -> Vec<f32> {
    let inputs = x.len() / (towards.len() / outputs);
    let mut grad = vec![0.0; outputs * inputs];
    for (towards, x) in towards.chunks_exact(outputs).zip(x.chunks_exact(inputs)) {
        for (grad, towards) in grad.chunks_exact_mut(inputs).zip(towards) {
            grad.iter_mut().zip(x).for_each(|(grad, x)| *grad += towards * x);
        }
    }
    grad
}

/// Computes `towards w`.
fn of_input(towards: &[f32], w: &[f32], outputs: usize) -> Vec<f32> {
    let inputs = w.len() / outputs;
    let mut grad = vec![0.0; towards.len() / outputs * inputs];
    for (towards, grad) in towards.chunks_exact(outputs).zip(grad.chunks_exact_mut(inputs)) {
        for (towards, w) in towards.iter().zip(w.chunks_exact(inputs)) {
            grad.iter_mut().zip(w).for_each(|(grad, w)| *grad += towards * w);
        }
    }
    grad
}

fn wide<E: Element>(values: &[E]) -> Vec<f32> {
    values.iter().map(|x| x.to_f32()).collect()
}

fn narrow<E: Element>(values: &[f32]) -> Vec<E> {
    values.iter().map(|&x| E::from_f32(x)).collect()
}

/// Returns values rounded to `E`, in `f32`.
fn through<E: Element>(values: &[f32]) -> Vec<f32> {
    wide(&narrow::<E>(values))
}
