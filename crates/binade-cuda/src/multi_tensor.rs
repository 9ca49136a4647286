//! Arithmetic on sets of tensors: one launch for any number and sizes.

use crate::{
    Cuda, Error, Tensor,
    chunks::{Rows, supported},
    kernels::{AXPBY, CAST_SET, NORMS},
    launch::{
        args, code,
        structs::{AXPBY_PARTIAL, AxpbyRow, CastRow, FoundBits, NORM_PARTIAL, NormRow},
    },
};
use binade_core::{DType, Named, Norm, Norms};
use binade_gpu::{Computed, Driver, MultiTensorKernels, Term};
use std::sync::Arc;

type Set = Vec<Named<Tensor>>;

impl MultiTensorKernels for Cuda {
    fn run_axpby(
        &self,
        x: &Term<'_, Self>,
        y: Option<&Term<'_, Self>>,
    ) -> Result<Computed<Self>, Error> {
        let mut results = Vec::new();
        let mut set = Rows::of(elements(x.tensors));
        let numbers = self.names().numbers(x.tensors.iter().map(|tensor| &tensor.name));
        for ((place, x), parameter) in x.tensors.iter().enumerate().zip(numbers) {
            let added = y.and_then(|y| y.tensors.get(place));
            let (x_dtype, y_dtype) = (type_of(x)?, added.map(type_of).transpose()?);
            let result = self.unset(DType::F32, x.value.shape())?;
            let row = AxpbyRow {
                x: x.value.address(),
                y: added.map_or(0, |y| y.value.address()),
                result: result.address(),
                len: x.value.len() as u64,
                first_chunk: 0,
                parameter,
                x_dtype,
                y_dtype: y_dtype.unwrap_or(x_dtype),
                pad: 0,
            };
            set.add(x.value.len(), |first_chunk| AxpbyRow { first_chunk, ..row });
            results.push(Named::new(x.name.clone(), result));
        }
        let found = self.buffer(size_of::<FoundBits>())?;
        // Without any element one block writes the finding.
        let blocks = set.chunks.blocks().max(1);
        let partials = self.buffer(AXPBY_PARTIAL * blocks as usize)?;
        let (chunks, done) = (set.chunks, &self.shared_buffers()?.done);
        let (a, b) = (x.factor, y.map_or(0.0, |y| y.factor));
        let args = args![chunks.count, chunks.len, a, b, &partials, done, &found];
        set.launch_blocks(self, AXPBY, blocks, &args)?;
        Ok((results, found))
    }

    /// Sums in an order determined by the lengths, so that norms have the same bits on every GPU.
    fn run_norms(&self, tensors: &[Named<Tensor>], norm: Norm) -> Result<Norms<Tensor>, Error> {
        let mut set = Rows::of(elements(tensors));
        for Named { value, .. } in tensors {
            let dtype = supported("take the norm of", value)?;
            let (values, len) = (value.address(), value.len() as u64);
            set.add(value.len(), |first_chunk| NormRow { values, len, first_chunk, dtype, pad: 0 });
        }
        let norms = Arc::new(self.buffer(size_of::<f32>() * (1 + tensors.len()))?);
        // Without any element one block writes zeros.
        let blocks = set.chunks.blocks().max(1);
        let partials = self.buffer(NORM_PARTIAL * blocks as usize)?;
        let (chunks, done) = (set.chunks, &self.shared_buffers()?.done);
        let which = u32::from(norm == Norm::Infinity);
        let args = args![chunks.count, chunks.len, which, &partials, done, &*norms];
        set.launch_blocks(self, NORMS, blocks, &args)?;
        let at =
            |place: usize| Tensor::within(norms.clone(), size_of::<f32>() * place, DType::F32, &[]);
        let each = tensors.iter().zip(1..);
        let each = each.map(|(tensor, place)| Named::new(tensor.name.clone(), at(place)));
        Ok(Norms { all: at(0), each: each.collect() })
    }

    fn run_cast_all(&self, tensors: &[Named<Tensor>], to: &[DType]) -> Result<Set, Error> {
        let mut results = Vec::new();
        let mut set = Rows::of(elements(tensors));
        for (Named { name, value }, to) in tensors.iter().zip(to) {
            let (from_dtype, to_dtype) = (code("cast", value.dtype())?, code("cast to", *to)?);
            let result = self.unset(*to, value.shape())?;
            let (len, from, to) = (value.len() as u64, value.address(), result.address());
            set.add(value.len(), |first_chunk| CastRow {
                from,
                to,
                len,
                first_chunk,
                from_dtype,
                to_dtype,
            });
            results.push(Named::new(name.clone(), result));
        }
        set.launch(self, CAST_SET, &args![set.chunks.len])?;
        Ok(results)
    }
}

fn type_of(tensor: &Named<Tensor>) -> Result<u32, Error> {
    supported("scale tensors of", &tensor.value)
}

fn elements(tensors: &[Named<Tensor>]) -> u64 {
    tensors.iter().map(|tensor| tensor.value.len() as u64).sum()
}
