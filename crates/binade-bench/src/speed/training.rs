//! Benchmark of a whole training step of an MLP.

use super::{
    Result,
    row::{Kind, What},
    work::Work,
};
use crate::{mlp::Mlp, training::Training};
use binade_cuda::{Cuda, Tensor};

impl Work for Training<Cuda> {
    type Input = ();
    /// Loss before the step.
    type Output = Tensor;

    fn what(&self) -> What {
        let (mlp @ Mlp { widths, batch }, (level, dtype)) = (self.mlp, self.setting);
        let layers = widths.len() - 1;
        let name = format!("{level}, {layers}x{} batch {batch}", widths[0]);
        let of = (dtype, mlp.elements(), 2 * layers);
        let what = What::moving("mlp", &name, Kind::Computed, of, [0, 0]);
        What { flops: mlp.flops(), samples: batch as u64, ..what }
    }

    fn prepare(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, (): ()) -> Result<Tensor> {
        self.step()
    }
}
