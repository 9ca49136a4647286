//! The model: two of candle's linear layers, as they are.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Linear, VarBuilder};

/// A layer of gelu between two linear ones.
#[derive(Clone, Debug)]
pub struct Mlp {
    first: Linear,
    second: Linear,
}

impl Mlp {
    /// Numbers a point has.
    pub const INPUTS: usize = 8;
    const HIDDEN: usize = 32;

    /// The model over the builder's tensors.
    ///
    /// # Errors
    ///
    /// candle's.
    pub fn new(vb: &VarBuilder<'_>) -> Result<Self> {
        let first = candle_nn::linear(Self::INPUTS, Self::HIDDEN, vb.pp("first"))?;
        let second = candle_nn::linear(Self::HIDDEN, 1, vb.pp("second"))?;
        Ok(Self { first, second })
    }
}

impl Module for Mlp {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.second.forward(&self.first.forward(x)?.gelu()?)
    }
}
