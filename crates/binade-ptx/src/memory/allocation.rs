//! Allocation: its bytes, and a mark for each written byte.

use std::ops::Range;

use crate::report::Access;

/// Byte that fills a new allocation: a NaN in every float type.
const POISON: u8 = 0xff;

/// Bytes that a word of marks stands for.
const MARKS: usize = u64::BITS as usize;

/// Memory that is read only where it was written, by a kernel or by the host.
#[derive(Debug)]
pub(crate) struct Allocation {
    bytes: Vec<u8>,
    /// One bit for each byte that was written.
    written: Vec<u64>,
}

impl Allocation {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { bytes: vec![POISON; bytes], written: vec![0; bytes.div_ceil(MARKS)] }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns all bytes, including unwritten ones.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes of an access, and marks those that it writes. Returns `None` if it reads a byte that was never written.
    #[inline]
    pub(crate) fn access(&mut self, place: Range<usize>, access: Access) -> Option<&mut [u8]> {
        if access != Access::Write && !self.is_written(place.clone()) {
            return None;
        }
        if access != Access::Read {
            self.mark(place.clone(), true);
        }
        Some(&mut self.bytes[place])
    }

    /// Takes bytes of another allocation, or of this one, with their marks.
    pub(crate) fn take(&mut self, place: Range<usize>, bytes: &[u8], is_written: &[bool]) {
        self.bytes[place.clone()].copy_from_slice(bytes);
        for (at, is_written) in place.zip(is_written) {
            self.mark(at..at + 1, *is_written);
        }
    }

    /// Returns for each byte whether it was written.
    pub(crate) fn marks(&self, place: Range<usize>) -> Vec<bool> {
        place.map(|at| self.is_written(at..at + 1)).collect()
    }

    /// Returns true if every byte of `place` was written.
    pub(crate) fn is_written(&self, place: Range<usize>) -> bool {
        words(place).all(|(word, bits)| self.written[word] & bits == bits)
    }

    fn mark(&mut self, place: Range<usize>, is_written: bool) {
        for (word, bits) in words(place) {
            let marks = &mut self.written[word];
            *marks = if is_written { *marks | bits } else { *marks & !bits };
        }
    }
}

/// Returns the words of marks that stand for a range of bytes, with its bits in each.
fn words(place: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = place;
    (start / MARKS..end.div_ceil(MARKS)).map(move |word| {
        let from = start.saturating_sub(word * MARKS);
        let to = (end - word * MARKS).min(MARKS);
        (word, u64::MAX << from & u64::MAX >> (MARKS - to))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_read_once_it_was_written_and_no_byte_beside_it() {
        let mut memory = Allocation::new(200);
        for (start, end) in [(0, 1), (3, 5), (60, 70), (127, 129), (130, 199)] {
            assert!(memory.access(start..end, Access::Read).is_none());
            memory.access(start..end, Access::Write).unwrap().fill(7);
            assert_eq!(memory.access(start..end, Access::Read).unwrap(), vec![7; end - start]);
            assert!(memory.access(start..end + 1, Access::Read).is_none());
            assert!(memory.access(start..end, Access::Atomic).is_some());
        }
        let marked = memory.marks(0..200).iter().filter(|is_written| **is_written).count();
        assert_eq!(marked, 1 + 2 + 10 + 2 + 69);
    }

    #[test]
    fn an_atomic_operation_reads() {
        let mut memory = Allocation::new(4);
        assert!(memory.access(0..4, Access::Atomic).is_none());
    }

    #[test]
    fn a_copy_has_the_marks_of_what_it_is_of() {
        let [mut one, mut other] = [(); 2].map(|()| Allocation::new(8));
        one.access(2..4, Access::Write).unwrap().fill(1);
        other.access(0..8, Access::Write).unwrap().fill(2);
        other.take(4..8, &one.bytes()[0..4], &one.marks(0..4));
        assert!(other.is_written(0..4) && other.is_written(6..8) && !other.is_written(4..6));
    }
}
