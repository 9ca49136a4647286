//! Casts to tensors that are there already.

use super::{
    Stored, Tensor,
    elements::{each, to_e4m3, to_e5m2},
};
use crate::{Error, parallel, simd};
use binade_core::DType;
use binade_core::cast::{E4M3, E5M2};
use binade_core::ops::ShapeError;
use half::{bf16, f16};

impl Tensor {
    /// Writes the elements into `to`, each rounded once to the type of `to`, to nearest even. The bits are those of
    /// [`cast`](Self::cast). The memory of `to` is used again, unless other tensors share it.
    ///
    /// ```
    /// use binade_core::DType;
    /// use binade_cpu::Tensor;
    ///
    /// let master = Tensor::new(vec![1.0_f32, 2.5, -3.0], &[3])?;
    /// let mut weight = master.cast(DType::BF16)?;
    /// Tensor::new(vec![4.0_f32, 5.0, 6.0], &[3])?.cast_into(&mut weight)?;
    /// assert_eq!(*weight.to_f32(), [4.0, 5.0, 6.0]);
    /// # Ok::<(), binade_cpu::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the shapes differ; [`Error::Unsupported`] for types that are not floating-point, and for f64.
    pub fn cast_into(&self, to: &mut Self) -> Result<(), Error> {
        if self.shape() != to.shape() {
            let found = vec![self.shape().to_vec(), to.shape().to_vec()];
            let expected = "both of one shape";
            return Err(ShapeError::Mismatch { op: "cast_into", found, expected }.into());
        }
        for (what, dtype) in [("cast", self.dtype()), ("cast to", to.dtype())] {
            if !dtype.is_castable() {
                return Err(Error::Unsupported { what, dtype });
            }
        }
        match (self.dtype(), to.dtype()) {
            (DType::BF16, DType::F32) => to.write_from(self, simd::widen::<bf16>),
            (DType::F16, DType::F32) => to.write_from(self, simd::widen::<f16>),
            (DType::E4M3, DType::F32) => to.write_from(self, each(E4M3::to_f32)),
            (DType::E5M2, DType::F32) => to.write_from(self, each(E5M2::to_f32)),
            (DType::F32, DType::BF16) => to.write_from(self, simd::narrow::<bf16>),
            (DType::F32, DType::F16) => to.write_from(self, simd::narrow::<f16>),
            (DType::F32, DType::E4M3) => to.write_from(self, each(to_e4m3)),
            (DType::F32, DType::E5M2) => to.write_from(self, each(to_e5m2)),
            (DType::F32, DType::F32) => to.write_from(self, copy::<f32>),
            (DType::BF16, DType::BF16) => to.write_from(self, copy::<bf16>),
            (DType::F16, DType::F16) => to.write_from(self, copy::<f16>),
            (DType::E4M3, DType::E4M3) => to.write_from(self, copy::<E4M3>),
            (DType::E5M2, DType::E5M2) => to.write_from(self, copy::<E5M2>),
            // Widening is exact, so that only the second cast rounds.
            _ => self.cast(DType::F32)?.cast_into(to)?,
        }
        Ok(())
    }

    /// Converts `from` block by block. The caller has matched on both types.
    fn write_from<A: Stored, B: Stored>(
        &mut self,
        from: &Self,
        convert: impl Fn(&[A], &mut [B]) + Sync,
    ) {
        let from = from.elements::<A>();
        let to = self.as_mut_slice::<B>().unwrap_or_default();
        parallel::blocks(to, |first, block| convert(&from[first..first + block.len()], block));
    }
}

fn copy<E: Copy>(from: &[E], to: &mut [E]) {
    to.copy_from_slice(from);
}
