//! Clipping a set by its norm.

use crate::{
    Cuda, Error,
    kernels::CLIP,
    launch::{Arg, Grid},
    memory::Buffer,
};
use binade_grad_scaler::Norm;

impl Cuda {
    /// One thread, which only the device's numbers tell what to do.
    pub(crate) fn run_clip(
        &self,
        verdict: &Buffer,
        owed: &Buffer,
        norm: Norm,
        max: f32,
    ) -> Result<(), Error> {
        let [verdict, owed] = [verdict, owed].map(|buffer| Arg::Address(buffer.address()));
        let norm = Arg::U32(u32::from(norm == Norm::Infinity));
        self.launch(&CLIP, Grid::one(1), &[verdict, verdict, owed, owed, norm, Arg::F32(max)])
    }
}
