//! Execution of a block: each warp runs until it has ended or waits at the barrier; then all pass the barrier.

use super::{
    Launch,
    copies::Copies,
    shared::Shared,
    warp::{Group, Lanes, Warp},
};
use crate::{
    Dim3, Report,
    isa::{LANES, Op},
    memory::{Global, Trouble},
    module::{Instruction, Operand, Special},
    report::ReportKind,
};

/// Lane at fault, and its fault.
pub(super) type Stop = (usize, Trouble);

#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) place: Dim3,
    pub(super) memory: &'a mut Global,
    pub(super) shared: Shared,
    /// Pending copies by thread.
    pub(super) copies: Vec<Copies>,
    ran: &'a mut [bool],
    steps: u64,
}

impl<'a> Block<'a> {
    pub(super) fn new(launch: &'a Launch<'a>, memory: &'a mut Global, ran: &'a mut [bool]) -> Self {
        let copies = (0..launch.block.volume()).map(|_| Copies::default()).collect();
        let shared = Shared::new(launch.shared_bytes, launch.block);
        let place = launch.grid.place(0);
        Self { launch, place, memory, shared, copies, ran, steps: launch.limit }
    }

    /// Runs the block at a place of the grid, with shared memory, copies and warps reset.
    pub(super) fn run(&mut self, place: Dim3, warps: &mut [Warp]) -> Result<(), Report> {
        self.place = place;
        self.shared.restart();
        self.copies.iter_mut().for_each(Copies::forget);
        for warp in &mut *warps {
            warp.restart();
            self.place_in(warp);
        }
        loop {
            for warp in &mut *warps {
                self.run_warp(warp)?;
            }
            if warps.iter().all(|warp| warp.live() == 0) {
                return Ok(());
            }
            self.barrier(warps)?;
        }
    }

    /// Writes the block's index into the special registers of a warp.
    fn place_in(&self, warp: &mut Warp) {
        for (register, special) in &self.launch.entry.specials {
            if let Special::Ctaid(axis) = special {
                let value = u64::from(self.place.axis(*axis));
                warp.put(*register, &[value; LANES], Lanes::MAX);
            }
        }
    }

    /// Runs a warp until every lane has ended or all of them wait at one barrier.
    fn run_warp(&mut self, warp: &mut Warp) -> Result<(), Report> {
        while let Some(mut group) = warp.next() {
            while self.step(warp, &mut group)? {}
        }
        self.check_waiting(warp)
    }

    /// Executes one instruction of a group. Returns true if the group continues unchanged.
    fn step(&mut self, warp: &mut Warp, group: &mut Group) -> Result<bool, Report> {
        let at = &self.launch.entry.code[group.at];
        self.count(at, warp, group.lanes)?;
        let lanes = warp.admitted(at.guard, group.lanes);
        self.ran[group.at] |= lanes != 0 || matches!(at.form.op, Op::Branch);
        if lanes == 0 {
            return Ok(warp.go_on(group));
        }
        match at.form.op {
            Op::Branch => {
                let [Operand::Target(target)] = at.operands[..] else { return Ok(false) };
                return Ok(warp.branch(group, lanes, target));
            }
            Op::Return => {
                warp.exited |= lanes;
                return Ok(warp.stay(group, lanes));
            }
            Op::Barrier => {
                warp.waiting |= lanes;
                return Ok(warp.stay(group, lanes));
            }
            Op::Together(what) => {
                if !self.together(warp, at, what, lanes)? {
                    warp.waiting |= lanes;
                    return Ok(warp.stay(group, lanes));
                }
            }
            _ => {
                self.act(warp, at, lanes).map_err(|stop| self.wrong(at, warp, stop))?;
            }
        }
        Ok(warp.go_on(group))
    }

    fn count(&mut self, at: &Instruction, warp: &Warp, lanes: Lanes) -> Result<(), Report> {
        if let Some(left) = self.steps.checked_sub(1) {
            self.steps = left;
            return Ok(());
        }
        let kind = ReportKind::StepLimit { limit: self.launch.limit };
        Err(self.report(at, warp, lanes.trailing_zeros(), kind, None))
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

    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "a lane is below 32")]
    pub(super) fn wrong(&self, at: &Instruction, warp: &Warp, (lane, wrong): Stop) -> Report {
        self.report(at, warp, lane as u32, wrong.kind, wrong.address)
    }
}
