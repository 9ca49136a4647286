//! A group that shows its calls to a test.

use binade_ranks::{Group, GroupError};

/// Group that calls `observe` before each gather and exchange, with the call's name and a copy of the rank's bytes. The copy is sent, so
/// that a test may change it.
pub(crate) struct Observed<G, F> {
    pub(crate) group: G,
    pub(crate) observe: F,
}

impl<G: Group, F: Fn(&str, &mut Vec<u8>) + Send + Sync + 'static> Group for Observed<G, F> {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn ranks(&self) -> usize {
        self.group.ranks()
    }

    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        let mut own = own.to_vec();
        (self.observe)("all_gather", &mut own);
        self.group.all_gather(&own, lengths, all)
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError> {
        let mut send = send.to_vec();
        (self.observe)("exchange", &mut send);
        self.group.exchange(&send, sends, receive, receives)
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        self.group.broadcast(root, bytes)
    }
}
