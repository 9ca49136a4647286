//! Element types: told at once, changed later.

use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_autocast::Autocast;
use binade_core::{DType, stochastic::Key};
use binade_cpu::Cpu;
use std::borrow::Cow;

impl Autocast for Deferred {
    fn dtype(&self, tensor: &Tensor) -> DType {
        tensor.dtype()
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Error> {
        // An empty tensor gives the same refusal, at once.
        binade_cpu::Tensor::from_bits(&[], tensor.dtype(), &[0])?.cast(to)?;
        let like = Like { dtype: to, ..tensor.like() };
        Ok(self.tensor(&[tensor], like, move |t| t[0].cast(to)))
    }

    fn extents<'t>(&self, tensor: &'t Tensor) -> Option<Cow<'t, [usize]>> {
        Some(tensor.shape().into())
    }
}

impl Deferred {
    /// Casts as [`Cpu::cast_stochastic`], later.
    ///
    /// # Errors
    ///
    /// The errors of [`Cpu::cast_stochastic`], at once.
    pub fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Error> {
        Cpu.cast_stochastic(&binade_cpu::Tensor::from_bits(&[], tensor.dtype(), &[0])?, to, key)?;
        let like = Like { dtype: to, ..tensor.like() };
        Ok(self.tensor(&[tensor], like, move |t| Cpu.cast_stochastic(t[0], to, key)))
    }
}
