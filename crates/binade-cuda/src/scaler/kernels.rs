//! The launches of loss scaling: the scale's, and one for a whole set of gradients.

use super::report::{self, Readers, Report, ReportBaseline};
use crate::{
    CaptureError, Cuda, Error, Found, Gradients, Result, Scale, Tensor,
    chunks::{Rows, flag, supported},
    kernels::{CLIP, FINDINGS, MERGE, SCALE, SCALE_UPDATE, SEEN, UNSCALE},
    launch::{
        Arg, Grid, args, code,
        structs::{FoundBits, LossScaleBits, PARTIAL, ScaleBits, UnscaleRow},
    },
    masters::StepTables,
    memory::Buffer,
};
use binade_core::{DType, SparseGradient, SparseRows};
use binade_gpu::{
    Driver, GroupClip, Kernels, Materialise, OwedBits, ScaledMaster, SparseParts, is_alone,
};
use binade_grad_scaler::{LossScale, MergeRule, Norm};
use std::{any::Any, mem::offset_of, sync::Arc};

impl Kernels for Cuda {
    type StepState = StepTables;
    type Report = Report;
    type Readers = Readers;

    const STEPS_ROWS: bool = true;
    const MEASURES_OWED: bool = true;

    fn run_scale(&self, tensor: &Tensor, scale: &Buffer, inverse: bool) -> Result<Tensor, Error> {
        let result = self.unset(DType::F32, tensor.shape())?;
        let at =
            if inverse { offset_of!(ScaleBits, inverse) } else { offset_of!(ScaleBits, factor) };
        let (dtype, scale) = (code("scale", tensor.dtype())?, scale.address() + at as u64);
        let args = args![tensor, dtype, &result, tensor.len(), scale];
        self.launch(SCALE, Grid::elementwise(tensor.len()), &args)?;
        Ok(result)
    }

    /// Sends a report if one launch covers all found-inf results.
    fn run_update(
        &self,
        scale: &mut Scale,
        found: &[&Found],
        parts: usize,
        rule: &LossScale,
    ) -> Result<(), Error> {
        if found.len() > FINDINGS {
            let why = CaptureError::Findings { found: found.len(), most: FINDINGS };
            self.inner.pool.state.refuse(SCALE_UPDATE, why)?;
        }
        // The report of the last update no longer describes this scale.
        scale.report = None;
        if let Some(original) = &scale.readers.original {
            self.inner.pool.state.replayed(|replay| replay.alive.push(Arc::downgrade(original)));
        }
        let before = scale.bits.address();
        let after = self.place_for(scale)?;
        let to = after.as_ref().map_or(before, Buffer::address);
        // Both are read before the launch: a fault in between, of another thread, is reported twice rather than never.
        let since = ReportBaseline {
            reported: self.inner.faults.reported(),
            replays: self.inner.counters.replays.get(),
        };
        let report = self.launch_update([before, to], found, parts, rule)?;
        if let Some(after) = after {
            // The next values go to another buffer, so that readers of this one keep theirs.
            (scale.bits, scale.readers.shared) = (Arc::new(after), Arc::default());
        }
        // Only a single launch writes a report of all found-inf results.
        if found.len() <= FINDINGS {
            scale.report = Some(Arc::new(Report::send(self, report, found, since)?));
        }
        Ok(())
    }

    fn run_unscale(&self, grads: &Gradients, scale: &Buffer) -> Result<[Buffer; 2], Error> {
        let mut set = Rows::of(grads.elements());
        let numbers = self.names().numbers(grads.present().map(|grad| grad.name));
        for (grad, parameter) in grads.present().zip(numbers) {
            let dtype = supported("unscale gradients of", grad.tensor)?;
            let (values, len) = (grad.tensor.address(), grad.tensor.len() as u64);
            let present = flag(grads, grad.place);
            set.add(grad.tensor.len(), |first_chunk| UnscaleRow {
                values,
                present,
                len,
                first_chunk,
                parameter,
                dtype,
            });
        }
        let found = self.buffer(size_of::<FoundBits>())?;
        let factors = self.buffer(size_of::<OwedBits>())?;
        // A set without elements still gets one block, which writes the found-inf result.
        let blocks = set.chunks.blocks().max(1);
        let partials = self.buffer(blocks as usize * PARTIAL)?;
        let (chunks, done) = (set.chunks, &self.shared_buffers()?.done);
        let args = args![0_u64, chunks.count, chunks.len, scale, &partials, done, &found, &factors];
        set.launch_blocks(self, UNSCALE, blocks, &args)?;
        for (place, rows) in &grads.rows {
            self.place_overflow(&found, self.names().number(&grads.entries[*place].name), rows)?;
        }
        Ok([found, factors])
    }

    fn run_merge(&self, into: &Buffer, from: &Buffer, join: MergeRule) -> Result<(), Error> {
        let all = u32::from(join == MergeRule::All);
        self.launch(MERGE, Grid::one(1), &args![into, into, from, all])
    }

    fn run_materialise(&self, pass: &Materialise<'_, Self>) -> Result<(), Error> {
        self.materialise_all(pass)
    }

    fn run_sum(&self, sum: &Gradients, grads: &Gradients, found: &Buffer) -> Result<(), Error> {
        self.add_all(sum, grads, found)
    }

    /// Launches one thread, which computes the clip factor from numbers on the device.
    fn run_clip(
        &self,
        verdict: &Buffer,
        factors: &Buffer,
        norm: Norm,
        max: f32,
    ) -> Result<(), Error> {
        let norm = u32::from(matches!(norm, Norm::Infinity));
        self.launch(CLIP, Grid::one(1), &args![verdict, verdict, factors, factors, norm, max])
    }

    fn run_group_norms(&self, clip: &GroupClip<'_, Self>) -> Result<(), Error> {
        self.measure_groups(clip)
    }

    fn run_whole(&self, values: &Tensor, rows: &SparseRows<Tensor>) -> Result<Tensor, Error> {
        self.whole_rows(values, rows)
    }

    fn run_rows(&self, whole: &Tensor, rows: &SparseRows<Tensor>) -> Result<Tensor, Error> {
        self.gather_rows(whole, rows)
    }

    fn run_join(
        &self,
        sum: Option<SparseParts<'_, Self>>,
        grad: SparseParts<'_, Self>,
        found: &Buffer,
    ) -> Result<SparseGradient<Tensor>, Error> {
        self.join_sparse(sum, grad, found)
    }

    fn scaled_master(&self, values: &Tensor) -> Result<ScaledMaster<Self>, Error> {
        self.new_scaled_master(values)
    }
}

impl Cuda {
    /// Returns a buffer for the next value while this one is still read; `None` to write in place.
    fn place_for(&self, scale: &Scale) -> Result<Option<Buffer>, Error> {
        if is_alone(&scale.readers.shared) {
            let readers: Arc<dyn Any + Send + Sync> = scale.readers.shared.clone();
            self.inner.pool.state.replayed(|replay| replay.sole.push(Arc::downgrade(&readers)));
            return Ok(None);
        }
        self.inner.pool.state.check_movable(SCALE_UPDATE, scale.bits.memory())?;
        self.buffer(scale.bits.bytes()).map(Some)
    }

    /// Launches as many kernels as the findings need, and returns the last one's report.
    fn launch_update(
        &self,
        [before, after]: [u64; 2],
        found: &[&Found],
        parts: usize,
        rule: &LossScale,
    ) -> Result<Buffer, Error> {
        let rule = LossScaleBits::from(rule);
        let launches = found.len().div_ceil(FINDINGS).max(1);
        let report = self.buffer(report::bytes(found.len().min(FINDINGS)))?;
        // Several launches share a separate word, since another thread's launch may come in between.
        let own = if launches > 1 { Some(self.zeros(SEEN)?) } else { None };
        let seen = own.as_ref().map_or(self.shared_buffers()?.seen.address(), Buffer::address);
        for number in 0..launches {
            let here = found.chunks(FINDINGS).nth(number).unwrap_or_default();
            let addresses = addresses(here);
            let parts = parts.saturating_sub(number * FINDINGS).min(here.len());
            let values = [
                Arg::Bytes(bytemuck::bytes_of(&rule)),
                Arg::Bytes(bytemuck::cast_slice(&addresses)),
            ];
            let is_last = u32::from(number + 1 == launches);
            let (parts, all) = (count(parts), count(here.len()));
            let rest = args![parts, all, seen, is_last, &report, self.inner.faults.address()];
            let args = [&args![before, after][..], &values, &rest].concat();
            self.launch(SCALE_UPDATE, Grid::one(count(FINDINGS)), &args)?;
        }
        Ok(report)
    }
}

fn addresses(found: &[&Found]) -> [u64; FINDINGS] {
    let mut addresses = [0; FINDINGS];
    addresses.iter_mut().zip(found).for_each(|(to, found)| *to = found.bits.address());
    addresses
}

/// Returns the number of found-inf results, at most [`FINDINGS`].
fn count(findings: usize) -> u32 {
    u32::try_from(findings).unwrap_or(u32::MAX)
}
