//! Execution: a grid block by block, a block barrier by barrier, a warp by its lowest lines first.

mod block;
mod copies;
mod data;
mod shared;
mod sync;
mod warp;

use crate::{
    Dim3, Module, Report,
    memory::Global,
    module::{Entry, Instruction},
    report::ReportKind,
};

/// A launch whose dimensions and arguments are right.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) module: &'a Module,
    pub(crate) entry: &'a Entry,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared_bytes: u64,
    pub(crate) params: Vec<u8>,
    /// Instructions of a warp, all warps together.
    pub(crate) limit: u64,
}

/// Runs every block; `ran` marks the instructions that some thread executed.
pub(crate) fn run(
    launch: &Launch<'_>,
    memory: &mut Global,
    ran: &mut [bool],
) -> Result<(), Report> {
    let mut steps = launch.limit;
    for number in 0..launch.grid.volume() {
        let place = launch.grid.place(number);
        block::Block::new(launch, place, memory, ran, &mut steps).run()?;
    }
    Ok(())
}

impl Launch<'_> {
    fn report(
        &self,
        at: &Instruction,
        kind: ReportKind,
        block: Dim3,
        thread: u32,
        address: Option<u64>,
    ) -> Report {
        let name =
            |(file, line): (u32, u32)| Some(format!("{}:{line}", self.module.files.get(&file)?));
        Report {
            kind,
            kernel: self.entry.name.clone(),
            line: at.line,
            origin: at.source.and_then(name),
            block,
            thread: self.block.place(u64::from(thread)),
            address,
        }
    }
}
