//! A warp: 32 lanes with a register file and a place in the code each, and the order in which they go on.
//!
//! The lanes that stand lowest go first, so that those who took a branch catch up with those who did not, and go on together from
//! where they meet. Lanes that wait for others of their warp are passed over until those come.

use crate::module::{Guard, Operand};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// A set of lanes, one bit each.
pub(super) type Lanes = u32;

#[derive(Debug)]
pub(super) struct Warp {
    /// By register, then lane.
    registers: Vec<[u64; LANES]>,
    pub(super) at: [usize; LANES],
    /// Lanes that have a thread.
    pub(super) exist: Lanes,
    pub(super) exited: Lanes,
    pub(super) waiting: Lanes,
    /// The number in the block of lane 0's thread.
    pub(super) first: u32,
}

/// The lanes of a set, lowest first.
pub(super) fn each(lanes: Lanes) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| lanes >> lane & 1 == 1)
}

impl Warp {
    pub(super) fn new(registers: usize, first: u32, threads: u32) -> Self {
        let exist = if threads >= 32 { Lanes::MAX } else { (1 << threads) - 1 };
        let registers = vec![[0; LANES]; registers];
        Self { registers, at: [0; LANES], exist, exited: 0, waiting: 0, first }
    }

    pub(super) fn live(&self) -> Lanes {
        self.exist & !self.exited
    }

    /// The lanes to go on with: all that stand at the lowest place where one of them need not wait.
    pub(super) fn next(&self) -> Option<(usize, Lanes)> {
        let at = each(self.live() & !self.waiting).map(|lane| self.at[lane]).min()?;
        Some((at, self.standing(at)))
    }

    pub(super) fn standing(&self, at: usize) -> Lanes {
        each(self.live())
            .filter(|&lane| self.at[lane] == at)
            .fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// Those of `lanes` whose guard lets them.
    pub(super) fn admitted(&self, guard: Option<Guard>, lanes: Lanes) -> Lanes {
        let Some(Guard { register, negated }) = guard else { return lanes };
        let holds = |lane: &usize| (self.registers[register][*lane] == 1) != negated;
        each(lanes).filter(holds).fold(0, |lanes, lane| lanes | 1 << lane)
    }

    pub(super) fn advance(&mut self, lanes: Lanes) {
        for lane in each(lanes) {
            self.at[lane] += 1;
        }
        self.waiting &= !lanes;
    }

    pub(super) fn jump(&mut self, lanes: Lanes, to: usize) {
        for lane in each(lanes) {
            self.at[lane] = to;
        }
    }

    pub(super) fn get(&self, register: usize, lane: usize) -> u64 {
        self.registers[register][lane]
    }

    pub(super) fn set(&mut self, operand: &Operand, lane: usize, value: u64) {
        if let Operand::Register(register) = operand {
            self.registers[*register][lane] = value;
        }
    }

    /// A shuffle's result, and the predicate where the text asks for it.
    pub(super) fn set_shuffled(&mut self, to: &Operand, lane: usize, value: u64, is_inside: bool) {
        match to {
            Operand::Pair(register, predicate) => {
                self.registers[*register][lane] = value;
                self.registers[*predicate][lane] = u64::from(is_inside);
            }
            other => self.set(other, lane, value),
        }
    }

    /// The registers that a load fills or a store empties.
    pub(super) fn set_element(&mut self, operand: &Operand, index: usize, lane: usize, value: u64) {
        match operand {
            Operand::Vector(list) => self.registers[list[index]][lane] = value,
            other => self.set(other, lane, value),
        }
    }
}
