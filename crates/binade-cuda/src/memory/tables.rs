//! Cache of tables of addresses and constants on the device, by their contents: a set whose addresses have not changed finds its
//! table there.

use super::Buffer;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Number of tables that are kept: those of a few optimizers and windows, each with a handful of sets that take turns.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// Tables, the last used first.
    kept: Mutex<VecDeque<Table>>,
}

#[derive(Debug)]
struct Table {
    bytes: Vec<u8>,
    buffer: Arc<Buffer>,
}

impl Tables {
    /// Returns the table with these contents, if it is on the device.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<Arc<Buffer>> {
        let mut kept = self.lock();
        let place = kept.iter().position(|table| table.bytes == bytes)?;
        let table = kept.remove(place)?;
        let buffer = table.buffer.clone();
        kept.push_front(table);
        Some(buffer)
    }

    /// Keeps a table. Of those that nobody else holds, the least recently used is dropped. Runs of a capture hold theirs, so that
    /// the next run finds them.
    pub(crate) fn keep(&self, bytes: &[u8], buffer: Arc<Buffer>) {
        let mut kept = self.lock();
        while kept.len() >= MOST
            && let Some(place) =
                kept.iter().rposition(|table| Arc::strong_count(&table.buffer) == 1)
        {
            kept.remove(place);
        }
        kept.push_front(Table { bytes: bytes.to_vec(), buffer });
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Table>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
