//! The table of instruction forms: every spelling that the interpreter knows, with its operands and its meaning. What is not
//! here, to the last suffix, is refused.
//!
//! Meanings are those of NVIDIA's "Parallel Thread Execution ISA", chapter "Instruction Set". A register holds its bits
//! zero-extended to 64; a predicate holds 0 or 1.

mod atomic;
mod bits;
mod compare;
mod control;
mod convert;
mod double;
mod float;
mod integer;
mod lanes;
mod matrix;
mod memory;
mod number;
mod transfer;

pub(crate) use self::lanes::{LANES, Values};

/// Two elements of 16 bits of each lane's register, the low one first.
pub(crate) type Pairs = fn(&Values) -> [[f64; 2]; LANES];
use std::{collections::HashMap, sync::LazyLock};

use crate::module::Capability;
pub(crate) use crate::report::Space;

/// Widths of registers; PTX types of one width share them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd)]
pub(crate) enum Class {
    Predicate,
    W16,
    W32,
    W64,
}

impl Class {
    /// The class that `.reg` of this type declares.
    pub(crate) fn of_type(name: &str) -> Option<Self> {
        Some(match name {
            ".pred" => Self::Predicate,
            ".b16" | ".u16" | ".s16" | ".f16" => Self::W16,
            ".b32" | ".u32" | ".s32" | ".f32" => Self::W32,
            ".b64" | ".u64" | ".s64" | ".f64" => Self::W64,
            _ => return None,
        })
    }

    pub(crate) fn mask(self) -> u64 {
        match self {
            Self::Predicate => 1,
            Self::W16 => 0xffff,
            Self::W32 => 0xffff_ffff,
            Self::W64 => u64::MAX,
        }
    }
}

/// What may stand in an operand's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A register that is written.
    To(Class),
    /// A register that is written, and behind a bar a predicate, where the text has one.
    ToMaybeAlso(Class),
    /// As `To`, or a wider register, whose upper bits become zero: what the ISA allows loads of integers.
    ToWider(Class),
    /// A register or a literal.
    From(Class),
    /// As `From`, or a wider register, of which the low bits count: what the ISA allows stores of integers.
    FromWider(Class),
    /// As `From`, or a special register, or the address of a shared variable or a parameter.
    Any(Class),
    /// A literal.
    Number,
    /// A literal that is an operand like any other.
    Literal(Class),
    /// A literal of this value alone.
    Exactly(u64),
    /// Registers in braces that are written; `_` drops an element.
    ToVector(Class, usize),
    /// Registers and literals in braces.
    FromVector(Class, usize),
    /// An address in brackets.
    Memory(Space),
    Label,
}

/// What an atomic makes of what is in memory, its value, and the value to put there in the end.
pub(crate) type Change = fn(u64, u64, u64) -> u64;

/// What a form does. The first operand is where results go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    One(fn(&Values, &mut Values)),
    Two(fn(&Values, &Values, &mut Values)),
    Three(fn(&Values, &Values, &Values, &mut Values)),
    Four(fn([&Values; 4], &mut Values)),
    /// A vector's elements of this many bits side by side, the first lowest.
    Pack(usize),
    /// The reverse.
    Unpack(usize),
    /// Bytes of one element; as many elements as the vector has.
    Load(Space, usize),
    /// The element's sign fills the register, of this class.
    LoadSigned(Space, usize, Class),
    Store(Space, usize),
    /// Result, address, one value or two: the old value is the result, the function makes the new one.
    Atomic(Space, usize, Change),
    /// As `Atomic`, without a result.
    Reduce(Space, usize, Change),
    /// What lanes do together; the last operand says which of them.
    Together(Together),
    /// The lanes that are here, as a mask.
    ActiveMask,
    Branch,
    Return,
    Trap,
    Barrier,
    /// Nothing that shows where one thread runs at a time and writes are seen at once.
    Fence,
    CopyAsync,
    CopyCommit,
    CopyWait,
}

/// What lanes of a warp do together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Together {
    Shuffle(Shuffle),
    Vote(Vote),
    /// Orders what the lanes did to memory.
    Barrier,
    /// All lanes get what this makes of everybody's value.
    Reduce(fn(u64, u64) -> u64),
    /// A product of matrices, whose 16-bit elements this reads; all lanes of the warp must come.
    Multiply(Pairs),
    /// Matrices of 8 by 8 elements from shared memory, each by its rows or by its columns; all lanes must come.
    LoadMatrix {
        transposed: bool,
    },
}

/// How a shuffle finds its source lane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What a vote tells of the predicates, or of the values, that lanes bring.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
    /// The lanes with the same value as one's own.
    Match,
}

/// One spelling.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) operands: &'static [Kind],
    pub(crate) op: Op,
    /// The least compute capability that has it, of those that matter here.
    pub(crate) since: Capability,
}

impl Form {
    const fn new(name: &'static str, operands: &'static [Kind], op: Op) -> Self {
        Self { name, operands, op, since: Capability::SM_75 }
    }

    const fn since(mut self, capability: Capability) -> Self {
        self.since = capability;
        self
    }

    /// Whether a host gets the same bits: subnormals kept, nothing that a compiler may contract into `fma`.
    pub(crate) fn is_reproducible(&self) -> bool {
        let contracted = ["add.f32", "sub.f32", "mul.f32", "add.f64", "sub.f64", "mul.f64"];
        !contracted.contains(&self.name) && !self.name.split('.').any(|part| part == "ftz")
    }

    /// Whether nothing runs on from it, unless it is guarded.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.op, Op::Branch | Op::Return | Op::Trap)
    }
}

/// All of them.
pub(crate) fn forms() -> impl Iterator<Item = &'static Form> {
    let tables = [control::FORMS, float::FORMS, double::FORMS, bits::FORMS, transfer::FORMS];
    let types = [integer::FORMS, compare::FORMS, convert::FORMS, matrix::FORMS];
    let spaces = [memory::FORMS, atomic::FORMS];
    let types = types.into_iter().chain(spaces.into_iter().flatten().copied());
    tables.into_iter().chain(types.flatten().copied()).flatten()
}

/// Those with exactly this spelling: one, or some that differ in their operands.
pub(crate) fn spelled(name: &str) -> &'static [&'static Form] {
    static BY_NAME: LazyLock<HashMap<&str, Vec<&Form>>> = LazyLock::new(|| {
        let mut by_name = HashMap::<_, Vec<_>>::new();
        for form in forms() {
            by_name.entry(form.name).or_default().push(form);
        }
        by_name
    });
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_is_in_the_table_twice() {
        let mut forms: Vec<_> = forms().map(|form| (form.name, form.operands)).collect();
        forms.sort_unstable_by_key(|form| form.0);
        for pair in forms.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
