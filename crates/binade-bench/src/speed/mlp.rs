//! Linear layers of one width with `ReLU` between: the model that the benchmark trains.

use super::Result;
use binade_core::ops::Upload;
use binade_core::{DType, Named};
use binade_cuda::{Cuda, Tensor};
use binade_tape::Var;

/// Dimensions of an MLP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mlp {
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) batch: usize,
}

impl Mlp {
    /// Dimensions of PyTorch's baseline, whose activations differ.
    pub(crate) const FULL: Self = Self { layers: 6, width: 4096, batch: 4096 };

    /// Dimensions with as many layers, all of them narrow.
    pub(crate) const TINY: Self = Self { layers: 6, width: 8, batch: 4 };

    /// Returns the multiplications and additions of a training step's products: each layer's output, the gradient of its weight,
    /// and the gradient of its input, which the first layer does not need.
    pub(crate) fn flops(self) -> u64 {
        let [layers, width, batch] = [self.layers, self.width, self.batch].map(|x| x as u64);
        (3 * layers).saturating_sub(1) * 2 * batch * width * width
    }

    /// Returns the number of elements of all weights and biases.
    pub(crate) fn elements(self) -> usize {
        self.layers * (self.width * self.width + self.width)
    }

    /// Returns the most bytes that a step takes at any level: weights, masters, moments, gradients and a copy of each, and three
    /// values a layer for backward, all as `f32`.
    pub(crate) fn bytes(self) -> usize {
        4 * (8 * self.elements() + (3 * self.layers + 8) * self.batch * self.width)
    }

    /// Returns weights and biases, uniform within 1 / √width, as PyTorch's layers begin.
    pub(crate) fn parameters(self, device: &Cuda) -> Result<Vec<Named<Tensor>>> {
        let mut random = fastrand::Rng::with_seed(6);
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let limit = (self.width as f32).sqrt().recip();
        let mut first = |name: String, shape: &[usize]| -> Result<_> {
            let count = shape.iter().product();
            let values: Vec<f32> = (0..count).map(|_| (2.0 * random.f32() - 1.0) * limit).collect();
            Ok(Named::new(name, device.upload(&values, shape, DType::F32)?))
        };
        let mut all = Vec::new();
        for layer in 0..self.layers {
            all.push(first(format!("{layer}.weight"), &[self.width, self.width])?);
            all.push(first(format!("{layer}.bias"), &[self.width])?);
        }
        Ok(all)
    }

    /// Returns the output as `f32`, from weights and biases in turn.
    pub(crate) fn forward(parameters: &[Var<Cuda>], input: &Var<Cuda>) -> Result<Var<Cuda>> {
        let stored = parameters.first().map_or(DType::F32, Var::dtype);
        let mut x = input.cast(stored)?;
        for (layer, pair) in parameters.chunks_exact(2).enumerate() {
            if layer > 0 {
                x = x.relu()?;
            }
            x = x.linear(&pair[0], Some(&pair[1]))?;
        }
        Ok(x.cast(DType::F32)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_needs_three_products_a_layer_less_one() {
        let one = Mlp { layers: 1, width: 3, batch: 5 };
        assert_eq!(one.flops(), 2 * (2 * 5 * 3 * 3));
        assert_eq!(Mlp { layers: 2, ..one }.flops(), 5 * (2 * 5 * 3 * 3));
        assert_eq!(Mlp::FULL.flops(), 17 * super::super::products::flops(4096));
        assert_eq!(Mlp { layers: 0, ..one }.flops(), 0);
    }
}
