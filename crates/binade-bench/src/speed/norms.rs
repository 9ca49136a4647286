//! Benchmark of the norm of a set by a pass of its own.

use super::{
    Result, Work, data, passes,
    row::{Computed, Kind, What},
};
use binade_core::DType;
use binade_cuda::{Cuda, Tensor};

/// Bytes of a block's partial sum, written and read, and below it of a row of the kernel's table.
const PARTIAL: usize = 2 * 8;
const ROW: usize = 32;

pub(crate) struct L2Norm {
    cuda: Cuda,
    sets: Vec<Vec<Tensor>>,
}

impl L2Norm {
    /// Computes the norm of each of `inputs` in turn, cut into `tensors`.
    pub(crate) fn new(cuda: &Cuda, inputs: &[Tensor], tensors: usize) -> Result<Self> {
        let sets = inputs.iter().map(|input| data::cut(input, tensors));
        Ok(Self::over(cuda, sets.collect::<Result<_>>()?))
    }

    /// Computes the norm of each of these sets in turn.
    pub(crate) fn over(cuda: &Cuda, sets: Vec<Vec<Tensor>>) -> Self {
        Self { cuda: cuda.clone(), sets }
    }

    pub(crate) fn what(&self) -> What {
        let first = self.sets.first().map(Vec::as_slice).unwrap_or_default();
        let (elements, tensors) = (first.iter().map(Tensor::len).sum(), first.len());
        let dtype = first.first().map_or(DType::F32, Tensor::dtype);
        let bytes = elements * dtype.bytes();
        What {
            group: "norm",
            name: "L2 norm".to_owned(),
            kind: Kind::Read,
            dtype: dtype.to_string(),
            elements,
            tensors,
            bytes,
            bytes_moved: bytes + passes::chunks(elements, tensors) * PARTIAL + tensors * ROW,
            computed: Computed::default(),
        }
    }
}

impl Work for L2Norm {
    type Input = usize;
    type Output = Tensor;

    fn prepare(&mut self, round: usize) -> Result<usize> {
        Ok(round % self.sets.len())
    }

    fn run(&mut self, place: usize) -> Result<Tensor> {
        Ok(self.cuda.l2_norm(&self.sets[place])?)
    }

    fn turns(&self) -> usize {
        self.sets.len()
    }
}
