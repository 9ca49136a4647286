//! A block: its warps run until each has ended or waits at the barrier, then the barrier lets them go.

use super::{
    Launch,
    copies::Copies,
    shared::{Shared, Wrong},
    warp::{Lanes, Warp, each},
};
use crate::{
    Dim3, Report,
    isa::Op,
    memory::Global,
    module::{Instruction, Operand, Special},
    report::ReportKind,
};

#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) place: Dim3,
    pub(super) memory: &'a mut Global,
    pub(super) shared: Shared,
    /// By thread.
    pub(super) copies: Vec<Copies>,
    ran: &'a mut [bool],
    steps: &'a mut u64,
}

impl<'a> Block<'a> {
    pub(super) fn new(
        launch: &'a Launch<'a>,
        place: Dim3,
        memory: &'a mut Global,
        ran: &'a mut [bool],
        steps: &'a mut u64,
    ) -> Self {
        let copies = (0..launch.block.volume()).map(|_| Copies::default()).collect();
        let shared = Shared::new(launch.shared_bytes);
        Self { launch, place, memory, shared, copies, ran, steps }
    }

    pub(super) fn run(mut self) -> Result<(), Report> {
        let mut warps = self.warps();
        loop {
            for warp in &mut warps {
                self.run_warp(warp)?;
            }
            if warps.iter().all(|warp| warp.live() == 0) {
                return Ok(());
            }
            self.barrier(&mut warps)?;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a block has at most 1024 threads")]
    fn warps(&self) -> Vec<Warp> {
        let threads = self.launch.block.volume() as u32;
        let firsts = (0..threads).step_by(32);
        firsts.map(|first| Warp::new(self.launch.entry.registers, first, threads - first)).collect()
    }

    /// Until every lane has ended or all of them wait at one barrier.
    fn run_warp(&mut self, warp: &mut Warp) -> Result<(), Report> {
        while let Some((at, lanes)) = warp.next() {
            let instruction = &self.launch.entry.code[at];
            self.count(instruction, warp, lanes)?;
            let admitted = warp.admitted(instruction.guard, lanes);
            warp.advance(lanes & !admitted);
            self.ran[at] |= admitted != 0 || matches!(instruction.op(), Op::Branch);
            if admitted != 0 {
                self.step(warp, instruction, admitted)?;
            }
        }
        self.check_waiting(warp)
    }

    fn count(&mut self, at: &Instruction, warp: &Warp, lanes: Lanes) -> Result<(), Report> {
        if let Some(left) = self.steps.checked_sub(1) {
            *self.steps = left;
            return Ok(());
        }
        let kind = ReportKind::StepLimit { limit: self.launch.limit };
        Err(self.report(at, warp, lanes.trailing_zeros(), kind, None))
    }

    fn step(&mut self, warp: &mut Warp, at: &Instruction, lanes: Lanes) -> Result<(), Report> {
        match at.op() {
            Op::Branch => {
                let [Operand::Target(target)] = at.operands[..] else { return Ok(()) };
                warp.jump(lanes, target);
            }
            Op::Return => warp.exited |= lanes,
            Op::Barrier => warp.waiting |= lanes,
            Op::Shuffle(how) => self.shuffle(warp, at, how, lanes)?,
            _ => {
                for lane in each(lanes) {
                    self.lane(warp, at, lane)
                        .map_err(|wrong| self.wrong(at, warp, lane, &wrong))?;
                }
                warp.advance(lanes);
            }
        }
        Ok(())
    }

    /// What an operand holds for a lane.
    #[expect(clippy::cast_possible_truncation, reason = "a lane is below 32")]
    pub(super) fn value(&self, warp: &Warp, operand: &Operand, lane: usize) -> u64 {
        match operand {
            Operand::Register(register) => warp.get(*register, lane),
            Operand::Value(value) => *value,
            Operand::Special(special) => {
                u64::from(self.special(*special, warp.first + lane as u32))
            }
            Operand::Address { register, offset } => {
                register.map_or(0, |register| warp.get(register, lane)).wrapping_add(*offset)
            }
            Operand::Vector(_) | Operand::Pair(..) | Operand::Target(_) => 0,
        }
    }

    fn special(&self, special: Special, thread: u32) -> u32 {
        match special {
            Special::Tid(axis) => self.launch.block.place(u64::from(thread)).axis(axis),
            Special::Ntid(axis) => self.launch.block.axis(axis),
            Special::Ctaid(axis) => self.place.axis(axis),
            Special::Nctaid(axis) => self.launch.grid.axis(axis),
            Special::LaneId => thread % 32,
        }
    }

    pub(super) fn report(
        &self,
        at: &Instruction,
        warp: &Warp,
        lane: u32,
        kind: ReportKind,
        address: Option<u64>,
    ) -> Report {
        self.launch.report(at, kind, self.place, warp.first + lane, address)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a lane is below 32")]
    fn wrong(&self, at: &Instruction, warp: &Warp, lane: usize, wrong: &Wrong) -> Report {
        let (kind, address) = match wrong {
            Wrong::Trouble(trouble) => (trouble.kind, trouble.address),
            Wrong::Race(race) => {
                let other = self.launch.block.place(u64::from(race.other));
                let (access, other_access, other_line) =
                    (race.access, race.other_access, race.other_line);
                (
                    ReportKind::SharedRace { access, other, other_access, other_line },
                    Some(race.address),
                )
            }
        };
        self.report(at, warp, lane as u32, kind, address)
    }
}
