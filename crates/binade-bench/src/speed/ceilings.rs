//! Benchmark of ceilings, the device's best: a copy, a read, a rewrite, and an empty launch.

use super::{
    Result, Work,
    row::{Computed, Kind, What},
};
use binade_cuda::{Cuda, Tensor};

/// Ceiling of one kind, over inputs that take turns.
pub(crate) struct Ceiling {
    cuda: Cuda,
    kind: Kind,
    inputs: Vec<Tensor>,
}

impl Ceiling {
    pub(crate) fn new(cuda: &Cuda, kind: Kind, inputs: &[Tensor]) -> Self {
        Self { cuda: cuda.clone(), kind, inputs: inputs.to_vec() }
    }

    /// Describes the work on `elements` of `f32`.
    pub(crate) fn what(&self, elements: usize) -> What {
        let (group, name, passes) = match self.kind {
            Kind::Copy => ("copy", "copy by the driver", 2),
            Kind::Read => ("copy", "read", 1),
            Kind::InPlace => ("copy", "rewrite in place", 2),
            Kind::Nothing | Kind::Computed => ("launch", "an empty kernel", 0),
        };
        let bytes = passes * 4 * elements;
        What {
            group,
            name: name.to_owned(),
            kind: self.kind,
            dtype: "f32".to_owned(),
            elements,
            tensors: usize::from(passes > 0),
            bytes,
            bytes_moved: bytes,
            computed: Computed::default(),
        }
    }
}

impl Work for Ceiling {
    type Input = usize;
    type Output = Option<Tensor>;

    fn prepare(&mut self, round: usize) -> Result<usize> {
        Ok(round % self.inputs.len().max(1))
    }

    fn run(&mut self, place: usize) -> Result<Option<Tensor>> {
        let Some(input) = self.inputs.get_mut(place) else {
            self.cuda.launch_nothing()?;
            return Ok(None);
        };
        match self.kind {
            Kind::Copy => return Ok(Some(self.cuda.duplicate(input)?)),
            Kind::Read => self.cuda.read_through(input)?,
            Kind::InPlace => self.cuda.rewrite(input)?,
            Kind::Nothing | Kind::Computed => self.cuda.launch_nothing()?,
        }
        Ok(None)
    }

    fn turns(&self) -> usize {
        self.inputs.len().max(1)
    }
}
