//! Frames: every part of a call has a head that identifies the call.
//!
//! MPI lets a call of one kind receive what another kind sent, and does not report a part that is too short. With heads both are errors, and no part
//! is empty.

use crate::{raw::Outcome, roll::Call};

const HEAD: usize = 16;

/// Maximal number of bytes of a call, with heads: MPI counts in `int`.
const MOST: usize = i32::MAX as usize;

/// Call, by its number and kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Head {
    /// Number of the call, from 1.
    pub(crate) number: u64,
    pub(crate) call: Call,
}

/// Returns the lengths of parts with their heads. The part of rank `own` counts as its head alone.
pub(crate) fn lengths(parts: &[usize], own: Option<usize>) -> Outcome<Vec<usize>> {
    let total = parts.iter().fold(0_usize, |sum, len| sum.saturating_add(*len));
    if total.saturating_add(parts.len().saturating_mul(HEAD)) > MOST {
        return Err(format!(
            "{total} bytes are more than the {MOST} that MPI counts in one call: take smaller buckets, or fewer shards on a rank, or train a smaller model"
        ));
    }
    let length = |(rank, len): (usize, &usize)| HEAD + if own == Some(rank) { 0 } else { *len };
    Ok(parts.iter().enumerate().map(length).collect())
}

impl Head {
    fn bytes(self, len: usize) -> [u8; HEAD] {
        let [number, kind] = [self.number, (len as u64) << 8 | self.call as u64];
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..].copy_from_slice(&kind.to_le_bytes());
        bytes
    }

    /// Fills `framed` with parts of these lengths, each after its head. The part of rank `own` has only its head.
    pub(crate) fn frame(
        self,
        mut parts: &[u8],
        lengths: &[usize],
        own: Option<usize>,
        framed: &mut Vec<u8>,
    ) -> Outcome {
        fits("given", parts.len(), lengths)?;
        framed.clear();
        framed.reserve(parts.len() + lengths.len() * HEAD);
        for (rank, len) in lengths.iter().enumerate() {
            let (part, rest) = parts.split_at(*len);
            framed.extend_from_slice(&self.bytes(*len));
            if own != Some(rank) {
                framed.extend_from_slice(part);
            }
            parts = rest;
        }
        Ok(())
    }

    /// Fills `into` with parts of these lengths, after checking that each belongs to this call. Parts come from ranks `first` and up. The part of
    /// rank `own` has only a head, and its bytes in `into` stay unchanged.
    pub(crate) fn unframe(
        self,
        mut framed: &[u8],
        lengths: &[usize],
        (first, own): (usize, Option<usize>),
        mut into: &mut [u8],
    ) -> Outcome {
        for (rank, len) in (first..).zip(lengths) {
            let (head, rest) = framed.split_at(HEAD);
            if head != self.bytes(*len) {
                return Err(self.other(rank, head, *len));
            }
            let (part, rest) = rest.split_at(if own == Some(rank) { 0 } else { *len });
            let (place, room) = into.split_at_mut(*len);
            place[..part.len()].copy_from_slice(part);
            (framed, into) = (rest, room);
        }
        Ok(())
    }

    /// Describes what was received instead of a part of this call.
    fn other(self, rank: usize, head: &[u8], len: usize) -> String {
        let [number, kind] = [&head[..8], &head[8..]]
            .map(|word| word.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte)));
        let own = self.call.name();
        match Call::of(kind & 0xff) {
            Some(call) if call != self.call => {
                format!("this rank calls `{own}`, rank {rank} `{}`", call.name())
            }
            Some(_) if number == self.number => {
                format!("{} bytes came of rank {rank}, where {len} were expected", kind >> 8)
            }
            _ => format!("what came of rank {rank} is of no `{own}`: ranks make other calls"),
        }
    }
}

/// Returns an error if a buffer's length differs from the sum of its parts' lengths.
pub(crate) fn fits(what: &str, bytes: usize, lengths: &[usize]) -> Outcome {
    let total: usize = lengths.iter().sum();
    if bytes == total {
        return Ok(());
    }
    Err(format!("{bytes} bytes are {what}, and the lengths of their parts sum to {total}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD_OF_SEVEN: Head = Head { number: 7, call: Call::AllGather };

    fn frame(head: Head, parts: &[u8], lengths: &[usize]) -> Outcome<Vec<u8>> {
        let mut framed = vec![9; 3];
        head.frame(parts, lengths, None, &mut framed).map(|()| framed)
    }

    #[test]
    fn parts_come_back_and_other_calls_and_lengths_are_told() {
        let framed = frame(HEAD_OF_SEVEN, &[1, 2, 3], &[1, 0, 2]).unwrap();
        let mut into = [0; 3];
        HEAD_OF_SEVEN.unframe(&framed, &[1, 0, 2], (0, None), &mut into).unwrap();
        assert_eq!(into, [1, 2, 3]);
        // Only the head of a rank's own part is sent, but it still shows a different length.
        let mut framed = Vec::new();
        HEAD_OF_SEVEN.frame(&[1, 2, 3], &[1, 0, 2], Some(2), &mut framed).unwrap();
        assert_eq!(lengths(&[1, 0, 2], Some(2)).unwrap().iter().sum::<usize>(), framed.len());
        let mut into = [9; 3];
        HEAD_OF_SEVEN.unframe(&framed, &[1, 0, 2], (0, Some(2)), &mut into).unwrap();
        assert_eq!(into, [1, 9, 9]);
        let told = HEAD_OF_SEVEN.unframe(&framed, &[1, 0, 3], (0, Some(2)), &mut [0; 4]);
        assert_eq!(told.unwrap_err(), "2 bytes came of rank 2, where 3 were expected");
        let other = |head: Head, bytes: &[u8], len: usize| {
            let mut framed = frame(head, bytes, &[bytes.len()]).unwrap();
            framed.resize(HEAD + len, 0);
            HEAD_OF_SEVEN.unframe(&framed, &[len], (4, None), &mut vec![0; len]).unwrap_err()
        };
        let told = other(Head { call: Call::Exchange, ..HEAD_OF_SEVEN }, &[1, 2], 2);
        assert_eq!(told, "this rank calls `all_gather`, rank 4 `exchange`");
        let told = other(HEAD_OF_SEVEN, &[1], 2);
        assert_eq!(told, "1 bytes came of rank 4, where 2 were expected");
        let told = other(Head { number: 6, ..HEAD_OF_SEVEN }, &[1, 2], 2);
        assert!(told.contains("what came of rank 4"), "{told}");
    }

    #[test]
    fn more_bytes_than_mpi_counts_and_buffers_of_other_lengths_are_refused() {
        assert_eq!(lengths(&[0, 5], None), Ok(vec![HEAD, HEAD + 5]));
        for parts in [&[MOST - HEAD + 1][..], &[MOST, 1], &[usize::MAX, 1]] {
            assert!(lengths(parts, None).unwrap_err().contains("2147483647"));
        }
        assert!(lengths(&[MOST - HEAD], None).is_ok());
        let told = frame(HEAD_OF_SEVEN, &[1], &[1, 1]).unwrap_err();
        assert_eq!(told, "1 bytes are given, and the lengths of their parts sum to 2");
    }
}
