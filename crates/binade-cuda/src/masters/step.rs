//! The launches of a step: constants for all parameters that move, norms where rules need them, then one fused step for each kind of
//! rule.

use super::{
    lost::{lost_counts, read_lost},
    measure::{StepArgs, norm_of, partials_of},
    rows::CopiedRows,
    rules::CudaRules,
    scaled::OpenedMasters,
};
use crate::{
    Cuda, Error, Tensor,
    chunks::{Rows, RowsByKernel, flag, supported},
    kernels::{PREPARE, THREADS},
    launch::{
        Grid, args,
        structs::{CONSTANTS, ClipRow, MoveRow, ScaledRow, StepRow},
    },
    memory::Buffer,
};
use binade_gpu::{Driver, MasterState, Step, StepParam, StepState};
use binade_master_weights::{HostMasters, LostUpdates, OptimizerConfig};
use bytemuck::Zeroable;
use std::sync::{Arc, atomic::Ordering};

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
            // Made anew in every step: later users of the old tables' memory come after the kernels that read it, in stream order.
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

    fn step(&mut self, cuda: &Cuda, step: Step<'_, Cuda>) -> Result<(), Error> {
        let recorder = &cuda.inner.pool.state;
        // A step that is captured is counted when it is replayed.
        if recorder.replayed(|replay| replay.counts.push(step.attempts.clone())).is_none() {
            step.attempts.fetch_add(1, Ordering::Relaxed);
        }
        self.rules.fix(cuda, step.kept)?;
        StepBatch::of(cuda, &step, &mut self.rules)?.run(cuda, self, &step)
    }

    fn read_lost(
        &self,
        cuda: &Cuda,
        _: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<LostUpdates>, Error> {
        self.lost.as_ref().map_or(Ok(Vec::new()), |counts| read_lost(cuda, counts))
    }
}

/// `Store` of `step.cuh`: random rounding, by the count of applied steps.
const STOCHASTIC: u32 = 3;

/// Parameters that a step moves.
pub(super) struct StepBatch {
    elements: u64,
    all: Vec<MoveRow>,
    plain: RowsByKernel<StepRow>,
    /// Parameters whose masters are opened for the step, and counted when they are packed.
    scaled: RowsByKernel<StepRow>,
    opened: Option<OpenedMasters>,
    /// All gradients, where a rule clips by their norm.
    clipped: Option<Rows<ClipRow>>,
    sparse: Vec<CopiedRows>,
}

impl StepBatch {
    /// Lists the parameters that a step moves.
    pub(super) fn of(
        cuda: &Cuda,
        step: &Step<'_, Cuda>,
        rules: &mut CudaRules,
    ) -> Result<Self, Error> {
        let elements = step.moving().map(|moving| moving.grad.len() as u64).sum();
        let [plain, scaled] = [RowsByKernel::of(elements), RowsByKernel::of(elements)];
        let clipped = step.clips().then(|| Rows::of(elements));
        let (all, sparse) = (Vec::new(), Vec::new());
        let mut moves = Self { elements, all, plain, scaled, opened: None, clipped, sparse };
        step.moving().try_for_each(|moving| moves.add(cuda, step, rules, moving))?;
        Ok(moves)
    }

    /// Adds a parameter with its gradient.
    fn add(
        &mut self,
        cuda: &Cuda,
        step: &Step<'_, Cuda>,
        rules: &mut CudaRules,
        StepParam { param, state: slot, rule, grad, place, rows }: StepParam<'_, Cuda>,
    ) -> Result<(), Error> {
        let mut copied = rows.map(CopiedRows::of);
        let mut address = |tensor: &Tensor| match &mut copied {
            None => Ok(tensor.address()),
            Some(copied) => copied.address(cuda, tensor),
        };
        let parameter = address(param)?;
        let mut moments = [0; 3];
        for (to, from) in moments.iter_mut().zip(&slot.moments) {
            *to = from.as_ref().map_or(Ok(0), &mut address)?;
        }
        let present = flag(step.grads, place);
        let number = rules.number(rule, slot.number);
        self.all.push(MoveRow { present, slot: slot.number, rule: number });
        let gradient_dtype = supported("step with gradients of", grad)?;
        let parameter_dtype = supported("train parameters of", param)?;
        let (store, seed) = slot.master.code(param.dtype());
        let (by_rule, beside) = match &slot.master {
            MasterState::Scaled(scaled) => {
                let row = ScaledRow { present, slot: slot.number, ..ScaledRow::zeroed() };
                let counts_lost = step.kept.lost_updates().is_some();
                let new = || OpenedMasters::of(self.elements, counts_lost);
                (&mut self.scaled, self.opened.get_or_insert_with(new).add(scaled, row))
            }
            MasterState::Stochastic { .. } if store == STOCHASTIC => {
                (&mut self.plain, step.counts.address() + 8 * u64::from(slot.number))
            }
            master => (&mut self.plain, master.tensor().map_or(Ok(0), &mut address)?),
        };
        if let Some(norm) = &slot.norm {
            moments[2] = norm.address();
        }
        if let Some(clipped) = &mut self.clipped {
            clipped.add_gradient(grad, present, gradient_dtype);
        }
        by_rule.get(rule.kernel()).add(grad.len(), |first_chunk| StepRow {
            gradient: grad.address(),
            parameter,
            beside,
            moments,
            present,
            len: grad.len() as u64,
            first_chunk,
            seed,
            slot: slot.number,
            gradient_dtype,
            parameter_dtype,
            store,
            bf16_moments: slot.bf16_moments(),
            pad: 0,
        });
        self.sparse.extend(copied);
        Ok(())
    }

    /// Puts the step in the stream.
    pub(super) fn run(
        self,
        cuda: &Cuda,
        tables: &mut StepTables,
        step: &Step<'_, Cuda>,
    ) -> Result<(), Error> {
        let Ok(count @ 1..) = u32::try_from(self.all.len()) else { return Ok(()) };
        let rules = tables.rules.table(cuda, step.attempts.load(Ordering::Relaxed))?;
        let moves = cuda.table(&self.all)?;
        let (constants, lost) = (&tables.constants, tables.lost.as_deref());
        let (found, factors) = (&*step.found.bits, step.grads.pending_factors(cuda)?);
        // Before the counts move: memory may be short.
        let norm = self
            .clipped
            .as_ref()
            .map(|grads| norm_of(cuda, grads, [factors, found]))
            .transpose()?;
        let partials = partials_of(cuda, [&self.plain, &self.scaled])?;
        let args = args![&*moves, count, &*rules, found, step.counts, constants, lost];
        let grid = Grid { blocks: count.div_ceil(THREADS), threads: THREADS };
        cuda.launch(PREPARE, grid, &args)?;
        let (norm, partials) = (norm.as_ref(), partials.as_ref());
        let args = StepArgs { constants, found, factors, lost, norm, partials };
        args.launch(cuda, &self.plain)?;
        for copied in &self.sparse {
            copied.put_back(cuda, found)?;
        }
        let (Some(mut opened), mut scaled) = (self.opened, self.scaled) else { return Ok(()) };
        let wide = opened.open(cuda, found)?;
        // Rows have offsets until the copies have an address.
        scaled.rows_mut().for_each(|row| row.beside += wide.address());
        args.launch(cuda, &scaled)?;
        opened.pack(cuda, args![found, lost])
    }
}
