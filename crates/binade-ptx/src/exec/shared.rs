//! A block's shared memory, and who did what to each byte of it since the last barrier.

use crate::{
    memory::{Trouble, aligned},
    report::{Access, ReportKind, Space},
};

/// Who touched a byte, and when.
#[derive(Clone, Copy, Debug)]
struct Touch {
    thread: u32,
    line: u32,
    /// Barriers passed by then.
    interval: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    is_written: bool,
    writer: Option<Touch>,
    /// Two readers that are not the same thread are enough to find one that is not the writer.
    readers: [Option<Touch>; 2],
    /// The line of a `cp.async` that is on its way here.
    coming: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Shared {
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    interval: u32,
}

/// The thread that accesses, and from which line.
#[derive(Clone, Copy, Debug)]
pub(super) struct By {
    pub(super) thread: u32,
    pub(super) line: u32,
}

/// A race that names threads by number; the block makes places of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    pub(super) access: Access,
    pub(super) other: u32,
    pub(super) other_access: Access,
    pub(super) other_line: u32,
    pub(super) address: u64,
}

/// What can be wrong with an access to shared memory.
#[derive(Debug)]
pub(super) enum Wrong {
    Trouble(Trouble),
    Race(Race),
}

impl From<Trouble> for Wrong {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl Shared {
    pub(super) fn new(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self { bytes: vec![0xff; bytes], marks: vec![Mark::default(); bytes], interval: 0 }
    }

    /// Everything before is ordered before everything after.
    pub(super) fn barrier(&mut self) {
        self.interval += 1;
    }

    pub(super) fn read(&mut self, address: u64, bytes: u64, by: By) -> Result<Vec<u8>, Wrong> {
        let from = self.place(address, bytes, Access::Read)?;
        let range = from..from + usize::try_from(bytes).unwrap_or(usize::MAX);
        for index in range.clone() {
            self.check(index, by, Access::Read)?;
            if !self.marks[index].is_written {
                let kind = ReportKind::UninitialisedShared { bytes };
                return Err(Trouble { kind, address: Some(address) }.into());
            }
            self.note_read(index, by);
        }
        Ok(self.bytes[range].to_vec())
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8], by: By) -> Result<(), Wrong> {
        let from = self.place(address, bytes.len() as u64, Access::Write)?;
        for (index, byte) in (from..).zip(bytes) {
            self.check(index, by, Access::Write)?;
            let touch = Touch { thread: by.thread, line: by.line, interval: self.interval };
            self.marks[index].writer = Some(touch);
            self.marks[index].is_written = true;
            self.bytes[index] = *byte;
        }
        Ok(())
    }

    /// A copy is on its way: nobody may look until it is there.
    pub(super) fn announce(&mut self, address: u64, bytes: u64, by: By) -> Result<(), Wrong> {
        let from = self.place(address, bytes, Access::Write)?;
        for index in from..from + usize::try_from(bytes).unwrap_or(usize::MAX) {
            self.check(index, by, Access::Write)?;
            self.marks[index].coming = Some(by.line);
        }
        Ok(())
    }

    /// A copy is there.
    pub(super) fn arrive(&mut self, address: u64, bytes: &[u8], by: By) -> Result<(), Wrong> {
        let from = self.place(address, bytes.len() as u64, Access::Write)?;
        for index in from..from + bytes.len() {
            self.marks[index].coming = None;
        }
        self.write(address, bytes, by)
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

    /// Whether another thread has touched the byte since the last barrier, and one of the two writes.
    fn check(&self, index: usize, by: By, access: Access) -> Result<(), Wrong> {
        let (mark, address) = (&self.marks[index], index as u64);
        if let Some(issued) = mark.coming {
            let kind = ReportKind::UnfinishedCopy { access, issued };
            return Err(Trouble { kind, address: Some(address) }.into());
        }
        let is_other = |touch: &Touch| touch.thread != by.thread && touch.interval == self.interval;
        let race = |touch: Touch, other_access| {
            let (other, other_line) = (touch.thread, touch.line);
            Err(Wrong::Race(Race { access, other, other_access, other_line, address }))
        };
        if let Some(writer) = mark.writer.filter(is_other) {
            return race(writer, Access::Write);
        }
        match mark.readers.into_iter().flatten().find(is_other) {
            Some(reader) if access == Access::Write => race(reader, Access::Read),
            _ => Ok(()),
        }
    }

    fn note_read(&mut self, index: usize, by: By) {
        let interval = self.interval;
        let readers = &mut self.marks[index].readers;
        let is_here = |touch: &Touch| touch.interval == interval;
        if readers.iter().flatten().any(|touch| is_here(touch) && touch.thread == by.thread) {
            return;
        }
        if let Some(free) = readers.iter_mut().find(|reader| !reader.as_ref().is_some_and(is_here))
        {
            *free = Some(Touch { thread: by.thread, line: by.line, interval });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(thread: u32) -> By {
        By { thread, line: 1 }
    }

    #[test]
    fn a_barrier_orders_what_would_race() {
        let mut shared = Shared::new(8);
        shared.write(0, &[1; 4], by(0)).unwrap();
        assert!(matches!(shared.read(0, 4, by(1)), Err(Wrong::Race(Race { other: 0, .. }))));
        shared.barrier();
        assert_eq!(shared.read(0, 4, by(1)).unwrap(), [1; 4]);
    }

    #[test]
    fn a_write_after_another_threads_read_races_though_the_writer_read_too() {
        let mut shared = Shared::new(4);
        shared.write(0, &[1; 4], by(0)).unwrap();
        shared.barrier();
        shared.read(0, 4, by(0)).unwrap();
        shared.read(0, 4, by(1)).unwrap();
        assert!(matches!(shared.write(0, &[2; 4], by(0)), Err(Wrong::Race(Race { other: 1, .. }))));
    }

    #[test]
    fn reads_do_not_race_with_reads_nor_a_thread_with_itself() {
        let mut shared = Shared::new(4);
        shared.write(0, &[1; 4], by(0)).unwrap();
        shared.write(0, &[2; 4], by(0)).unwrap();
        shared.barrier();
        assert!(shared.read(0, 4, by(1)).is_ok() && shared.read(0, 4, by(2)).is_ok());
    }
}
