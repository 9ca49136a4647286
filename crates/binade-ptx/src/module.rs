//! Decoded PTX modules: entries with their instructions, ready to run.

use std::{collections::HashMap, fmt};

use crate::{ParseError, isa::Form, parse};

/// Compute capability of a GPU, as `.target sm_75` names it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Capability {
    /// Number before the point.
    pub major: u8,
    /// Number after the point, one digit.
    pub minor: u8,
}

impl Capability {
    /// Capability 7.5, the least that the kernels are built for.
    pub const SM_75: Self = Self { major: 7, minor: 5 };
    /// Capability 8.0, which adds `cp.async` and bf16 conversions.
    pub const SM_80: Self = Self { major: 8, minor: 0 };
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Parsed PTX text.
#[derive(Debug)]
pub struct Module {
    pub(crate) target: Capability,
    pub(crate) entries: Vec<Entry>,
    /// Names of source files by their number in `.loc`.
    pub(crate) files: HashMap<u32, String>,
    /// Unique number of the module, since entries of two modules may share a name.
    pub(crate) id: u64,
}

impl Module {
    /// Parses PTX. It accepts only float arithmetic that a host repeats bit for bit: no `.ftz`, and no `add`, `sub` and `mul` without a rounding
    /// mode, which a compiler may contract into `fma`. `mma`, whose sums the ISA leaves open, runs: see the crate's page.
    ///
    /// # Errors
    /// [`ParseError`] with the PTX line, for anything that the interpreter does not know exactly.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::module(text)
    }

    /// Returns the entries' names in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Returns the instruction forms in the module, each as often as it occurs.
    pub fn forms(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().flat_map(|entry| &entry.code).map(|instruction| instruction.form.name)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

/// Kernel of a module.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) code: Vec<Instruction>,
    pub(crate) registers: usize,
    /// Registers that hold a literal, with its value.
    pub(crate) literals: Vec<(usize, u64)>,
    /// Registers that the hardware fills, with their source.
    pub(crate) specials: Vec<(usize, Special)>,
    /// Bytes of static shared memory; the launch's dynamic shared memory lies behind them.
    pub(crate) shared_bytes: u64,
}

/// Parameter of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    /// PTX type without its point: `u64`, `f32`, or `b8` for an array.
    pub(crate) kind: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Entry {
    /// Returns the size in bytes of the block of parameters.
    pub(crate) fn param_bytes(&self) -> u64 {
        self.params.last().map_or(0, |last| last.offset + last.bytes)
    }
}

/// Decoded instruction.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) form: &'static Form,
    pub(crate) guard: Option<Guard>,
    pub(crate) operands: Vec<Operand>,
    /// Line in the PTX text, from 1.
    pub(crate) line: u32,
    /// File number and line in the source, from `.loc`.
    pub(crate) source: Option<(u32, u32)>,
}

/// Predicate that guards an instruction: `@%p` or `@!%p`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) register: usize,
    pub(crate) negated: bool,
}

/// Operand with its names resolved. Literals and special registers have registers of their own, so that every value is read from
/// a register.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Register(usize),
    Address {
        register: usize,
        offset: u64,
    },
    Vector(Vec<usize>),
    /// Registers of a result and of a predicate.
    Pair(usize, usize),
    /// Index into the entry's code.
    Target(usize),
}

/// Value that the hardware puts into a register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Special {
    /// Index of the thread in its block, along an axis.
    Tid(usize),
    /// Threads of a block, along an axis.
    Ntid(usize),
    /// Index of the block in the grid, along an axis.
    Ctaid(usize),
    /// Blocks of the grid, along an axis.
    Nctaid(usize),
    LaneId,
}

impl Instruction {
    /// Returns the register of an operand, the first one if it has several, 0 if it has none.
    pub(crate) fn register(&self, index: usize) -> usize {
        self.registers(index).first().copied().unwrap_or(0)
    }

    /// Returns the registers of an operand: one, or a vector's.
    pub(crate) fn registers(&self, index: usize) -> &[usize] {
        match &self.operands[index] {
            Operand::Register(register)
            | Operand::Address { register, .. }
            | Operand::Pair(register, _) => std::slice::from_ref(register),
            Operand::Vector(list) => list,
            Operand::Target(_) => &[],
        }
    }

    /// Returns the bytes added to the register of an address; 0 for other operands.
    pub(crate) fn offset(&self, index: usize) -> u64 {
        if let Operand::Address { offset, .. } = self.operands[index] { offset } else { 0 }
    }
}
