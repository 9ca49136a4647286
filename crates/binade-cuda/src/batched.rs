//! Many tensors at once, which are no set of gradients: one launch, whatever their number and sizes.

use crate::{
    Cuda, Error, Tensor,
    chunks::Rows,
    kernels::{CAST_SET, L2NORM},
    launch::{
        args, code,
        structs::{CastRow, NormRow},
    },
};
use binade_core::DType;
use binade_gpu::Driver;

impl Cuda {
    /// Copies of `tensors` in another element type, each element rounded once, to nearest even; what overflows is
    /// infinite, or NaN where there is no infinity.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    pub fn cast_all(&self, tensors: &[Tensor], to: DType) -> Result<Vec<Tensor>, Error> {
        let to_dtype = code("cast to", to)?;
        let results = tensors.iter().map(|tensor| self.unset(to, tensor.shape()));
        let results = results.collect::<Result<Vec<_>, Error>>()?;
        let mut set = Rows::of(elements(tensors));
        for (from, to) in tensors.iter().zip(&results) {
            self.check_owner(from.buffer())?;
            let from_dtype = code("cast", from.dtype())?;
            let (len, from, to) = (from.len(), from.address(), to.address());
            set.add(len, |first_chunk| CastRow {
                from,
                to,
                len: len as u64,
                first_chunk,
                from_dtype,
                to_dtype,
            });
        }
        set.launch(self, CAST_SET, &args![set.chunks.len])?;
        Ok(results)
    }

    /// The L2 norm of all elements of `tensors` together, as an `f32` scalar on the device: summed in `f64` in an order that
    /// follows from the lengths alone, so that it has the same bits on every GPU.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    pub fn l2_norm(&self, tensors: &[Tensor]) -> Result<Tensor, Error> {
        let norm = self.unset(DType::F32, &[])?;
        let mut set = Rows::of(elements(tensors));
        for tensor in tensors {
            self.check_owner(tensor.buffer())?;
            let dtype = code("take the norm of", tensor.dtype())?;
            let (values, len) = (tensor.address(), tensor.len() as u64);
            set.add(tensor.len(), |first_chunk| NormRow {
                values,
                len,
                first_chunk,
                dtype,
                pad: 0,
            });
        }
        // Without any element one block writes 0.
        let blocks = set.chunks.blocks().max(1);
        let partials = self.buffer(size_of::<f64>() * blocks as usize)?;
        let done = &self.shared_buffers()?.done;
        let args = args![set.chunks.count, set.chunks.len, &partials, done, &norm];
        set.launch_blocks(self, L2NORM, blocks, &args)?;
        Ok(norm)
    }
}

fn elements(tensors: &[Tensor]) -> u64 {
    tensors.iter().map(|tensor| tensor.len() as u64).sum()
}
