//! Linear layers with `ReLU` between: the model that the benchmarks train.

use crate::Result;
use binade_core::{DType, Handle, Named};
use binade_example_shared::program::Trains;
use binade_tape::{TapeError, Var};

/// Dimensions of an MLP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mlp {
    /// Features of the input, and of each layer's output.
    pub(crate) widths: &'static [usize],
    pub(crate) batch: usize,
}

impl Mlp {
    /// Dimensions of PyTorch's baseline on a GPU, whose activations differ.
    pub(crate) const FULL: Self = Self { widths: &[4096; 7], batch: 4096 };

    /// Dimensions with as many layers, all of them narrow.
    pub(crate) const TINY: Self = Self { widths: &[8; 7], batch: 4 };

    /// Returns the multiplications and additions of a training step's products: each layer's output, the gradient of its weight,
    /// and the gradient of its input, which the first layer does not need.
    pub(crate) fn flops(self) -> u64 {
        let product = |pair: &[usize]| 2 * self.batch as u64 * pair[0] as u64 * pair[1] as u64;
        let mut products = self.widths.windows(2).map(product);
        2 * products.next().unwrap_or(0) + 3 * products.sum::<u64>()
    }

    /// Returns the number of elements of all weights and biases.
    pub(crate) fn elements(self) -> usize {
        self.widths.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
    }

    /// Returns the most bytes that a step takes at any level: weights, masters, moments, gradients and a copy of each, and three
    /// values a layer for backward, all as `f32`.
    pub(crate) fn bytes(self) -> usize {
        let widest = self.widths.iter().max().copied().unwrap_or(0);
        4 * (8 * self.elements() + (3 * self.widths.len() + 5) * self.batch * widest)
    }

    /// Returns weights and biases, uniform within 1 / √inputs, as PyTorch's layers begin.
    pub(crate) fn parameters<D: Trains>(self, device: &D) -> Result<Vec<Named<D::Tensor>>>
    where
        D::Error: 'static,
    {
        let mut random = fastrand::Rng::with_seed(6);
        let mut first = |name: String, shape: &[usize], inputs: usize| -> Result<_> {
            #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
            let limit = (inputs as f32).sqrt().recip();
            let count = shape.iter().product();
            let values: Vec<f32> = (0..count).map(|_| (2.0 * random.f32() - 1.0) * limit).collect();
            Ok(Named::new(name, device.upload(&values, shape, DType::F32)?))
        };
        let mut all = Vec::new();
        for (layer, pair) in self.widths.windows(2).enumerate() {
            all.push(first(format!("{layer}.weight"), &[pair[1], pair[0]], pair[0])?);
            all.push(first(format!("{layer}.bias"), &[pair[1]], pair[0])?);
        }
        Ok(all)
    }

    /// Returns the output as `f32`, from weights and biases in turn.
    pub(crate) fn forward<D: Trains>(
        parameters: &[Var<D>],
        input: &Var<D>,
    ) -> Result<Var<D>, TapeError<<D as Handle>::Error>> {
        let stored = parameters.first().map_or(DType::F32, Var::dtype);
        let mut x = input.cast(stored)?;
        for (layer, pair) in parameters.chunks_exact(2).enumerate() {
            if layer > 0 {
                x = x.relu()?;
            }
            x = x.linear(&pair[0], Some(&pair[1]))?;
        }
        x.cast(DType::F32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_needs_three_products_a_layer_less_one() {
        let one = Mlp { widths: &[3, 3], batch: 5 };
        assert_eq!(one.flops(), 2 * (2 * 5 * 3 * 3));
        assert_eq!(Mlp { widths: &[3, 3, 4], ..one }.flops(), 2 * 90 + 3 * (2 * 5 * 3 * 4));
        assert_eq!(Mlp::FULL.flops(), 17 * crate::speed::products::flops(4096));
        assert_eq!(Mlp { widths: &[], ..one }.flops(), 0);
        assert_eq!(Mlp { widths: &[3, 2], ..one }.elements(), 8);
    }
}
