//! Indices and labels that are out of range: the device records one of them, and the host reports it.
//!
//! The host cannot know them, and must not wait for the device. A shader that meets one never reads beyond the table, gives NaN, and writes
//! operation, index and position to one record on the device. Every read of the host also copies the record. The error is reported once, and the
//! record is then emptied; of several invalid indices any one is reported. The record is created when the first operation with indices is dispatched.

use crate::{Error, Wgpu, dispatch::Bound, memory::Buffer, readback::Readback};
use binade_core::Op;
use binade_gpu::{Driver, lock};
use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

/// Operations that take indices, as `fault.wgsl` numbers them.
const INDEXED: [Op; 2] = [Op::EMBEDDING, Op::CROSS_ENTROPY];

/// Words of the record, as in `fault.wgsl`: whether it is taken, operation, index, position, limit.
const WORDS: usize = 6;

/// Record of the device, once there is one.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    record: Mutex<Option<Buffer>>,
    /// Number of faults that were reported: a copy that is older than the last of them holds nothing new.
    reported: AtomicU64,
}

/// Copy of the record on its way to the host, and the number of faults reported when it was asked for.
#[derive(Debug)]
pub(crate) struct FaultCopy {
    pub(crate) copy: Readback,
    reported: u64,
}

impl Wgpu {
    /// Returns the record for a shader to write to, and makes it on first use.
    pub(crate) fn fault_record(&self) -> Result<Bound, Error> {
        self.with_record(|record| {
            if record.is_none() {
                *record = Some(self.buffer_of(&[0; 4 * WORDS])?);
            }
            // The record was made above.
            record.as_ref().map(Bound::whole).ok_or(Error::Foreign)
        })
    }

    /// Puts a copy of the record in the batch, if there is a record.
    pub(crate) fn send_faults(&self) -> Result<Option<FaultCopy>, Error> {
        let reported = self.inner.faults.reported.load(Ordering::Relaxed);
        self.with_record(|record| {
            let copy = record.as_ref().map(|record| self.send(record, 0..4 * WORDS));
            Ok(copy.transpose()?.map(|copy| FaultCopy { copy, reported }))
        })
    }

    /// Returns the error that a copy of the record holds, and empties the record.
    pub(crate) fn report_fault(&self, noted: Option<&FaultCopy>) -> Result<(), Error> {
        let Some(noted) = noted else { return Ok(()) };
        let bytes = self.receive(&noted.copy)?;
        let (words, _) = bytes.as_chunks();
        let &[taken, op, low, high, position, limit] = words else { return Ok(()) };
        let reported = &self.inner.faults.reported;
        if u32::from_le_bytes(taken) == 0 || reported.load(Ordering::Relaxed) != noted.reported {
            return Ok(());
        }
        reported.fetch_add(1, Ordering::Relaxed);
        let cleared = self.with_record(|record| {
            record.as_ref().map_or(Ok(()), |record| self.write(record, &[0; 4 * WORDS]))
        });
        cleared?;
        let count = |word| usize::try_from(u32::from_le_bytes(word)).unwrap_or(usize::MAX);
        let [low, high] = [low, high].map(|word| u64::from(u32::from_le_bytes(word)));
        Err(Error::Index {
            op: INDEXED.get(count(op)).map_or("an operation", Op::name),
            index: (high << 32 | low).cast_signed(),
            position: count(position),
            limit: count(limit),
        })
    }

    /// Calls `f` on the record.
    fn with_record<T>(&self, f: impl FnOnce(&mut Option<Buffer>) -> T) -> T {
        f(&mut lock(&self.inner.faults.record))
    }
}
