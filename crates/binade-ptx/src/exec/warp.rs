//! Warp of 32 lanes with registers and a place in the code each, and the order in which lanes run.
//!
//! The lanes at the lowest instruction run first. After a branch they so catch up with the others, and run with them from where they meet. Lanes that
//! wait for others of their warp do not run until those arrive.

use crate::{
    isa::{LANES, Values},
    module::{Guard, Instruction},
};

/// Set of lanes, one bit each.
pub(super) type Lanes = u32;

#[derive(Debug)]
pub(super) struct Warp {
    registers: Vec<Values>,
    /// Index of the next instruction of each lane outside the running group.
    pub(super) at: [usize; LANES],
    /// Lanes that have a thread.
    pub(super) exist: Lanes,
    pub(super) exited: Lanes,
    pub(super) waiting: Lanes,
    /// Number, in the block, of lane 0's thread.
    pub(super) first: u32,
    /// Clock of the last barrier that ordered shared memory among all lanes; see `shared`.
    pub(super) ordered: u32,
}

/// Lanes that run together from one instruction until they reach an instruction at which others wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) at: usize,
    pub(super) lanes: Lanes,
    until: usize,
}

/// Value of `until` for a group with all live lanes.
const ALONE: usize = usize::MAX;

/// Returns the lanes of a set, lowest first.
pub(super) fn each(mut lanes: Lanes) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = lanes.trailing_zeros();
        lanes &= lanes.wrapping_sub(1);
        (lane < Lanes::BITS).then_some(lane as usize)
    })
}

/// Returns the lanes for which a predicate holds.
pub(super) fn set(predicate: &Values) -> Lanes {
    let bits = predicate.iter().enumerate();
    bits.fold(0, |set, (lane, value)| set | Lanes::from(*value == 1) << lane)
}

impl Warp {
    pub(super) fn new(registers: Vec<Values>, first: u32, threads: u32) -> Self {
        let exist = if threads >= 32 { Lanes::MAX } else { (1 << threads) - 1 };
        Self { registers, at: [0; LANES], exist, exited: 0, waiting: 0, first, ordered: 0 }
    }

    pub(super) fn into_registers(self) -> Vec<Values> {
        self.registers
    }

    /// Resets the warp for the next block. Registers keep their values, since clearing them all is slow: no result may depend on a register that its
    /// thread has not written.
    pub(super) fn restart(&mut self) {
        (self.at, self.exited, self.waiting, self.ordered) = ([0; LANES], 0, 0, 0);
    }

    pub(super) fn live(&self) -> Lanes {
        self.exist & !self.exited
    }

    /// Returns the lanes to run next: all at the lowest instruction where one of them need not wait.
    pub(super) fn next(&mut self) -> Option<Group> {
        let live = self.live();
        let at = each(live & !self.waiting).map(|lane| self.at[lane]).min()?;
        let lanes = self.standing(at);
        self.waiting &= !lanes;
        // Only a jump can reach lanes that wait at a lower instruction, and it ends the group unless the group is alone.
        let others = each(live & !lanes).map(|lane| self.at[lane]).filter(|&other| other > at);
        let until = if lanes == live { ALONE } else { others.min().unwrap_or(ALONE - 1) };
        Some(Group { at, lanes, until })
    }

    pub(super) fn standing(&self, at: usize) -> Lanes {
        let here = each(self.live()).filter(|&lane| self.at[lane] == at);
        here.fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// Returns the lanes of `lanes` whose guard holds.
    pub(super) fn admitted(&self, guard: Option<Guard>, lanes: Lanes) -> Lanes {
        let Some(Guard { register, negated }) = guard else { return lanes };
        let holds = set(self.of(register));
        lanes & if negated { !holds } else { holds }
    }

    /// Moves a group to the next instruction. Returns true if the group goes on unchanged.
    pub(super) fn go_on(&mut self, group: &mut Group) -> bool {
        group.at += 1;
        if group.at >= group.until {
            self.place(group.lanes, group.at);
        }
        group.at < group.until
    }

    /// Moves the `taken` lanes to the target and the others on. Returns true if the group goes on unchanged.
    pub(super) fn branch(&mut self, group: &mut Group, taken: Lanes, target: usize) -> bool {
        if taken == group.lanes && group.until == ALONE {
            group.at = target;
            return true;
        }
        self.place(group.lanes & !taken, group.at + 1);
        self.place(taken, target);
        false
    }

    /// Leaves `lanes` at this instruction and moves the others on. Returns false: the group ends.
    pub(super) fn stay(&mut self, group: &Group, lanes: Lanes) -> bool {
        self.place(lanes, group.at);
        self.place(group.lanes & !lanes, group.at + 1);
        false
    }

    fn place(&mut self, lanes: Lanes, at: usize) {
        for lane in each(lanes) {
            self.at[lane] = at;
        }
    }

    /// Moves all live lanes past the block's barrier.
    pub(super) fn pass(&mut self) {
        for lane in each(self.live()) {
            self.at[lane] += 1;
        }
        self.waiting = 0;
    }

    /// Returns the values of a register, by lane.
    pub(super) fn of(&self, register: usize) -> &Values {
        &self.registers[register]
    }

    /// Returns the values of an operand, by lane.
    pub(super) fn operand(&self, at: &Instruction, index: usize) -> &Values {
        self.of(at.register(index))
    }

    pub(super) fn set(&mut self, register: usize, lane: usize, value: u64) {
        self.registers[register][lane] = value;
    }

    /// Writes a register for some lanes.
    pub(super) fn put(&mut self, register: usize, values: &Values, lanes: Lanes) {
        let to = &mut self.registers[register];
        if lanes == Lanes::MAX {
            *to = *values;
            return;
        }
        for lane in each(lanes) {
            to[lane] = values[lane];
        }
    }

    /// Returns each lane's address: the operand's register plus its offset.
    pub(super) fn addresses(&self, at: &Instruction, index: usize) -> Values {
        let offset = at.offset(index);
        self.operand(at, index).map(|base| base.wrapping_add(offset))
    }
}
