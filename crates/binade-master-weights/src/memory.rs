//! Bytes of training state, before anything is allocated.

use crate::{OptimizerConfig, config::is_trainable};
use binade_core::DType;

/// Bytes that parameters, masters, gradients and optimizer state take.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Memory {
    /// Bytes of the parameters that the model computes with.
    pub parameters: u64,
    /// Bytes that the configuration's store keeps in addition to low-precision parameters: `f32` copies, remainders, compensations. An exponent of 4
    /// bytes a tensor, where [`MasterStore::ScaledF16`](crate::MasterStore::ScaledF16) keeps one, is left out.
    pub masters: u64,
    /// Gradients, in their parameters' types.
    pub gradients: u64,
    /// Moments, in `f32` except those that the configuration stores in bf16. A running norm of 4 bytes a tensor, where [`NovoGrad`](crate::NovoGrad)
    /// keeps one, is left out.
    pub optimizer: u64,
}

impl Memory {
    /// Returns the memory that training with `config` takes, for parameters given by name, current type and number of elements. A parameter of a type
    /// that is not trained, `f64` or an integer, takes only its own bytes.
    pub fn of<'p>(
        config: &OptimizerConfig,
        parameters: impl IntoIterator<Item = (&'p str, DType, u64)>,
    ) -> Self {
        let mut total = Self::default();
        for (name, dtype, elements) in parameters {
            if !is_trainable(dtype) {
                total.parameters += elements * dtype.bytes() as u64;
                continue;
            }
            let dtype = config.dtype_of(name, dtype);
            let stored = elements * dtype.bytes() as u64;
            total.parameters += stored;
            total.gradients += stored;
            if is_trainable(dtype) {
                total.masters += elements * config.store.bytes_beside(dtype) as u64;
            }
            let rule = config.rule_for(name);
            let bf16 = config.bf16_moments(rule).map(u64::from);
            total.optimizer +=
                elements * (4 * rule.moments() as u64 - 2 * bf16.iter().sum::<u64>());
        }
        total
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> u64 {
        self.parameters + self.masters + self.gradients + self.optimizer
    }
}
