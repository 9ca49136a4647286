//! Instructions of single lanes, run for all lanes at once: arithmetic, loads, stores, atomics and copies.

use super::{
    access::{Touch, element, fill},
    block::{Block, Stop},
    copies::Copy,
    shared::Accessor,
    warp::{Lanes, Warp, each},
};
use crate::{
    isa::{Change, Class, LANES, Op, Space},
    memory::Trouble,
    module::Instruction,
    report::{Access, ReportKind},
};

impl Block<'_> {
    pub(super) fn act(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        lanes: Lanes,
    ) -> Result<(), Stop> {
        let mut to = [0; LANES];
        match at.form.op {
            Op::One(f) => f(warp.operand(at, 1), &mut to),
            Op::Two(f) => f(warp.operand(at, 1), warp.operand(at, 2), &mut to),
            Op::Three(f) => {
                f(warp.operand(at, 1), warp.operand(at, 2), warp.operand(at, 3), &mut to);
            }
            Op::Four(f) => f([1, 2, 3, 4].map(|index| warp.operand(at, index)), &mut to),
            Op::Pack(bits) => {
                for (place, register) in (0..).step_by(bits).zip(at.registers(1)) {
                    let part = warp.of(*register);
                    to = std::array::from_fn(|lane| to[lane] | part[lane] << place);
                }
            }
            _ => return self.act_otherwise(warp, at, lanes),
        }
        warp.put(at.register(0), &to, lanes);
        Ok(())
    }

    /// Executes an instruction whose result is not one register.
    fn act_otherwise(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        lanes: Lanes,
    ) -> Result<(), Stop> {
        match at.form.op {
            Op::Unpack(bits) => unpack(warp, at, lanes, bits),
            Op::Load(space, width) => self.load(warp, at, lanes, space, width)?,
            Op::LoadSigned(space, width, class) => {
                self.load(warp, at, lanes, space, width)?;
                extend(warp, at, lanes, width, class);
            }
            Op::Store(space, width) => self.store(warp, at, lanes, space, width)?,
            Op::Atomic(space, width, f) => self.atomic(warp, at, lanes, (space, width, f))?,
            Op::CopyAsync => self.copy(warp, at, lanes)?,
            Op::CopyCommit => {
                for lane in each(lanes) {
                    self.copies[warp.first as usize + lane].commit();
                }
            }
            Op::CopyWait => self.wait(warp, at, lanes)?,
            Op::Trap => {
                return Err((lowest(lanes), Trouble { kind: ReportKind::Trap, address: None }));
            }
            // A fence has no effect here; the other instructions concern a whole warp or block.
            _ => {}
        }
        Ok(())
    }

    fn load(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        lanes: Lanes,
        space: Space,
        width: usize,
    ) -> Result<(), Stop> {
        let registers = at.registers(0);
        let touch = Touch::new(warp, at, 1, lanes, width * registers.len(), Access::Read);
        // Nearly all loads have one register, and `chunks_exact` would cost them a division.
        if let [register] = registers {
            return self.each_piece(&touch, space, |lane, piece| {
                warp.set(*register, lane, element(piece));
            });
        }
        self.each_piece(&touch, space, |lane, piece| {
            for (register, bytes) in registers.iter().zip(piece.chunks_exact(width)) {
                warp.set(*register, lane, element(bytes));
            }
        })
    }

    fn store(
        &mut self,
        warp: &Warp,
        at: &Instruction,
        lanes: Lanes,
        space: Space,
        width: usize,
    ) -> Result<(), Stop> {
        let registers = at.registers(1);
        let touch = Touch::new(warp, at, 0, lanes, width * registers.len(), Access::Write);
        if let [register] = registers {
            let values = warp.of(*register);
            return self.each_piece(&touch, space, |lane, piece| fill(piece, values[lane]));
        }
        self.each_piece(&touch, space, |lane, piece| {
            for (register, bytes) in registers.iter().zip(piece.chunks_exact_mut(width)) {
                fill(bytes, warp.of(*register)[lane]);
            }
        })
    }

    /// Executes an atomic lane by lane, lowest first.
    fn atomic(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        lanes: Lanes,
        (space, width, f): (Space, usize, Change),
    ) -> Result<(), Stop> {
        let value = *warp.operand(at, 2);
        let last = *warp.operand(at, at.operands.len() - 1);
        let touch = Touch::new(warp, at, 1, lanes, width, Access::Atomic);
        let mut old = [0; LANES];
        self.each_piece(&touch, space, |lane, piece| {
            old[lane] = element(piece);
            fill(piece, f(old[lane], value[lane], last[lane]));
        })?;
        warp.put(at.register(0), &old, lanes);
        Ok(())
    }

    fn copy(&mut self, warp: &Warp, at: &Instruction, lanes: Lanes) -> Result<(), Stop> {
        let (to, from) = (warp.addresses(at, 0), warp.addresses(at, 1));
        for lane in each(lanes) {
            let by = Accessor::new(warp, lane, at.line);
            // The last operand is the number of bytes to read. If the last operand is the total size, all bytes are read.
            let (whole, read) = (warp.operand(at, 2), warp.operand(at, at.operands.len() - 1));
            let source = self.memory.part(from[lane], whole[lane], read[lane]);
            let bytes = source.map_err(|trouble| (lane, trouble))?;
            let announced = self.shared.announce(to[lane], bytes.len() as u64, by);
            announced.map_err(|trouble| (lane, trouble))?;
            self.copies[by.thread as usize].issue(Copy { to: to[lane], bytes, line: at.line });
        }
        Ok(())
    }

    /// Completes copies until at most the operand's number of groups is pending. A copy's accesses carry the line that issued it.
    fn wait(&mut self, warp: &Warp, at: &Instruction, lanes: Lanes) -> Result<(), Stop> {
        for lane in each(lanes) {
            let by = Accessor::new(warp, lane, at.line);
            for copy in self.copies[by.thread as usize].wait(warp.operand(at, 0)[lane]) {
                let arrived =
                    self.shared.arrive(copy.to, &copy.bytes, Accessor { line: copy.line, ..by });
                arrived.map_err(|trouble| (lane, trouble))?;
            }
        }
        Ok(())
    }
}

fn unpack(warp: &mut Warp, at: &Instruction, lanes: Lanes, bits: usize) {
    let from = *warp.operand(at, 1);
    for (place, register) in (0..).step_by(bits).zip(at.registers(0)) {
        let part = from.map(|value| value >> place & ((1 << bits) - 1));
        warp.put(*register, &part, lanes);
    }
}

/// Extends the sign of a loaded element to the register's width.
fn extend(warp: &mut Warp, at: &Instruction, lanes: Lanes, width: usize, class: Class) {
    let unused = 64 - 8 * width;
    let to = warp.operand(at, 0).map(|value| extended(value, unused) & class.mask());
    warp.put(at.register(0), &to, lanes);
}

#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "a sign is what it is for")]
fn extended(value: u64, unused: usize) -> u64 {
    ((value << unused) as i64 >> unused) as u64
}

fn lowest(lanes: Lanes) -> usize {
    lanes.trailing_zeros() as usize
}
