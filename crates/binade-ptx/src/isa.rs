//! The table of instruction forms: every spelling that the interpreter knows, with its operands and its meaning. What is not
//! here, to the last suffix, is refused.
//!
//! Meanings are those of NVIDIA's "Parallel Thread Execution ISA", chapter "Instruction Set". A register holds its bits
//! zero-extended to 64; a predicate holds 0 or 1.

mod control;
mod float;
mod integer;
mod transfer;

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
#[derive(Clone, Copy, Debug)]
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
    /// As `From`, or a special register, or a shared variable's address.
    Any(Class),
    /// A literal.
    Number,
    /// A literal of this value alone.
    Exactly(u64),
    /// Registers in braces.
    Vector(Class, usize),
    /// An address in brackets.
    Memory(Space),
    Label,
}

/// What a form does. The first operand is where results go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    One(fn(u64) -> u64),
    Two(fn(u64, u64) -> u64),
    Three(fn(u64, u64, u64) -> u64),
    /// Bytes of one element; as many elements as the vector has.
    Load(Space, u64),
    Store(Space, u64),
    /// Result, address, value: the old value is the result, the function makes the new one.
    Atomic(u64, fn(u64, u64) -> u64),
    Shuffle(Shuffle),
    Branch,
    Return,
    Barrier,
    CopyAsync,
    CopyCommit,
    CopyWait,
}

/// How a shuffle finds its source lane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
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
        let may_contract = ["add.f32", "sub.f32", "mul.f32"].contains(&self.name);
        !may_contract && !self.name.split('.').any(|part| part == "ftz")
    }

    /// Whether nothing runs on from it, unless it is guarded.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.op, Op::Branch | Op::Return)
    }
}

/// All of them.
pub(crate) fn forms() -> impl Iterator<Item = &'static Form> {
    [control::FORMS, float::FORMS, integer::FORMS, transfer::FORMS].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_is_in_the_table_twice() {
        let mut names: Vec<_> = forms().map(|form| form.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
