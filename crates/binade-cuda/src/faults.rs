//! Indices and labels that point nowhere: the device notes the first, and the host reports it when it reads next.
//!
//! The host cannot know them and must not wait to ask. A kernel that meets one never reads beyond the table, gives NaN, and
//! leaves operation, index and position in one record of the device. Whatever the host reads anyway brings the record along, a
//! step's report as well as a download; the error is given once, and the record is empty again: of several under way, one is
//! told. Until an operation with indices is launched, or a step captured, there is no record.

use crate::{Cuda, Error, launch::Arg, launch::structs::FaultBits, memory::Buffer};
use binade_core::Op;
use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

/// The operations that take indices, as `Indexed` of `fault.cuh` numbers them.
const INDEXED: [Op; 2] = [Op::EMBEDDING, Op::CROSS_ENTROPY];

/// Bits of a position, as in `fault.cuh`.
const POSITION: u32 = 36;

/// Launches are numbered up to here; all later ones count as one.
const LAST_LAUNCH: u32 = (1 << (u64::BITS - POSITION)) - 1;

#[derive(Debug, Default)]
pub(crate) struct Faults {
    record: OnceLock<Record>,
    launches: AtomicU32,
    /// How many have been reported: what was copied before the last of them tells nothing new.
    reported: AtomicU64,
}

#[derive(Debug)]
struct Record {
    buffer: Mutex<Buffer>,
    address: u64,
}

/// A copy of the record, and when it was made.
#[derive(Debug)]
pub(crate) struct Noted<T> {
    pub(crate) copy: T,
    pub(crate) reported: u64,
}

impl Faults {
    /// Where the record is, or 0.
    pub(crate) fn address(&self) -> u64 {
        self.record.get().map_or(0, |record| record.address)
    }

    /// How many have been reported so far.
    pub(crate) fn reported(&self) -> u64 {
        self.reported.load(Ordering::Relaxed)
    }

    /// The number of the next launch.
    fn launch(&self) -> u32 {
        self.launches
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |number| {
                Some(number.saturating_add(1).min(LAST_LAUNCH))
            })
            .unwrap_or(LAST_LAUNCH)
    }
}

impl Record {
    /// Nothing is half done where a thread could panic.
    fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cuda {
    /// What a kernel that looks at indices takes for them: the record, and the launch's number.
    pub(crate) fn fault_args(&self) -> Result<[Arg<'static>; 2], Error> {
        self.fault_record()?;
        let faults = &self.inner.faults;
        // A captured step is launched with the same numbers at each replay, and so is each run before its capture.
        let is_captured = self.inner.pool.recorder.running().is_some();
        let number = if is_captured { LAST_LAUNCH } else { faults.launch() };
        Ok([Arg::Address(faults.address()), Arg::U32(number)])
    }

    /// Makes the record, unless there is one.
    pub(crate) fn fault_record(&self) -> Result<(), Error> {
        let faults = &self.inner.faults;
        if faults.record.get().is_none() {
            let buffer = self.lasting_of(&[0; size_of::<FaultBits>()])?;
            let address = buffer.address();
            faults.record.get_or_init(|| Record { buffer: Mutex::new(buffer), address });
        }
        Ok(())
    }

    /// Copies the record by `copy`, where there is one.
    pub(crate) fn noted<T>(
        &self,
        copy: impl FnOnce(&Buffer) -> Result<T, Error>,
    ) -> Result<Option<Noted<T>>, Error> {
        let faults = &self.inner.faults;
        let Some(record) = faults.record.get() else { return Ok(None) };
        let buffer = record.lock();
        Ok(Some(Noted { copy: copy(&buffer)?, reported: faults.reported() }))
    }

    /// The error that a copy of the record tells of, unless it has been reported since; then the record is emptied.
    pub(crate) fn report_fault(&self, noted: &Noted<FaultBits>) -> Result<(), Error> {
        let (faults, bits) = (&self.inner.faults, &noted.copy);
        let Some(record) = faults.record.get().filter(|_| bits.order != 0) else { return Ok(()) };
        let mut buffer = record.lock();
        if noted.reported != faults.reported() {
            return Ok(());
        }
        if let Some(mut view) = buffer.view_mut() {
            self.check("memset", self.inner.stream.memset_zeros(&mut view))?;
        }
        faults.reported.fetch_add(1, Ordering::Relaxed);
        Err(error(bits))
    }
}

/// In the CPU's words.
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
    fn launches_beyond_the_last_number_share_it() {
        let faults = Faults::default();
        assert_eq!([faults.launch(), faults.launch()], [0, 1]);
        faults.launches.store(LAST_LAUNCH, Ordering::Relaxed);
        assert_eq!([faults.launch(), faults.launch()], [LAST_LAUNCH; 2]);
    }

    #[test]
    fn a_record_is_told_with_its_position_and_without_its_launch() {
        let [launch, position] = [3_u64, 41];
        let order = !(launch << POSITION | position);
        let bits = FaultBits { order, index: -7, limit: 10, op: 1, pad: 0 };
        let said = error(&bits).to_string();
        assert_eq!(said, "cross_entropy: index -7 at position 41; expected 0 ≤ index < 10");
    }
}
