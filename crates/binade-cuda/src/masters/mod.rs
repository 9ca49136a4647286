//! Master weights on the device: the fused step, predicated there.

mod lost;
mod rows_by_rule;
mod rule_table;
mod rules;
mod scaled;
mod step;

use crate::{Cuda, Error, launch::structs::CONSTANTS, memory::Buffer};
use binade_gpu::{Driver, Step, StepState};
use binade_master_weights::{HostMasters, LostUpdates, OptimizerConfig};
use lost::LostCounts;
use rule_table::count;
use rules::Rules;
use step::StepBatch;

/// Tables that a step's kernels read and write.
#[derive(Debug)]
pub struct StepTables {
    rules: Rules,
    /// The constants of each parameter's next step.
    constants: Buffer,
    lost: LostCounts,
}

impl StepState<Cuda> for StepTables {
    const COUNT_BYTES: usize = 8;

    fn new(cuda: &Cuda, parameters: usize, counts_lost: bool) -> Result<Self, Error> {
        let constants = cuda.buffer(CONSTANTS * parameters)?;
        let lost = LostCounts::new(cuda, parameters, counts_lost)?;
        Ok(Self { rules: Rules::default(), constants, lost })
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
        let lost = self.lost.next(cuda, parameters, counts_lost)?;
        if parameters > before {
            // Made anew in every step: who gets the memory of the old ones comes behind those that read them.
            self.constants = cuda.buffer(CONSTANTS * parameters)?;
        }
        self.lost = lost;
        self.rules.listed.clear();
        Ok(())
    }

    fn plan_changed(&mut self, cuda: &Cuda, kept: &HostMasters) -> Result<(), Error> {
        // A captured step reads it at each replay.
        self.rules.write_fixed(cuda, kept)
    }

    fn step(&mut self, cuda: &Cuda, mut step: Step<'_, Cuda>) -> Result<(), Error> {
        count(cuda, step.attempts);
        self.rules.fix(cuda, step.kept)?;
        step.own_parameters(cuda)?;
        StepBatch::of(&step, &mut self.rules)?.run(cuda, self, &step)
    }

    fn read_lost(&self, cuda: &Cuda, _: &Buffer) -> Result<Vec<LostUpdates>, Error> {
        self.lost.read(cuda)
    }
}
