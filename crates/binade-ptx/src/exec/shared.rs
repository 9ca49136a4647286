//! Shared memory of a block, with the accesses to each byte since the last barrier.

use std::{iter::repeat_n, num::NonZero, ops::Range};

use super::{access::WIDEST, warp::Warp};
use crate::{
    Dim3,
    memory::{Trouble, aligned},
    report::{Access, ReportKind, Space},
};

/// Thread, line and clock of an access to bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    thread: u32,
    line: u32,
    /// Clock of the access; 0 for none.
    clock: u32,
    is_atomic: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// The block that wrote the bytes.
    written_in: u32,
    writer: Touch,
    /// Two last readers of different threads: at least one of them is not the next writer.
    readers: [Touch; 2],
    /// PTX line of a pending `cp.async` to this byte.
    coming: Option<NonZero<u32>>,
}

/// Shared memory with a clock that ticks at every barrier of the block and of a warp. Accesses since the block's last barrier are
/// unordered with those of other warps. Accesses since a warp's own barrier are unordered within that warp.
#[derive(Debug)]
pub(super) struct Shared {
    /// Extents of the block, for the places of its threads.
    extents: Dim3,
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    /// Number of bytes per mark: the width of the narrowest access so far, so that an access to one of them is an access to all.
    cell: usize,
    clock: u32,
    /// Clock of the block's last barrier.
    ordered: u32,
    /// Number of blocks begun.
    block: u32,
}

/// Thread that accesses, and the PTX line of its instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessor {
    pub(super) thread: u32,
    pub(super) line: u32,
    /// Clock of the warp's last barrier.
    pub(super) ordered: u32,
}

impl Accessor {
    #[expect(clippy::cast_possible_truncation, reason = "a lane's index is below 32")]
    pub(super) fn new(warp: &Warp, index: usize, line: u32) -> Self {
        Self { thread: warp.first + index as u32, line, ordered: warp.ordered }
    }
}

impl Shared {
    pub(super) fn new(bytes: u64, extents: Dim3) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let marks = vec![Mark::default(); bytes.div_ceil(WIDEST)];
        let bytes = vec![0xff; bytes];
        Self { extents, bytes, marks, cell: WIDEST, clock: 0, ordered: 0, block: 0 }
    }

    /// The marks of an access.
    fn cells(&mut self, from: usize, bytes: usize) -> Range<usize> {
        if bytes < self.cell {
            self.divide(bytes);
        }
        from / self.cell..(from + bytes) / self.cell
    }

    #[cold]
    fn divide(&mut self, bytes: usize) {
        let parts = self.cell / bytes;
        self.marks = self.marks.iter().flat_map(|mark| repeat_n(*mark, parts)).collect();
        self.cell = bytes;
    }

    /// Resets memory for the next block.
    pub(super) fn restart(&mut self) {
        self.block += 1;
        self.barrier();
        for mark in &mut self.marks {
            mark.coming = None;
        }
    }

    /// Orders all accesses before this call with all accesses after it.
    pub(super) fn barrier(&mut self) {
        self.ordered = self.warp_barrier();
    }

    /// Advances the clock for a barrier of one warp, and returns it for the warp to keep.
    pub(super) fn warp_barrier(&mut self) -> u32 {
        self.clock += 1;
        self.clock
    }

    /// Checks and notes an access, and returns its bytes.
    pub(super) fn touch(
        &mut self,
        address: u64,
        bytes: usize,
        access: Access,
        by: Accessor,
    ) -> Result<&mut [u8], Trouble> {
        let from = self.place(address, bytes as u64, access)?;
        for index in self.cells(from, bytes) {
            if self.is_worth_a_look(index, access) {
                self.check(index, by, access)?;
            }
            if access != Access::Write && self.marks[index].written_in != self.block {
                let kind = ReportKind::Uninitialised { space: Space::Shared, bytes: bytes as u64 };
                return Err(Trouble { kind, address: Some(address) });
            }
            self.note(index, by, access);
        }
        Ok(&mut self.bytes[from..from + bytes])
    }

    /// Marks bytes as the target of a pending copy. Any access to them is a fault until it arrives.
    pub(super) fn announce(
        &mut self,
        address: u64,
        bytes: u64,
        by: Accessor,
    ) -> Result<(), Trouble> {
        let from = self.place(address, bytes, Access::Write)?;
        for index in self.cells(from, usize::try_from(bytes).unwrap_or(usize::MAX)) {
            self.check(index, by, Access::Write)?;
            self.marks[index].coming = NonZero::new(by.line);
        }
        Ok(())
    }

    /// Writes the bytes of a pending copy.
    pub(super) fn arrive(
        &mut self,
        address: u64,
        bytes: &[u8],
        by: Accessor,
    ) -> Result<(), Trouble> {
        let from = self.place(address, bytes.len() as u64, Access::Write)?;
        for index in self.cells(from, bytes.len()) {
            self.marks[index].coming = None;
        }
        self.touch(address, bytes.len(), Access::Write, by)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Checks that an access lies inside and is aligned.
    pub(super) fn holds(&self, address: u64, bytes: u64) -> Result<(), Trouble> {
        self.place(address, bytes, Access::Read).map(drop)
    }

    fn place(&self, address: u64, bytes: u64, access: Access) -> Result<usize, Trouble> {
        let space = Space::Shared;
        aligned(address, bytes, access, space)?;
        let is_inside =
            address.checked_add(bytes).is_some_and(|end| end <= self.bytes.len() as u64);
        let kind = ReportKind::OutOfBounds { access, space, bytes };
        let place = usize::try_from(address).ok().filter(|_| is_inside);
        place.ok_or(Trouble { kind, address: Some(address) })
    }

    /// Returns true if an access to the cell since the block's last barrier may conflict with this one.
    fn is_worth_a_look(&self, index: usize, access: Access) -> bool {
        let mark = &self.marks[index];
        let was_read = || mark.readers.iter().any(|reader| reader.clock >= self.ordered);
        mark.coming.is_some()
            || mark.writer.clock >= self.ordered
            || (access != Access::Read && was_read())
    }

    /// Returns true if no barrier orders an earlier access before this thread's.
    fn is_open(&self, touch: &Touch, by: Accessor) -> bool {
        let is_mate = || touch.thread / 32 == by.thread / 32;
        touch.clock >= self.ordered
            && touch.thread != by.thread
            && (touch.clock >= by.ordered || !is_mate())
    }

    /// Reports a race: another thread has touched the cell since a barrier, and one of the two writes. Atomics do not race with each
    /// other.
    fn check(&self, index: usize, by: Accessor, access: Access) -> Result<(), Trouble> {
        let (mark, address) = (&self.marks[index], (index * self.cell) as u64);
        if let Some(issued) = mark.coming {
            let kind = ReportKind::UnfinishedCopy { access, issued: issued.get() };
            return Err(Trouble { kind, address: Some(address) });
        }
        let race = |touch: &Touch, other_access| {
            let (other, other_line) = (self.extents.place(touch.thread.into()), touch.line);
            let kind = ReportKind::SharedRace { access, other, other_access, other_line };
            Err(Trouble { kind, address: Some(address) })
        };
        let is_atomic = mark.writer.is_atomic;
        if self.is_open(&mark.writer, by) && !(is_atomic && access == Access::Atomic) {
            return race(&mark.writer, if is_atomic { Access::Atomic } else { Access::Write });
        }
        match mark.readers.iter().find(|reader| self.is_open(reader, by)) {
            Some(reader) if access != Access::Read => race(reader, Access::Read),
            _ => Ok(()),
        }
    }

    fn note(&mut self, index: usize, by: Accessor, access: Access) {
        let touch = Touch { thread: by.thread, line: by.line, clock: self.clock, is_atomic: false };
        let mark = &mut self.marks[index];
        match access {
            Access::Read => self.note_read(index, touch, by),
            Access::Write => (mark.writer, mark.written_in) = (touch, self.block),
            // A plain write of the thread's own since the barrier still races with others.
            Access::Atomic => {
                let last = &mark.writer;
                let was_plain = last.thread == by.thread && !last.is_atomic;
                let is_atomic = !(was_plain && last.clock >= self.ordered);
                mark.writer = Touch { is_atomic, ..touch };
            }
        }
    }

    /// Records a read in place of an earlier one of the same thread, or of one that a barrier of the block or of the shared warp has ordered.
    fn note_read(&mut self, index: usize, touch: Touch, by: Accessor) {
        let readers = &mut self.marks[index].readers;
        let (block, warp) = (self.ordered, self.ordered.max(by.ordered));
        let is_mate = |reader: &Touch| reader.thread / 32 == touch.thread / 32;
        let is_past = |reader: &Touch| reader.clock < if is_mate(reader) { warp } else { block };
        if let Some(own) = readers.iter_mut().find(|reader| reader.thread == touch.thread) {
            *own = touch;
        } else if let Some(free) = readers.iter_mut().find(|reader| is_past(reader)) {
            *free = touch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accessor(thread: u32) -> Accessor {
        Accessor { thread, line: 1, ordered: 0 }
    }

    fn shared() -> Shared {
        let mut shared = Shared::new(8, 64.into());
        shared.restart();
        shared
    }

    fn races(outcome: &Result<&mut [u8], Trouble>, with: u32) -> bool {
        let race = |it: &Trouble| matches!(it.kind, ReportKind::SharedRace { other, .. } if other.x == with);
        outcome.as_ref().is_err_and(race)
    }

    #[test]
    fn a_write_after_another_threads_read_races_though_the_writer_read_too() {
        let mut shared = shared();
        shared.touch(0, 4, Access::Write, accessor(0)).unwrap();
        shared.barrier();
        shared.touch(0, 4, Access::Read, accessor(0)).unwrap();
        shared.touch(0, 4, Access::Read, accessor(1)).unwrap();
        assert!(races(&shared.touch(0, 4, Access::Write, accessor(0)), 1));
    }

    #[test]
    fn reads_do_not_race_with_reads_nor_a_thread_with_itself() {
        let mut shared = shared();
        shared.touch(0, 4, Access::Write, accessor(0)).unwrap();
        shared.touch(0, 4, Access::Write, accessor(0)).unwrap();
        shared.barrier();
        assert!(shared.touch(0, 4, Access::Read, accessor(1)).is_ok());
        assert!(shared.touch(0, 4, Access::Read, accessor(2)).is_ok());
    }

    #[test]
    fn atomics_race_with_reads_and_writes_and_not_with_each_other() {
        let mut shared = shared();
        shared.touch(0, 4, Access::Write, accessor(0)).unwrap();
        shared.barrier();
        assert!(shared.touch(0, 4, Access::Atomic, accessor(1)).is_ok());
        assert!(shared.touch(0, 4, Access::Atomic, accessor(2)).is_ok());
        assert!(races(&shared.touch(0, 4, Access::Read, accessor(3)), 2));
        shared.barrier();
        shared.touch(0, 4, Access::Write, accessor(1)).unwrap();
        shared.touch(0, 4, Access::Atomic, accessor(1)).unwrap();
        assert!(races(&shared.touch(0, 4, Access::Atomic, accessor(2)), 1));
    }

    #[test]
    fn a_warps_barrier_orders_its_own_lanes_and_no_others() {
        let mut shared = shared();
        shared.touch(0, 4, Access::Write, accessor(0)).unwrap();
        let ordered = shared.warp_barrier();
        let other = Accessor { ordered, ..accessor(1) };
        assert!(shared.touch(0, 4, Access::Read, other).is_ok());
        assert!(races(&shared.touch(0, 4, Access::Read, accessor(32)), 0));
        assert!(races(&shared.touch(0, 4, Access::Write, Accessor { ordered, ..accessor(2) }), 1));
    }

    #[test]
    fn neighbours_that_narrow_accesses_wrote_are_told_apart_and_what_was_written_at_once_before_is_kept()
     {
        let mut shared = shared();
        shared.touch(0, 8, Access::Write, accessor(0)).unwrap();
        assert!(races(&shared.touch(6, 1, Access::Write, accessor(1)), 0));
        shared.barrier();
        shared.touch(4, 2, Access::Write, accessor(1)).unwrap();
        assert!(shared.touch(6, 2, Access::Write, accessor(2)).is_ok());
        let found = shared.touch(0, 8, Access::Read, accessor(1));
        assert!(races(&found, 2) && found.is_err_and(|trouble| trouble.address == Some(6)));
    }

    #[test]
    fn a_block_does_not_see_what_the_one_before_wrote() {
        let mut shared = shared();
        shared.touch(0, 4, Access::Write, accessor(0)).unwrap();
        shared.restart();
        let found = shared.touch(0, 4, Access::Read, accessor(0)).map(drop).unwrap_err();
        assert_eq!(found.kind, ReportKind::Uninitialised { space: Space::Shared, bytes: 4 });
    }
}
