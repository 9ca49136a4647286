//! What a PTX text says, decoded: entries with their instructions, ready to run.

use std::{collections::HashMap, fmt};

use crate::{ParseError, isa::Form, parse};

/// A GPU's compute capability, as `.target sm_75` names it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Capability {
    /// Before the point.
    pub major: u8,
    /// After the point, one digit.
    pub minor: u8,
}

impl Capability {
    /// 7.5: the least that the kernels are built for.
    pub const SM_75: Self = Self { major: 7, minor: 5 };
    /// 8.0: `cp.async` and bf16 conversions.
    pub const SM_80: Self = Self { major: 8, minor: 0 };
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Which arithmetic a module may hold.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Strictness {
    /// Refuse `.ftz` and `add`, `sub`, `mul` without a rounding mode, which a compiler may contract into `fma`: the result would
    /// not be the host's bit for bit. `mma`, whose sums the ISA leaves open, runs: see the crate's page.
    #[default]
    Reproducible,
    /// Run those as well: unsuffixed arithmetic rounds to nearest even and is never contracted.
    Any,
}

/// A parsed PTX text.
#[derive(Debug)]
pub struct Module {
    pub(crate) version: String,
    pub(crate) target: Capability,
    pub(crate) entries: Vec<Entry>,
    /// Names of source files by the number that `.loc` uses.
    pub(crate) files: HashMap<u32, String>,
    /// The `.const` variables, one behind the other.
    pub(crate) constants: Vec<u8>,
    /// Tells modules apart whose entries share a name.
    pub(crate) id: u64,
}

impl Module {
    /// Parses PTX under [`Strictness::Reproducible`].
    ///
    /// # Errors
    /// [`ParseError`] with the PTX line, for anything that the interpreter does not know exactly.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_with(text, Strictness::default())
    }

    /// Parses PTX.
    ///
    /// # Errors
    /// As [`Module::parse`].
    pub fn parse_with(text: &str, strictness: Strictness) -> Result<Self, ParseError> {
        parse::module(text, strictness)
    }

    /// What `.version` says.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What `.target` says.
    pub fn target(&self) -> Capability {
        self.target
    }

    /// The entries' names in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The forms of instruction that the module holds, each as often as it occurs.
    pub fn forms(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().flat_map(|entry| &entry.code).map(|instruction| instruction.form.name)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

/// One kernel.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) code: Vec<Instruction>,
    pub(crate) registers: usize,
    /// Registers that hold a literal.
    pub(crate) literals: Vec<(usize, u64)>,
    /// Registers that the hardware fills.
    pub(crate) specials: Vec<(usize, Special)>,
    /// Bytes of shared memory that the text declares; what the launch asks for comes behind them.
    pub(crate) shared_bytes: u64,
}

/// One parameter of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    /// The PTX type without its point: `u64`, `f32`, or `b8` for an array.
    pub(crate) kind: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Entry {
    /// The size of the parameters laid out one behind the other.
    pub(crate) fn param_bytes(&self) -> u64 {
        self.params.last().map_or(0, |last| last.offset + last.bytes)
    }
}

/// One decoded instruction.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) form: &'static Form,
    pub(crate) guard: Option<Guard>,
    pub(crate) operands: Vec<Operand>,
    /// In the PTX text, from 1.
    pub(crate) line: u32,
    /// File number and line in the source, from `.loc`.
    pub(crate) source: Option<(u32, u32)>,
}

/// `@%p` or `@!%p`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) register: usize,
    pub(crate) negated: bool,
}

/// An operand, its names resolved. Literals and what the hardware fills have registers of their own, so that whatever is read is
/// read from a register.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Register(usize),
    Address {
        register: usize,
        offset: u64,
    },
    Vector(Vec<usize>),
    /// A result and a predicate.
    Pair(usize, usize),
    /// An index into the entry's code.
    Target(usize),
}

/// What the hardware fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Special {
    /// Thread in block, along an axis.
    Tid(usize),
    /// Threads of a block, along an axis.
    Ntid(usize),
    /// Block in grid, along an axis.
    Ctaid(usize),
    /// Blocks of the grid, along an axis.
    Nctaid(usize),
    LaneId,
    /// The lanes whose numbers stand so to one's own, and one's own as well or not.
    LaneMask(std::cmp::Ordering, bool),
}

impl Instruction {
    pub(crate) fn op(&self) -> crate::isa::Op {
        self.form.op
    }

    /// The register of an operand that is one, or the first of several.
    pub(crate) fn register(&self, index: usize) -> usize {
        self.registers(index).first().copied().unwrap_or(0)
    }

    /// The registers of an operand that is one or a vector.
    pub(crate) fn registers(&self, index: usize) -> &[usize] {
        match &self.operands[index] {
            Operand::Register(register)
            | Operand::Address { register, .. }
            | Operand::Pair(register, _) => std::slice::from_ref(register),
            Operand::Vector(list) => list,
            Operand::Target(_) => &[],
        }
    }

    /// What is added to the register of an address.
    pub(crate) fn offset(&self, index: usize) -> u64 {
        if let Operand::Address { offset, .. } = self.operands[index] { offset } else { 0 }
    }
}
