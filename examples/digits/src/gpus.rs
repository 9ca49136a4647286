//! One run on ranks that are GPUs of NVIDIA's, each driven by a thread: gradients go from GPU to GPU.

use crate::Result;
use crate::args::Args;
use crate::config::Setting;
use crate::data::Digits;
use crate::record::Run;
use crate::train;
use binade_cuda::{Communicator, Cuda, CudaRank, cudarc::driver::CudaContext};
use binade_example_shared::program::{PATIENCE, Part, each};
use indicatif::ProgressBar;

/// Trains and tests `setting` on `ranks` ranks, each with one part of every batch, and returns the figures of rank 0. Where there are fewer
/// GPUs, some are several ranks.
///
/// # Errors
///
/// If there is no GPU; if a rank fails, with the errors of all that did; if ranks end with different weights.
pub fn run(
    ranks: usize,
    args: &Args,
    setting: Setting,
    digits: &Digits,
    bar: &ProgressBar,
) -> Result<Run> {
    let gpus = usize::try_from(CudaContext::device_count()?)?.max(1);
    let devices = (0..ranks).map(|rank| Cuda::open(rank % gpus)).collect::<Result<_, _>>()?;
    let one = |communicator: Communicator, bar: &ProgressBar| -> Result<Run> {
        let part = Part::one_of([communicator.rank(), ranks]);
        train::part(&CudaRank::new(communicator)?, part, None, args, setting, digits, bar)
    };
    let runs = each(Communicator::peers(devices, PATIENCE), bar, one)?;
    if runs.iter().any(|run| run.weights != runs[0].weights) {
        return Err("ranks end with different weights".into());
    }
    runs.into_iter().next().ok_or_else(|| "no rank ran".into())
}
