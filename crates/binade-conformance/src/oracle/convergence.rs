//! A network of two layers trained by gradient descent on one batch: what a run comes to in which nothing but the parameters
//! is rounded, and they to `f32`.

use super::train::narrow;

/// Examples in the batch, inputs of each, hidden units; there is one output.
pub const SIZES: [usize; 3] = [32, 4, 8];

/// Weight and bias of the hidden layer, weight and bias of the output; weights by output, then by input.
pub type Params = [Vec<f64>; 4];

/// Inputs, example by example, and what the output is to be.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Inputs.
    pub inputs: Vec<f64>,
    /// Targets.
    pub targets: Vec<f64>,
}

/// The hidden units of one example, after `max(x, 0)`.
fn hidden(params: &Params, x: &[f64]) -> Vec<f64> {
    let [w, b, ..] = params;
    let unit =
        |(w, b): (&[f64], &f64)| (b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).max(0.0);
    w.chunks(x.len()).zip(b).map(unit).collect()
}

/// Of each example its input, its hidden units, and how far the output is beyond the target.
fn forward<'b>(params: &Params, batch: &'b Batch) -> Vec<(&'b [f64], Vec<f64>, f64)> {
    let examples = batch.inputs.chunks(SIZES[1]).zip(&batch.targets);
    let one = |(x, target): (&'b [f64], &f64)| {
        let h = hidden(params, x);
        let out = params[3][0] + params[2].iter().zip(&h).map(|(w, h)| w * h).sum::<f64>();
        (x, h, out - target)
    };
    examples.map(one).collect()
}

/// The mean of the squared errors.
pub fn loss(params: &Params, batch: &Batch) -> f64 {
    let errors = forward(params, batch);
    let n = super::matmul::count(errors.len());
    errors.iter().map(|(_, _, error)| error * error).sum::<f64>() / n
}

/// By parameter the gradient of the loss times `above`.
pub fn gradients(params: &Params, batch: &Batch, above: f64) -> Params {
    let mut grads = params.each_ref().map(|param| vec![0.0; param.len()]);
    let examples = forward(params, batch);
    let n = super::matmul::count(examples.len());
    for (x, h, error) in examples {
        let d = above * 2.0 * error / n;
        grads[3][0] += d;
        for (unit, h) in h.into_iter().enumerate() {
            grads[2][unit] += d * h;
            // A unit that gave nothing learns nothing.
            let back = if h > 0.0 { d * params[2][unit] } else { 0.0 };
            grads[1][unit] += back;
            for (input, x) in x.iter().enumerate() {
                grads[0][unit * SIZES[1] + input] += back * x;
            }
        }
    }
    grads
}

/// The loss before the first step and after each; a step that is skipped changes nothing.
pub fn losses(start: &Params, batch: &Batch, lr: f64, skips: &[bool]) -> Vec<f64> {
    let mut params = start.clone();
    let mut losses = vec![loss(&params, batch)];
    for skipped in skips {
        if !skipped {
            let grads = gradients(&params, batch, 1.0);
            for (p, g) in params.iter_mut().flatten().zip(grads.iter().flatten()) {
                *p = f64::from(narrow(*p - lr * g));
            }
        }
        losses.push(loss(&params, batch));
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_what_central_differences_say() {
        let [examples, inputs, units] = SIZES;
        let wave = |n: usize, step: f64| {
            (0..n)
                .map(|i| (step * (crate::oracle::matmul::count(i) + 1.0)).sin())
                .collect::<Vec<f64>>()
        };
        let batch = Batch { inputs: wave(examples * inputs, 0.7), targets: wave(examples, 1.3) };
        let params = [wave(units * inputs, 0.3), wave(units, 0.9), wave(units, 1.7), vec![0.1]];
        let (grads, h) = (gradients(&params, &batch, 3.0), 1e-6);
        for which in 0..params.len() {
            for index in 0..params[which].len() {
                let moved = |by: f64| {
                    let mut params = params.clone();
                    params[which][index] += by;
                    3.0 * loss(&params, &batch)
                };
                let difference = (moved(h) - moved(-h)) / (2.0 * h);
                assert!((difference - grads[which][index]).abs() <= 1e-6, "{which} {index}");
            }
        }
    }
}
