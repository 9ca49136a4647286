//! The parameters that a step moves, by the kernel of their rule.

use crate::{
    Cuda, Error,
    chunks::Rows,
    kernels::{ADAM, Kernel, SGD},
    launch::{Arg, structs::StepRow},
};
use binade_gpu::unsupported_rule;
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
    sgd: Rows<StepRow>,
    adam: Rows<StepRow>,
}

impl RowsByRule {
    /// None yet, of a set of so many elements.
    pub(super) fn of(elements: u64) -> Self {
        Self { sgd: Rows::of(elements), adam: Rows::of(elements) }
    }

    /// Returns the rows of the parameters that `rule` moves.
    pub(super) fn rows(&mut self, rule: &UpdateRule) -> Result<&mut Rows<StepRow>, Error> {
        match rule {
            UpdateRule::Sgd(_) => Ok(&mut self.sgd),
            UpdateRule::Adam(_) => Ok(&mut self.adam),
            other => Err(unsupported_rule::<Cuda>(other)),
        }
    }

    /// Puts masters, which were told as offsets, where their copies are.
    pub(super) fn set_base_address(&mut self, address: u64) {
        let rows = self.sgd.rows.iter_mut().chain(&mut self.adam.rows);
        rows.for_each(|row| row.beside += address);
    }

    /// Puts their steps in the stream.
    pub(super) fn run(&self, cuda: &Cuda, told: StepArgs) -> Result<(), Error> {
        moved(cuda, &self.sgd, &SGD, told)?;
        moved(cuda, &self.adam, &ADAM, told)
    }
}

/// Moves `rows` by the kernel.
fn moved(
    cuda: &Cuda,
    rows: &Rows<StepRow>,
    kernel: &'static Kernel,
    told: StepArgs,
) -> Result<(), Error> {
    let addresses = [told.constants, told.found, told.owed, told.lost].map(Arg::Address);
    rows.launch(cuda, kernel, &[&[Arg::U64(0), Arg::U64(rows.chunks.len)], &addresses[..]].concat())
}
