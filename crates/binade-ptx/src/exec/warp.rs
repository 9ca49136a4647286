//! A warp: 32 lanes with a register file and a place in the code each, and the order in which they go on.
//!
//! The lanes that stand lowest go first, so that those who took a branch catch up with those who did not, and go on together from
//! where they meet. Lanes that wait for others of their warp are passed over until those come.

use crate::{
    isa::{LANES, Values},
    module::{Guard, Instruction},
};

/// A set of lanes, one bit each.
pub(super) type Lanes = u32;

#[derive(Debug)]
pub(super) struct Warp {
    registers: Vec<Values>,
    /// Where lanes stand that are not in the group that runs.
    pub(super) at: [usize; LANES],
    /// Lanes that have a thread.
    pub(super) exist: Lanes,
    pub(super) exited: Lanes,
    pub(super) waiting: Lanes,
    /// The number in the block of lane 0's thread.
    pub(super) first: u32,
    /// When shared memory last was ordered among all lanes; see `shared`.
    pub(super) ordered: u32,
}

/// Lanes that stand at one place, and run until they come to where others stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) at: usize,
    pub(super) lanes: Lanes,
    until: usize,
}

/// Nobody stands elsewhere.
const ALONE: usize = usize::MAX;

/// The lanes of a set, lowest first.
pub(super) fn each(mut lanes: Lanes) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = lanes.trailing_zeros();
        lanes &= lanes.wrapping_sub(1);
        (lane < Lanes::BITS).then_some(lane as usize)
    })
}

/// The lanes for which a predicate holds.
pub(super) fn set(predicate: &Values) -> Lanes {
    let bits = predicate.iter().enumerate();
    bits.fold(0, |set, (lane, value)| set | Lanes::from(*value == 1) << lane)
}

impl Warp {
    pub(super) fn new(registers: Vec<Values>, first: u32, threads: u32) -> Self {
        let exist = if threads >= 32 { Lanes::MAX } else { (1 << threads) - 1 };
        Self { registers, at: [0; LANES], exist, exited: 0, waiting: 0, first, ordered: 0 }
    }

    /// For the next block. Registers keep what they hold: compilers write each before they read it, and there are too many to clear.
    pub(super) fn restart(&mut self) {
        (self.at, self.exited, self.waiting, self.ordered) = ([0; LANES], 0, 0, 0);
    }

    pub(super) fn live(&self) -> Lanes {
        self.exist & !self.exited
    }

    /// The lanes to go on with: all that stand at the lowest place where one of them need not wait.
    pub(super) fn next(&mut self) -> Option<Group> {
        let live = self.live();
        let at = each(live & !self.waiting).map(|lane| self.at[lane]).min()?;
        let lanes = self.standing(at);
        self.waiting &= !lanes;
        // Those that wait further up are met only by a jump, which ends the group where it is not alone.
        let others = each(live & !lanes).map(|lane| self.at[lane]).filter(|&other| other > at);
        let until = if lanes == live { ALONE } else { others.min().unwrap_or(ALONE - 1) };
        Some(Group { at, lanes, until })
    }

    pub(super) fn standing(&self, at: usize) -> Lanes {
        let here = each(self.live()).filter(|&lane| self.at[lane] == at);
        here.fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// Those of `lanes` whose guard lets them.
    pub(super) fn admitted(&self, guard: Option<Guard>, lanes: Lanes) -> Lanes {
        let Some(Guard { register, negated }) = guard else { return lanes };
        let holds = set(self.of(register));
        lanes & if negated { !holds } else { holds }
    }

    /// To the next instruction; whether the group goes on as it is.
    pub(super) fn go_on(&mut self, group: &mut Group) -> bool {
        group.at += 1;
        if group.at >= group.until {
            self.place(group.lanes, group.at);
        }
        group.at < group.until
    }

    /// Some jump, the others do not; whether the group goes on as it is.
    pub(super) fn branch(&mut self, group: &mut Group, taken: Lanes, target: usize) -> bool {
        if taken == group.lanes && group.until == ALONE {
            group.at = target;
            return true;
        }
        self.place(group.lanes & !taken, group.at + 1);
        self.place(taken, target);
        false
    }

    /// Some stay where they are, the others go on; the group ends.
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

    /// All who wait at the block's barrier pass it.
    pub(super) fn pass(&mut self) {
        for lane in each(self.live()) {
            self.at[lane] += 1;
        }
        self.waiting = 0;
    }

    /// What a register holds.
    pub(super) fn of(&self, register: usize) -> &Values {
        &self.registers[register]
    }

    /// What an operand holds.
    pub(super) fn operand(&self, at: &Instruction, index: usize) -> &Values {
        self.of(at.register(index))
    }

    pub(super) fn set(&mut self, register: usize, lane: usize, value: u64) {
        self.registers[register][lane] = value;
    }

    /// Fills a register for some lanes.
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

    /// Addresses, each a register's value and an offset.
    pub(super) fn addresses(&self, at: &Instruction, index: usize) -> Values {
        let offset = at.offset(index);
        self.operand(at, index).map(|base| base.wrapping_add(offset))
    }
}
