//! Tables of what depends on the count of applied steps, which the device indexes by its own count.
//!
//! A table has a row for every count that the device can have come to: more than were asked for. It is made anew at twice
//! the length when that is no longer so, and ends for good where the bias has faded: after 17,000 steps at a beta2 of
//! 0.999, which is 280 kB.

use crate::{
    Cuda, CudaError, Error, Uncapturable, kernels::PREPARE, launch::structs::CorrectionRow,
    memory::Buffer,
};
use binade_master_weights::BiasCorrection;

/// Rows of a new table.
const FIRST: u64 = 1024;

/// Rows of the longest table: 32 MiB, which betas to 0.99999 find enough.
const MOST: u64 = 1 << 21;

#[derive(Debug)]
pub(super) struct Corrections {
    betas: [f64; 2],
    rows: Buffer,
    count: u64,
    /// Whether the last row stands for all that follow.
    is_whole: bool,
}

impl Corrections {
    /// For a device that may come to apply its step number `attempts`.
    pub(super) fn new(cuda: &Cuda, betas: [f64; 2], attempts: u64) -> Result<Self, Error> {
        Self::of(cuda, betas, (2 * attempts).max(FIRST))
    }

    /// To where the bias has faded: for a step whose count the host does not know when it replays it.
    pub(super) fn whole(cuda: &Cuda, betas: [f64; 2]) -> Result<Self, Error> {
        let table = Self::of(cuda, betas, MOST)?;
        if table.is_whole {
            return Ok(table);
        }
        let why = Uncapturable::Bias { betas: format!("{betas:?}"), most: MOST };
        Err(Error::Driver(CudaError::Capture { operation: PREPARE.name, why }))
    }

    /// Of so many rows at most.
    fn of(cuda: &Cuda, betas: [f64; 2], most: u64) -> Result<Self, Error> {
        let mut rows = Vec::new();
        let mut is_whole = false;
        for applied in 0..most {
            let correction = BiasCorrection::at(betas, applied);
            rows.push(CorrectionRow { bias: correction.bias, root: correction.root, pad: 0 });
            is_whole = correction.is_last();
            if is_whole {
                break;
            }
        }
        let count = rows.len() as u64;
        Ok(Self { betas, rows: cuda.lasting_of(bytemuck::cast_slice(&rows))?, count, is_whole })
    }

    pub(super) fn is_for(&self, betas: [f64; 2]) -> bool {
        self.betas.map(f64::to_bits) == betas.map(f64::to_bits)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether every step up to number `attempts` finds its row.
    pub(super) fn reaches(&self, attempts: u64) -> bool {
        self.is_whole || attempts <= self.count
    }

    /// Where it is, and its rows.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.rows.address(), self.count)
    }
}
