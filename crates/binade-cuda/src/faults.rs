//! Indices and labels that point nowhere: the device notes the first, and the host reports it when it reads next.
//!
//! The host cannot know them and must not wait to ask. A kernel with a bad index never reads beyond the table, gives NaN, and leaves operation, index
//! and position in one record of the device. Whatever the host reads anyway brings the record along, a step's report as well as a download; the error
//! is given once, and the record is empty again. The record exists once an operation with indices is launched, or a step captured.
//!
//! Of several bad indices, the error reports the one at the lowest position in the earliest launch, in the order of the calls. For that, launches
//! that check indices are numbered; each replay numbers those of a captured step anew. An error covers all bad indices of work enqueued before it was
//! returned; later ones are reported by later errors.

use crate::{
    CaptureError, Cuda, Error, launch,
    launch::{Arg, structs::FaultBits},
    memory::Buffer,
};
use binade_core::Op;
use binade_gpu::lock;
use cudarc::driver::CudaStream;
use std::sync::{
    Mutex, OnceLock,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

/// Operations with indices, in the order of `Indexed` in `fault.cuh`.
const INDEXED: [Op; 2] = [Op::EMBEDDING, Op::CROSS_ENTROPY];

/// Bits of a position, as in `fault.cuh`.
const POSITION: u32 = 36;

/// Count of launch numbers; later launches share the last ones.
const LAUNCHES: u32 = 1 << (u64::BITS - POSITION);

/// Bit of a captured launch's number; the other bits are its place among the launches of its step. As in `fault.cuh`.
const CAPTURED: u32 = 1 << 31;

/// Offset of `base` in the record. Everything before it is emptied by an error.
const BASE: usize = std::mem::offset_of!(FaultBits, base);

#[derive(Debug, Default)]
pub(crate) struct Faults {
    record: OnceLock<Record>,
    launches: AtomicU32,
    /// Number of reported faults. A copy from before the last of them has nothing new.
    reported: AtomicU64,
    /// Held from when a replay has written its base until its graph is in the stream behind it.
    replay: Mutex<()>,
}

#[derive(Debug)]
struct Record {
    buffer: Buffer,
    /// Held from when the record is copied, or emptied, until it is known how many had been reported.
    alone: Mutex<()>,
}

/// A copy of the record, and when it was made.
#[derive(Debug)]
pub(crate) struct FaultCopy<T> {
    pub(crate) copy: T,
    pub(crate) reported: u64,
}

impl Faults {
    /// Returns the address of the record, or 0 if there is none.
    pub(crate) fn address(&self) -> u64 {
        self.record.get().map_or(0, |record| record.buffer.address())
    }

    /// Returns the number of faults reported so far.
    pub(crate) fn reported(&self) -> u64 {
        self.reported.load(Ordering::Relaxed)
    }

    /// The numbers of the next launches, so many of them: the first.
    fn number(&self, count: u32) -> u32 {
        let next = |number: u32| Some(number.saturating_add(count).min(LAUNCHES));
        let first = self.launches.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        first.unwrap_or(LAUNCHES).min(LAUNCHES.saturating_sub(count))
    }
}

impl Cuda {
    /// Returns the arguments of a kernel that checks indices: the record, and the launch's number.
    pub(crate) fn fault_args(&self) -> Result<[Arg<'static>; 2], Error> {
        self.fault_record()?;
        let faults = &self.inner.faults;
        let captured = self.inner.pool.state.replayed(|replay| {
            replay.indexed += 1;
            CAPTURED | (replay.indexed - 1)
        });
        let number = captured.unwrap_or_else(|| faults.number(1));
        Ok([Arg::Address(faults.address()), Arg::Number(number)])
    }

    /// Gives the `count` launches of a captured step their numbers, and launches its graph by `launch`.
    pub(crate) fn number_replay(
        &self,
        stream: &CudaStream,
        count: u32,
        launch: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let faults = &self.inner.faults;
        let Some(record) = faults.record.get().filter(|_| count > 0) else { return launch() };
        let _alone = lock(&faults.replay);
        let base = faults.number(count);
        let filled = launch::fill(stream, &record.buffer, BASE, base, 1);
        self.check("replay", filled)?;
        launch()
    }

    /// Makes the record, unless there is one.
    pub(crate) fn fault_record(&self) -> Result<(), Error> {
        let faults = &self.inner.faults;
        if faults.record.get().is_none() {
            let buffer = self.lasting_of(&[0; size_of::<FaultBits>()])?;
            faults.record.get_or_init(|| Record { buffer, alone: Mutex::default() });
        }
        Ok(())
    }

    /// Copies the record by `copy`, where there is one.
    pub(crate) fn noted<T>(
        &self,
        copy: impl FnOnce(&Buffer) -> Result<T, Error>,
    ) -> Result<Option<FaultCopy<T>>, Error> {
        let faults = &self.inner.faults;
        let Some(record) = faults.record.get() else { return Ok(None) };
        let _alone = lock(&record.alone);
        Ok(Some(FaultCopy { copy: copy(&record.buffer)?, reported: faults.reported() }))
    }

    /// Returns the error in a copy of the record, unless it was reported since, and empties the record.
    pub(crate) fn report_fault(&self, noted: &FaultCopy<FaultBits>) -> Result<(), Error> {
        let (faults, bits) = (&self.inner.faults, &noted.copy);
        let Some(record) = faults.record.get().filter(|_| bits.order != 0) else { return Ok(()) };
        let _alone = lock(&record.alone);
        if noted.reported != faults.reported() {
            return Ok(());
        }
        self.outside("memset", CaptureError::Read, |stream| {
            launch::fill(stream, &record.buffer, 0, 0, BASE / 4)
        })?;
        faults.reported.fetch_add(1, Ordering::Relaxed);
        Err(error(bits))
    }
}

/// Returns the error in the CPU's words.
fn error(bits: &FaultBits) -> Error {
    let op = INDEXED.get(bits.op as usize).map_or("an operation", Op::name);
    let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let position = count(!bits.order & ((1 << POSITION) - 1));
    Error::Index { op, index: bits.index, position, limit: count(bits.limit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_beyond_the_last_number_share_it_and_those_of_a_step_stay_in_order() {
        let faults = Faults::default();
        assert_eq!([1, 3, 1].map(|count| faults.number(count)), [0, 1, 4]);
        faults.launches.store(LAUNCHES - 2, Ordering::Relaxed);
        let last = [1, 3, 1, 3].map(|count| faults.number(count));
        assert_eq!(last, [LAUNCHES - 2, LAUNCHES - 3, LAUNCHES - 1, LAUNCHES - 3]);
    }

    #[test]
    fn a_record_is_told_with_its_position_and_without_its_launch() {
        let [launch, position] = [3_u64, 41];
        let order = !(launch << POSITION | position);
        let bits = FaultBits { order, index: -7, limit: 10, op: 1, base: 9 };
        let said = error(&bits).to_string();
        assert_eq!(said, "cross_entropy: index -7 at position 41; expected 0 ≤ index < 10");
    }
}
