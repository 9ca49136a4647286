//! The launches of training but for the step's: one for a whole set of gradients.

use super::report::{Readers, Report};
use crate::{
    Cuda, Error, Found, Gradients, Result, Scale, Tensor,
    chunks::{Rows, flag, supported},
    kernels::{ACCUMULATE, ACCUMULATE_MARK, CLIP, MATERIALISE, MERGE, SCALE, THREADS, UNSCALE},
    launch::{
        Grid, args, code,
        structs::{
            AccumulateRow, FoundBits, MaterialiseRow, NO_GROUP, PARTIAL, ScaleBits, UnscaleRow,
        },
    },
    masters::StepTables,
    memory::Buffer,
};
use binade_core::DType;
use binade_gpu::{Driver, GroupClip, Kernels, Materialise, OwedBits, ScaledMaster};
use binade_grad_scaler::{LossScale, MergeRule, Norm};
use std::mem::offset_of;

impl Kernels for Cuda {
    type StepState = StepTables;
    type Report = Report;
    type Readers = Readers;

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

    fn run_update(&self, to: &mut Scale, found: &[&Found], parts: usize, by: &LossScale) -> Result {
        self.updated(to, found, parts, by)
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
        let owed = self.buffer(size_of::<OwedBits>())?;
        // A set without elements is looked at by one block, which has the finding to write.
        let blocks = set.chunks.blocks().max(1);
        let partials = self.buffer(blocks as usize * PARTIAL)?;
        let (chunks, done) = (set.chunks, &self.shared_buffers()?.done);
        let args = args![0_u64, chunks.count, chunks.len, scale, &partials, done, &found, &owed];
        set.launch_blocks(self, UNSCALE, blocks, &args)?;
        Ok([found, owed])
    }

    fn run_merge(&self, into: &Buffer, from: &Buffer, join: MergeRule) -> Result<(), Error> {
        let all = u32::from(join == MergeRule::All);
        self.launch(MERGE, Grid::one(1), &args![into, into, from, all])
    }

    fn run_materialise(&self, pass: &Materialise<'_, Self>) -> Result<(), Error> {
        let mut set = Rows::of(pass.grads.elements());
        for (grad, result, group) in pass.entries() {
            let dtype = supported("materialise gradients of", grad.tensor)?;
            let (values, len) = (grad.tensor.address(), grad.tensor.len() as u64);
            let (result, present) = (result.address(), flag(pass.grads, grad.place));
            let group = group.unwrap_or(NO_GROUP);
            set.add(grad.tensor.len(), |first_chunk| MaterialiseRow {
                values,
                result,
                present,
                len,
                first_chunk,
                dtype,
                group,
            });
        }
        let owed = pass.grads.pending_factors(self)?;
        set.launch(self, MATERIALISE, &args![set.chunks.len, owed, pass.factors, pass.limit])
    }

    /// Launches one kernel that adds, and one that marks the sums that have begun.
    fn run_sum(&self, sum: &Gradients, grads: &Gradients, found: &Buffer) -> Result<(), Error> {
        let mut set = Rows::of(grads.elements());
        for grad in grads.present() {
            let total = sum.entries.get(grad.place).and_then(|entry| entry.value.as_ref());
            let row = AccumulateRow {
                sum: total.map_or(0, Tensor::address),
                values: grad.tensor.address(),
                present: flag(sum, grad.place),
                also: flag(grads, grad.place),
                len: grad.tensor.len() as u64,
                first_chunk: 0,
                dtype: supported("add gradients of", grad.tensor)?,
                pad: 0,
            };
            set.add(grad.tensor.len(), |first_chunk| AccumulateRow { first_chunk, ..row });
        }
        let Ok(count @ 1..) = u32::try_from(set.rows.len()) else { return Ok(()) };
        let owed = grads.pending_factors(self)?;
        set.launch(self, ACCUMULATE, &args![set.chunks.len, found, owed])?;
        set.launch_blocks(self, ACCUMULATE_MARK, count.div_ceil(THREADS), &args![found])
    }

    /// Launches one thread, which computes the clip factor from numbers on the device.
    fn run_clip(&self, verdict: &Buffer, owed: &Buffer, norm: Norm, max: f32) -> Result<(), Error> {
        let norm = u32::from(matches!(norm, Norm::Infinity));
        self.launch(CLIP, Grid::one(1), &args![verdict, verdict, owed, owed, norm, max])
    }

    fn run_group_norms(&self, clip: &GroupClip<'_, Self>) -> Result<(), Error> {
        self.measure_groups(clip)
    }

    fn scaled_master(&self, values: &Tensor) -> Result<ScaledMaster<Self>, Error> {
        self.new_scaled_master(values)
    }
}
