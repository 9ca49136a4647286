//! What one lane does alone: arithmetic, loads, stores, atomics and copies.

use super::{
    block::Block,
    copies::Copy,
    shared::{By, Wrong},
    warp::Warp,
};
use crate::{
    isa::{Op, Space},
    memory::{Trouble, aligned, bits},
    module::{Instruction, Operand},
    report::{Access, ReportKind},
};

impl Block<'_> {
    pub(super) fn lane(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        lane: usize,
    ) -> Result<(), Wrong> {
        let by = By { thread: thread(warp, lane), line: at.line };
        let operand =
            |block: &Self, warp: &Warp, index: usize| block.value(warp, &at.operands[index], lane);
        let result = match at.op() {
            Op::One(f) => f(operand(self, warp, 1)),
            Op::Two(f) => f(operand(self, warp, 1), operand(self, warp, 2)),
            Op::Three(f) => {
                f(operand(self, warp, 1), operand(self, warp, 2), operand(self, warp, 3))
            }
            Op::Atomic(bytes, f) => {
                self.atomic(operand(self, warp, 1), bytes, operand(self, warp, 2), f)?
            }
            Op::Load(space, bytes) => return self.load(warp, at, lane, space, bytes),
            Op::Store(space, bytes) => return self.store(warp, at, lane, space, bytes),
            Op::CopyAsync => {
                let (to, from) = (operand(self, warp, 0), operand(self, warp, 1));
                return self.copy(to, from, operand(self, warp, 2), by);
            }
            Op::CopyCommit => {
                self.copies[by.thread as usize].commit();
                return Ok(());
            }
            Op::CopyWait => return self.wait(operand(self, warp, 0), by),
            // Of a warp, not of a lane.
            Op::Shuffle(_) | Op::Branch | Op::Return | Op::Barrier => return Ok(()),
        };
        warp.set(&at.operands[0], lane, result);
        Ok(())
    }

    fn load(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        lane: usize,
        space: Space,
        bytes: u64,
    ) -> Result<(), Wrong> {
        let address = self.value(warp, &at.operands[1], lane);
        let by = By { thread: thread(warp, lane), line: at.line };
        let read = self.read(space, address, bytes * elements(&at.operands[0]), by)?;
        for (index, element) in read.chunks(usize::try_from(bytes).unwrap_or(1)).enumerate() {
            warp.set_element(&at.operands[0], index, lane, bits(element));
        }
        Ok(())
    }

    fn read(&mut self, space: Space, address: u64, bytes: u64, by: By) -> Result<Vec<u8>, Wrong> {
        match space {
            Space::Global => Ok(self.memory.access(address, bytes, Access::Read)?.to_vec()),
            Space::Shared => self.shared.read(address, bytes, by),
            Space::Param => Ok(param(&self.launch.params, address, bytes)?),
        }
    }

    fn store(
        &mut self,
        warp: &Warp,
        at: &Instruction,
        lane: usize,
        space: Space,
        bytes: u64,
    ) -> Result<(), Wrong> {
        let address = self.value(warp, &at.operands[0], lane);
        let width = usize::try_from(bytes).unwrap_or(8);
        let written: Vec<u8> = match &at.operands[1] {
            Operand::Vector(list) => list
                .iter()
                .flat_map(|&register| warp.get(register, lane).to_le_bytes()[..width].to_vec())
                .collect(),
            operand => self.value(warp, operand, lane).to_le_bytes()[..width].to_vec(),
        };
        if space == Space::Shared {
            return self.shared.write(
                address,
                &written,
                By { thread: thread(warp, lane), line: at.line },
            );
        }
        self.memory.access(address, written.len() as u64, Access::Write)?.copy_from_slice(&written);
        Ok(())
    }

    fn atomic(
        &mut self,
        address: u64,
        bytes: u64,
        value: u64,
        f: fn(u64, u64) -> u64,
    ) -> Result<u64, Trouble> {
        let memory = self.memory.access(address, bytes, Access::Atomic)?;
        let old = bits(memory);
        let width = memory.len();
        memory.copy_from_slice(&f(old, value).to_le_bytes()[..width]);
        Ok(old)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64, by: By) -> Result<(), Wrong> {
        let source = self.memory.access(from, bytes, Access::Read)?.to_vec();
        self.shared.announce(to, bytes, by)?;
        self.copies[by.thread as usize].issue(Copy { to, bytes: source, line: by.line });
        Ok(())
    }

    /// Copies arrive in the name of the line that issued them.
    fn wait(&mut self, pending: u64, by: By) -> Result<(), Wrong> {
        for copy in self.copies[by.thread as usize].wait(pending) {
            self.shared.arrive(copy.to, &copy.bytes, By { line: copy.line, ..by })?;
        }
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a lane is below 32")]
fn thread(warp: &Warp, lane: usize) -> u32 {
    warp.first + lane as u32
}

fn elements(operand: &Operand) -> u64 {
    if let Operand::Vector(list) = operand { list.len() as u64 } else { 1 }
}

fn param(params: &[u8], address: u64, bytes: u64) -> Result<Vec<u8>, Trouble> {
    let (access, space) = (Access::Read, Space::Param);
    aligned(address, bytes, access, space)?;
    let range =
        usize::try_from(address).ok().zip(usize::try_from(address.saturating_add(bytes)).ok());
    let found = range.and_then(|(from, to)| params.get(from..to));
    let kind = ReportKind::OutOfBounds { access, space, bytes };
    found.map(<[u8]>::to_vec).ok_or(Trouble { kind, address: Some(address) })
}
