//! Training without Binade, in one type from end to end, by a loop that was written for `f32`.

use crate::tensor::Mine;
use crate::{BATCH, LR, Result, Row, digits::Digits, mlp};
use binade::prelude::*;

/// `AdamW` as a framework's elementwise operations compute it: each rounds to the tensors' type.
struct Adam {
    /// Mean and mean of squares, by parameter.
    moments: Vec<[Mine; 2]>,
    steps: i32,
}

/// Trains with weights, gradients and moments in `dtype`.
///
/// # Errors
///
/// If the tensor refuses.
pub fn train(dtype: DType, epochs: u64, [images, test]: &[Digits; 2]) -> Result<Row> {
    let mut params = mlp::parameters();
    for param in &mut params {
        param.value = param.value.cast(dtype)?;
    }
    let none = Region::bf16().off();
    let mut adam = Adam::new(&params);
    let mut loss = 0.0;
    for epoch in 0..epochs {
        let batches = images.batches(epoch, BATCH);
        loss = 0.0;
        for (images, labels) in &batches {
            let batch = (images.cast(dtype)?, labels.clone());
            let pass = mlp::forward(&none, &params, &batch)?;
            loss += pass.loss.to_f32()[0] / batches.len() as f32;
            let grads = pass.backward(&params, 1.0)?;
            adam.step(&mut params, grads)?;
        }
    }
    let (images, labels) = test.whole();
    let accuracy = mlp::accuracy(&none, &params, &(images.cast(dtype)?, labels))?;
    let what = format!("{dtype} without Binade");
    Ok(Row { what, loss, accuracy, skipped: None, scale: None })
}

impl Adam {
    fn new(params: &[Named<Mine>]) -> Self {
        let zeros = |param: &Named<Mine>| [0, 1].map(|_| param.value.map(|_| 0.0));
        Self { moments: params.iter().map(zeros).collect(), steps: 0 }
    }

    fn step(&mut self, params: &mut [Named<Mine>], grads: NamedGrads<Mine>) -> Result<()> {
        self.steps += 1;
        let [c1, c2] = [0.9_f32, 0.999].map(|beta| 1.0 - beta.powi(self.steps));
        for ((param, grad), [mean, square]) in params.iter_mut().zip(grads).zip(&mut self.moments) {
            let grad = grad.value.ok_or("every parameter has a gradient")?;
            let squared = grad.with(&grad, |x, y| x * y).map(|x| 0.001 * x);
            *mean = mean.map(|m| 0.9 * m).with(&grad.map(|x| 0.1 * x), |m, x| m + x);
            *square = square.map(|v| 0.999 * v).with(&squared, |v, x| v + x);
            let root = square.map(|v| v / c2).map(f32::sqrt).map(|root| root + 1e-8);
            let update = mean.map(|m| m / c1).with(&root, |m, root| m / root);
            let update = update.map(|x| LR as f32 * x);
            let decayed = param.value.map(|w| w - LR as f32 * 0.01 * w);
            param.value = decayed.with(&update, |w, x| w - x);
        }
        Ok(())
    }
}
