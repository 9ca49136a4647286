//! Pending `cp.async` copies of a thread: issued, committed in groups, and completed when waited for, not before.

use std::collections::VecDeque;

/// Pending copy to shared memory.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) to: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) line: u32,
}

#[derive(Debug, Default)]
pub(super) struct Copies {
    open: Vec<Copy>,
    /// Committed groups, oldest first.
    groups: VecDeque<Vec<Copy>>,
}

impl Copies {
    /// Drops all copies, before the next block.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        self.groups.clear();
    }

    pub(super) fn issue(&mut self, copy: Copy) {
        self.open.push(copy);
    }

    pub(super) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Removes and returns the copies of the oldest groups, so that at most `pending` groups remain.
    pub(super) fn wait(&mut self, pending: u64) -> Vec<Copy> {
        let keep = usize::try_from(pending).unwrap_or(usize::MAX).min(self.groups.len());
        let done = self.groups.len() - keep;
        self.groups.drain(..done).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_finishes_the_oldest_groups_and_nothing_uncommitted() {
        let mut copies = Copies::default();
        for to in 0..3 {
            copies.issue(Copy { to, bytes: vec![], line: 1 });
            if to < 2 {
                copies.commit();
            }
        }
        let places = |copies: Vec<Copy>| copies.iter().map(|copy| copy.to).collect::<Vec<_>>();
        assert_eq!(places(copies.wait(1)), [0]);
        assert_eq!(places(copies.wait(0)), [1]);
        assert_eq!(places(copies.wait(0)), [0; 0]);
    }
}
