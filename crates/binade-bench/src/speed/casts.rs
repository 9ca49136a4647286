//! Casts, each to memory that the last ones did not write to.

use super::{
    Result, Work, data,
    row::{Kind, What},
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_cuda::{Cuda, Tensor};

pub(crate) struct Cast {
    cuda: Cuda,
    to: DType,
    sets: Vec<Vec<Tensor>>,
}

impl Cast {
    /// Of each of `inputs` in turn, cut into `tensors`.
    pub(crate) fn new(cuda: &Cuda, inputs: &[Tensor], tensors: usize, to: DType) -> Result<Self> {
        let sets = inputs.iter().map(|input| data::cut(input, tensors));
        Ok(Self { cuda: cuda.clone(), to, sets: sets.collect::<Result<_>>()? })
    }

    pub(crate) fn what(&self) -> What {
        let first = self.sets.first().map(Vec::as_slice).unwrap_or_default();
        let elements: usize = first.iter().map(Tensor::len).sum();
        let from = first.first().map_or(self.to, Tensor::dtype);
        let bytes = elements * (from.bytes() + self.to.bytes());
        What {
            group: "cast",
            name: format!("{from} to {}", self.to),
            kind: Kind::Copy,
            dtype: from.to_string(),
            elements,
            tensors: first.len(),
            bytes,
            bytes_moved: bytes,
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
        self.sets[place].iter().map(|tensor| Ok(self.cuda.cast(tensor, self.to)?)).collect()
    }

    fn turns(&self) -> usize {
        self.sets.len()
    }
}
