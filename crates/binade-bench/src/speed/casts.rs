//! Benchmark of casts. The output goes to memory that the last rounds did not write.

use super::{
    Result, Work, data,
    row::{Computed, Kind, What},
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_cuda::{Cuda, Tensor};

/// Bytes of the kernel's table for each of several tensors.
const ROW: usize = 40;

pub(crate) struct Cast {
    cuda: Cuda,
    to: DType,
    sets: Vec<Vec<Tensor>>,
}

impl Cast {
    /// Casts each of `inputs` in turn, cut into `tensors`.
    pub(crate) fn new(cuda: &Cuda, inputs: &[Tensor], tensors: usize, to: DType) -> Result<Self> {
        let sets = inputs.iter().map(|input| data::cut(input, tensors));
        Ok(Self::over(cuda, sets.collect::<Result<_>>()?, to))
    }

    /// Casts each of these sets in turn.
    pub(crate) fn over(cuda: &Cuda, sets: Vec<Vec<Tensor>>, to: DType) -> Self {
        Self { cuda: cuda.clone(), to, sets }
    }

    pub(crate) fn what(&self) -> What {
        let first = self.sets.first().map(Vec::as_slice).unwrap_or_default();
        let elements: usize = first.iter().map(Tensor::len).sum();
        let from = first.first().map_or(self.to, Tensor::dtype);
        let bytes = elements * (from.bytes() + self.to.bytes());
        let table = if first.len() > 1 { first.len() * ROW } else { 0 };
        What {
            group: "cast",
            name: format!("{from} to {}", self.to),
            kind: Kind::Copy,
            dtype: from.to_string(),
            elements,
            tensors: first.len(),
            bytes,
            bytes_moved: bytes + table,
            computed: Computed::default(),
        }
    }
}

impl Work for Cast {
    type Input = usize;
    type Output = Vec<Tensor>;

    fn prepare(&mut self, round: usize) -> Result<usize> {
        Ok(round % self.sets.len())
    }

    fn run(&mut self, place: usize) -> Result<Vec<Tensor>> {
        match self.sets[place].as_slice() {
            [one] => Ok(vec![self.cuda.cast(one, self.to)?]),
            many => Ok(self.cuda.cast_all(many, self.to)?),
        }
    }

    fn turns(&self) -> usize {
        self.sets.len()
    }
}
