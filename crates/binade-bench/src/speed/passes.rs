//! Benchmark of the read-only pass over a set of gradients, which checks, unscales and computes the norm in one.

use super::{
    Result, Work, data,
    row::{Computed, Kind, What},
};
use binade_core::DType;
use binade_cuda::{Cuda, Found, Gradients, Scale, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState, ScaleStore};

/// Bytes of a block's partial result, written and read, and below it of a row of the kernel's table.
const PARTIAL: usize = 2 * 40;
const ROW: usize = 40;

pub(crate) struct Pass {
    cuda: Cuda,
    scale: Scale,
    sets: Vec<Gradients>,
    dtype: DType,
    tensors: usize,
}

impl Pass {
    /// Passes over each of `inputs` in turn, cut into `tensors`.
    pub(crate) fn new(cuda: &Cuda, inputs: &[Tensor], tensors: usize) -> Result<Self> {
        let sets = inputs.iter().map(|input| Ok(data::gradients(data::cut(input, tensors)?)));
        let sets = sets.collect::<Result<Vec<_>>>()?;
        let scale = cuda.upload_state(ScaleState::from_exponent(16))?;
        let first = sets.first().ok_or("no gradients")?;
        let (dtype, tensors) = (dtype(first)?, first.as_stored().len());
        Ok(Self { cuda: cuda.clone(), scale, sets, dtype, tensors })
    }

    pub(crate) fn what(&self) -> What {
        let elements = self.sets.first().map_or(0, elements);
        let bytes = elements * self.dtype.bytes();
        What {
            group: "unscale",
            name: "check and unscale".to_owned(),
            kind: Kind::Read,
            dtype: self.dtype.to_string(),
            elements,
            tensors: self.tensors,
            bytes,
            bytes_moved: bytes + overhead(elements, self.tensors),
            computed: Computed::default(),
        }
    }
}

/// Returns the bytes that the pass moves beside the gradients.
pub(crate) fn overhead(elements: usize, tensors: usize) -> usize {
    chunks(elements, tensors) * PARTIAL + tensors * ROW
}

/// Returns the number of chunks into which `binade-cuda` cuts a set of tensors of one length. There are at most 4,096 and one for
/// each tensor's end; none is shorter than 4,096 elements.
pub(crate) fn chunks(elements: usize, tensors: usize) -> usize {
    let chunk = elements.div_ceil(4096).next_power_of_two().max(4096);
    tensors * (elements / tensors.max(1)).div_ceil(chunk)
}

pub(crate) fn elements(set: &Gradients) -> usize {
    set.as_stored().iter().filter_map(|entry| entry.value.as_ref()).map(Tensor::len).sum()
}

pub(crate) fn dtype(set: &Gradients) -> Result<DType> {
    let first = set.as_stored().iter().find_map(|entry| entry.value.as_ref());
    Ok(first.ok_or("no gradients")?.dtype())
}

impl Work for Pass {
    type Input = Gradients;
    type Output = (Gradients, Found);

    fn prepare(&mut self, round: usize) -> Result<Gradients> {
        Ok(self.sets[round % self.sets.len()].clone())
    }

    fn run(&mut self, mut set: Gradients) -> Result<(Gradients, Found)> {
        let found = self.cuda.unscale(&mut set, &self.scale)?;
        Ok((set, found))
    }

    fn turns(&self) -> usize {
        self.sets.len()
    }
}
