//! Model of two of candle's linear layers.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Linear, VarBuilder};

/// Two linear layers with gelu between.
#[derive(Clone, Debug)]
pub struct Mlp {
    first: Linear,
    second: Linear,
}

impl Mlp {
    /// Number of inputs of a point.
    pub const INPUTS: usize = 8;
    const HIDDEN: usize = 32;

    /// Creates the model over the builder's tensors.
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
