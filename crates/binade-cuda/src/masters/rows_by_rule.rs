//! The parameters that a step moves, by the kernel of their rule.

use crate::{
    Cuda, Error,
    chunks::Rows,
    launch::{Arg, structs::StepRow},
};
use binade_master_weights::UpdateRule;

/// The addresses of what a step's kernels are told, each 0 where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepArgs {
    pub(super) constants: u64,
    /// The verdict.
    pub(super) found: u64,
    /// Factors that gradients are owed.
    pub(super) owed: u64,
    /// Counts of lost updates, where they are counted.
    pub(super) lost: u64,
}

/// The parameters that each kernel moves.
#[derive(Debug)]
pub(super) struct RowsByRule {
    elements: u64,
    by_kernel: Vec<(&'static str, Rows<StepRow>)>,
}

impl RowsByRule {
    /// None yet, of a set of so many elements.
    pub(super) fn of(elements: u64) -> Self {
        Self { elements, by_kernel: Vec::new() }
    }

    /// Returns the rows of the parameters that `rule` moves.
    pub(super) fn rows(&mut self, rule: &UpdateRule) -> &mut Rows<StepRow> {
        let kernel = rule.name();
        let known = self.by_kernel.iter().position(|(name, _)| *name == kernel);
        let place = known.unwrap_or(self.by_kernel.len());
        if known.is_none() {
            self.by_kernel.push((kernel, Rows::of(self.elements)));
        }
        &mut self.by_kernel[place].1
    }

    /// Puts masters, which were told as offsets, where their copies are.
    pub(super) fn set_base_address(&mut self, address: u64) {
        let rows = self.by_kernel.iter_mut().flat_map(|(_, rows)| &mut rows.rows);
        rows.for_each(|row| row.beside += address);
    }

    /// Puts their steps in the stream.
    pub(super) fn run(&self, cuda: &Cuda, told: StepArgs) -> Result<(), Error> {
        let addresses = [told.constants, told.found, told.owed, told.lost].map(Arg::Address);
        self.by_kernel.iter().try_for_each(|(kernel, rows)| {
            let chunks = [Arg::U64(0), Arg::U64(rows.chunks.len)];
            rows.launch(cuda, *kernel, &[&chunks[..], &addresses].concat())
        })
    }
}
