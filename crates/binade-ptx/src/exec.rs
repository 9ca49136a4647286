//! Execution of a launch: blocks one after another, a block from barrier to barrier, in a warp the lanes at the lowest
//! instruction first.

mod access;
mod act;
mod block;
mod copies;
mod matrix;
mod shared;
mod sums;
mod sync;
mod warp;

pub(crate) use self::sums::MmaSums;
use self::warp::Warp;
use crate::{
    Dim3, Module, Report,
    isa::{LANES, Values},
    memory::Global,
    module::{Entry, Instruction, Special},
    report::ReportKind,
};

/// Launch whose dimensions and arguments have been checked.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) module: &'a Module,
    pub(crate) entry: &'a Entry,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared_bytes: u64,
    pub(crate) params: Vec<u8>,
    /// Limit of warp instructions, summed over all warps of the launch.
    pub(crate) limit: u64,
    pub(crate) sums: MmaSums,
}

/// Registers of warps that have ended, for those of the next launch: there are too many to clear for each.
pub(crate) type Spare = Vec<Vec<Values>>;

/// Runs every block. `ran` marks the instructions that some thread executed.
pub(crate) fn run(
    launch: &Launch<'_>,
    memory: &mut Global,
    spare: &mut Spare,
    ran: &mut [bool],
) -> Result<(), Report> {
    let mut block = block::Block::new(launch, memory, ran);
    let mut warps = launch.warps(spare);
    let mut blocks = 0..launch.grid.volume();
    let outcome = blocks.try_for_each(|number| block.run(launch.grid.place(number), &mut warps));
    spare.extend(warps.into_iter().rev().map(Warp::into_registers));
    outcome
}

impl Launch<'_> {
    #[expect(clippy::cast_possible_truncation, reason = "a block has at most 1024 threads")]
    fn warps(&self, spare: &mut Spare) -> Vec<Warp> {
        let threads = self.block.volume() as u32;
        let firsts = (0..threads).step_by(LANES);
        let new = |first| {
            let registers = self.registers(first, spare.pop().unwrap_or_default());
            Warp::new(registers, first, threads - first)
        };
        firsts.map(new).collect()
    }

    /// Returns the registers of a new warp whose first thread is `first`: literals and special registers filled, block index left
    /// at 0. All others have any values: no result may depend on a register that its thread has not written.
    fn registers(&self, first: u32, mut registers: Vec<Values>) -> Vec<Values> {
        let length = registers.len().max(self.entry.registers);
        registers.resize(length, [0; LANES]);
        for (register, value) in &self.entry.literals {
            registers[*register] = [*value; LANES];
        }
        for (register, special) in &self.entry.specials {
            for (thread, value) in (first..).zip(&mut registers[*register]) {
                *value = u64::from(self.special(*special, thread));
            }
        }
        registers
    }

    fn special(&self, special: Special, thread: u32) -> u32 {
        match special {
            Special::Tid(axis) => self.block.place(u64::from(thread)).axis(axis),
            Special::Ntid(axis) => self.block.axis(axis),
            // The block index changes from block to block: `Block::place_in` fills it.
            Special::Ctaid(_) => 0,
            Special::Nctaid(axis) => self.grid.axis(axis),
            Special::LaneId => thread % 32,
        }
    }

    #[cold]
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
