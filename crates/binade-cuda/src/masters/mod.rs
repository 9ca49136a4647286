//! Master weights on the device: the fused step, predicated there.

mod rules;
mod scaled;
mod step;

use crate::{
    Cuda, Error,
    launch::structs::{CONSTANTS, LostBits},
    memory::Buffer,
};
use binade_gpu::{Driver, Step, StepState};
use binade_master_weights::{HostMasters, LostUpdates, OptimizerConfig};
use rules::CudaRules;
use std::sync::{Arc, atomic::Ordering};
use step::StepBatch;

/// Tables that a step's kernels read and write.
#[derive(Debug)]
pub struct StepTables {
    rules: CudaRules,
    /// The constants of each parameter's next step.
    constants: Buffer,
    /// `LostCount` of each parameter's last step, where lost updates are counted.
    lost: Option<Arc<Buffer>>,
}

impl StepState<Cuda> for StepTables {
    const COUNT_BYTES: usize = 8;

    fn new(cuda: &Cuda, parameters: usize, counts_lost: bool) -> Result<Self, Error> {
        let constants = cuda.buffer(CONSTANTS * parameters)?;
        let lost = lost_counts(cuda, None, parameters, counts_lost)?;
        Ok(Self { rules: CudaRules::default(), constants, lost })
    }

    fn admits(
        &mut self,
        cuda: &Cuda,
        kept: &HostMasters,
        config: &OptimizerConfig,
        joining: &[&str],
    ) -> Result<(), Error> {
        self.rules.admits(cuda, kept, config, joining)
    }

    fn change(
        &mut self,
        cuda: &Cuda,
        _: &Buffer,
        [before, parameters]: [usize; 2],
        counts_lost: bool,
    ) -> Result<(), Error> {
        let lost = lost_counts(cuda, self.lost.as_ref(), parameters, counts_lost)?;
        if parameters > before {
            // Made anew in every step: who gets the memory of the old ones comes behind those that read them.
            self.constants = cuda.buffer(CONSTANTS * parameters)?;
        }
        self.lost = lost;
        self.rules.in_force.listed.clear();
        Ok(())
    }

    fn plan_changed(&mut self, cuda: &Cuda, kept: &HostMasters) -> Result<(), Error> {
        // A captured step reads it at each replay.
        self.rules.write_fixed(cuda, kept)
    }

    fn step(&mut self, cuda: &Cuda, mut step: Step<'_, Cuda>) -> Result<(), Error> {
        let recorder = &cuda.inner.pool.state;
        // A step that is captured is counted when it is replayed.
        if recorder.replayed(|replay| replay.counts.push(step.attempts.clone())).is_none() {
            step.attempts.fetch_add(1, Ordering::Relaxed);
        }
        self.rules.fix(cuda, step.kept)?;
        step.own_parameters(cuda)?;
        StepBatch::of(&step, &mut self.rules)?.run(cuda, self, &step)
    }

    fn read_lost(
        &self,
        cuda: &Cuda,
        _: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<LostUpdates>, Error> {
        let Some(counts) = &self.lost else { return Ok(Vec::new()) };
        let bytes = cuda.read_bytes(counts, 0..counts.bytes())?;
        let counts = bytes.chunks_exact(size_of::<LostBits>()).map(|row| {
            let LostBits { lost, moved } = bytemuck::pod_read_unaligned(row);
            LostUpdates { lost, moved }
        });
        Ok(counts.collect())
    }
}

/// Returns room for the lost updates of so many parameters, if they are counted: the counts so far, and zeros behind them.
fn lost_counts(
    cuda: &Cuda,
    before: Option<&Arc<Buffer>>,
    parameters: usize,
    counted: bool,
) -> Result<Option<Arc<Buffer>>, Error> {
    let bytes = size_of::<LostBits>() * parameters;
    match before {
        _ if !counted => Ok(None),
        Some(counts) if counts.bytes() >= bytes => Ok(Some(counts.clone())),
        Some(counts) => Ok(Some(Arc::new(cuda.grown(counts, bytes)?))),
        None => Ok(Some(Arc::new(cuda.zeros(bytes)?))),
    }
}
