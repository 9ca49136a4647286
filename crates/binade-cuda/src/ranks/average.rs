//! The average of all ranks' gradients. Each rank packs its own gradients, receives the others' values of its slice, averages the slice and sends it
//! to all.

use super::{
    CudaRank,
    communicator::Move,
    count,
    device::hash,
    layout::{Layout, Run},
    meeting::{Call, Statement},
};
use crate::{
    Error, Found, Gradients, Scale, Tensor,
    chunks::{Rows, supported},
    kernels::{AVERAGE, PACK, RANK_PRESENCE},
    launch::{
        Grid, args, code,
        structs::{FoundBits, PARTIAL, PackRow},
    },
    memory::Buffer,
};
use binade_core::Named;
use binade_gpu::{Driver, OwedBits};
use binade_grad_scaler::GradScaler;
use std::{ops::Range, sync::Arc};

/// Bytes between the slices of two ranks are a multiple of this.
const APART: usize = 256;

impl CudaRank {
    /// Returns the average of all ranks' gradients, unscaled, and the found-inf results of all.
    pub(super) fn average(
        &self,
        own: &Gradients,
        scale: &Scale,
    ) -> Result<(Gradients, Found), Error> {
        let cuda = self.cuda();
        let model = self.model(own)?;
        let (layout, is_whole) = (&model.layout, model.is_whole(own));
        // A missing gradient counts as zero. Elements between gradients are sent too, and must be something.
        let packed = if layout.has_gaps() || !is_whole {
            cuda.zeros(layout.bytes())
        } else {
            cuda.buffer(layout.bytes())
        }?;
        let found = self.pack(own, layout, &packed, scale)?;
        let numbers = cuda.names().numbers(own.entries.iter().map(|entry| &entry.name));
        let numbers = cuda.table(&numbers)?;
        let (scale_bits, numbers) = (&*scale.bits, Some(&*numbers));
        let (call, model) = (Call::Unscale, model.hash);
        let statement = Statement { call, model, scale: scale_bits, found: &found, numbers };
        let joint = self.meet(&statement)?;
        let flags: Vec<u32> = own.entries.iter().map(|it| u32::from(it.value.is_some())).collect();
        let (averages, [any, every]) = self.exchange(layout, &packed, &flags)?;
        let mut set = Gradients::from(layout.entries(own, &Arc::new(averages)));
        // A rank without a gradient does not know if another rank has it.
        set.present = Some(Arc::new(any)).filter(|_| !is_whole);
        // Finite gradients have a finite average: this pass finds nothing, and measures.
        let found = cuda.unscale(&mut set, scale)?;
        let found = found.joint(joint, Some((&set, Arc::new(every))));
        Ok((set, found))
    }

    /// Copies each gradient into the vector, in its own type, and checks it on the way. The found-inf result names parameters by place.
    fn pack(
        &self,
        own: &Gradients,
        layout: &Layout,
        packed: &Buffer,
        scale: &Scale,
    ) -> Result<Buffer, Error> {
        let cuda = self.cuda();
        let mut set = Rows::of(own.elements());
        for grad in own.present() {
            let dtype = supported("average gradients of", grad.tensor)?;
            let (values, len) = (grad.tensor.address(), grad.tensor.len() as u64);
            let start = layout.starts.get(grad.place).copied().unwrap_or_default();
            let to = packed.address() + layout.byte_of(start) as u64;
            let parameter = count(grad.place);
            let row = |first_chunk| PackRow { values, to, len, first_chunk, parameter, dtype };
            set.add(grad.tensor.len(), row);
        }
        let found = cuda.buffer(size_of::<FoundBits>())?;
        let owed = cuda.buffer(size_of::<OwedBits>())?;
        // A set without elements still gets one block, which writes the found-inf result.
        let blocks = set.chunks.blocks().max(1);
        let partials = cuda.buffer(blocks as usize * PARTIAL)?;
        let (chunks, done) = (set.chunks, &cuda.shared_buffers()?.done);
        let args = args![chunks.count, chunks.len, &*scale.bits, &partials, done, &found, &owed];
        set.launch_blocks(cuda, PACK, blocks, &args)?;
        Ok(found)
    }

    /// Returns the averages of all ranks' vectors, and flags of the gradients that any rank has, and that every rank has; `flags` are those of
    /// this rank.
    fn exchange(
        &self,
        layout: &Layout,
        packed: &Buffer,
        flags: &[u32],
    ) -> Result<(Buffer, [Buffer; 2]), Error> {
        let (cuda, communicator) = (self.cuda(), self.communicator());
        let (rank, ranks) = (communicator.rank(), communicator.ranks());
        let bytes = |place: usize| {
            let slice = layout.slice(place, ranks);
            layout.byte_of(slice.start)..layout.byte_of(slice.end)
        };
        let own = bytes(rank).len();
        let stride = own.next_multiple_of(APART);
        let others = cuda.buffer(stride * (ranks - 1))?;
        let each = 4 * layout.each(ranks);
        let averages = cuda.buffer(each * ranks)?;
        let mut moves = Vec::new();
        for (number, other) in (0..ranks).filter(|other| *other != rank).enumerate() {
            let theirs = bytes(other);
            if !theirs.is_empty() {
                let at = packed.address() + theirs.start as u64;
                moves.push(Move::Send { at, bytes: theirs.len(), to: other });
            }
            if own > 0 {
                let at = others.address() + (number * stride) as u64;
                moves.push(Move::Receive { at, bytes: own, from: other });
            }
        }
        self.kept(communicator.run("send", &moves))?;
        let slice = layout.slice(rank, ranks);
        let vectors = [packed.address(), averages.address()];
        self.average_slice(layout, slice, vectors, (&others, stride))?;
        let sent = cuda.table(flags)?;
        let all = cuda.buffer(sent.bytes() * ranks)?;
        let own = averages.address() + (each * rank) as u64;
        let gathers = [
            Move::AllGather { own, at: averages.address(), bytes: each },
            Move::AllGather { own: sent.address(), at: all.address(), bytes: sent.bytes() },
        ];
        let is_some = |gather: &Move| matches!(gather, Move::AllGather { bytes: 1.., .. });
        let gathers: Vec<Move> = gathers.into_iter().filter(is_some).collect();
        self.kept(communicator.run("all_gather", &gathers))?;
        let [any, every] = [cuda.buffer(sent.bytes())?, cuda.buffer(sent.bytes())?];
        let args = args![&all, count(ranks), count(flags.len()), &any, &every];
        cuda.launch(RANK_PRESENCE, Grid::elementwise(flags.len()), &args)?;
        Ok((averages, [any, every]))
    }

    /// Averages a slice in the order of ranks. `own` is the vector of this rank's gradients, in their own types, and `averages` that of the
    /// averages; `others` has the other ranks' slices, so many bytes apart.
    fn average_slice(
        &self,
        layout: &Layout,
        slice: Range<usize>,
        [own, averages]: [u64; 2],
        (others, stride): (&Buffer, usize),
    ) -> Result<(), Error> {
        let [place, ranks] = [self.communicator().rank(), self.communicator().ranks()].map(count);
        let first = layout.byte_of(slice.start);
        for Run { dtype, elements, byte } in layout.runs(slice) {
            let own = own + byte as u64;
            let others = others.address() + (byte - first) as u64;
            let result = averages + 4 * elements.start as u64;
            let (type_code, len) = (code("average", dtype)?, elements.len());
            let stride = stride / dtype.bytes();
            let args = args![own, others, result, type_code, place, ranks, len, stride];
            self.cuda().launch(AVERAGE, Grid::elementwise(len), &args)?;
        }
        Ok(())
    }
}

/// Returns the hash of an average's names, types and shapes.
pub(super) fn form(set: &Gradients) -> u64 {
    let spec = |tensor: &Tensor| (tensor.dtype(), tensor.shape().to_vec());
    let entry =
        |entry: &Named<Option<Tensor>>| (entry.name.clone(), entry.value.as_ref().map(spec));
    hash(&set.entries.iter().map(entry).collect::<Vec<_>>())
}
