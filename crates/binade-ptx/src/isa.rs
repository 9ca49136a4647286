//! Table of instruction forms: every spelling that the interpreter knows, with its operands and its meaning. An opcode that is
//! not in it, to the last suffix, is refused.
//!
//! Meanings are those of NVIDIA's "Parallel Thread Execution ISA", chapter "Instruction Set". A register holds its bits
//! zero-extended to 64; a predicate holds 0 or 1.

mod arithmetic;
mod bits;
mod control;
mod convert;
mod lanes;
mod matrix;
mod memory;
mod number;

pub(crate) use self::lanes::{LANES, Values};

/// Two elements of 16 bits of each lane's register, the low one first.
pub(crate) type Pairs = fn(&Values) -> [[f64; 2]; LANES];
use std::{collections::HashMap, sync::LazyLock};

use crate::module::Capability;
pub(crate) use crate::report::Space;

/// Width of a register; PTX types of one width share it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd)]
pub(crate) enum Class {
    Predicate,
    W16,
    W32,
    W64,
}

impl Class {
    /// Returns the class of registers that `.reg` declares with this type.
    pub(crate) fn of_type(name: &str) -> Option<Self> {
        Some(match name {
            ".pred" => Self::Predicate,
            ".b16" | ".u16" | ".s16" | ".f16" => Self::W16,
            ".b32" | ".u32" | ".s32" | ".f32" => Self::W32,
            ".b64" | ".u64" | ".s64" | ".f64" => Self::W64,
            _ => return None,
        })
    }

    /// Returns the class that a signature in the table names by this letter.
    fn of_letter(letter: char) -> Self {
        match letter {
            'p' => Self::Predicate,
            'h' => Self::W16,
            'w' => Self::W32,
            _ => Self::W64,
        }
    }

    fn bits(self) -> usize {
        match self {
            Self::Predicate => 1,
            Self::W16 => 16,
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }

    pub(crate) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// Kind of operand in one position of a form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Register that is written.
    To(Class),
    /// Register that is written, and optionally a predicate behind a bar.
    ToMaybeAlso(Class),
    /// Destination register of the class or wider, whose upper bits become zero: the ISA allows it to loads of integers.
    ToWider(Class),
    /// Register or literal of the class.
    From(Class),
    /// Source register of the class or wider, whose low bits are used, or a literal: the ISA allows it for stores of integers.
    FromWider(Class),
    /// Source of a move: as `From`, or a special register, or the address of a shared variable or a parameter.
    Any(Class),
    /// Literal that is stored as a number, not in a register.
    Number,
    /// Literal of this one value.
    Exactly(u64),
    /// Registers in braces that are written; `_` drops an element.
    ToVector(Class, usize),
    /// Registers and literals in braces.
    FromVector(Class, usize),
    /// Address in brackets.
    Memory(Space),
    Label,
}

/// Function of an atomic: from the old value and two operands, the value that is stored.
pub(crate) type Change = fn(u64, u64, u64) -> u64;

/// Action of a form. The first operand is the destination.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    One(fn(&Values, &mut Values)),
    Two(fn(&Values, &Values, &mut Values)),
    Three(fn(&Values, &Values, &Values, &mut Values)),
    Four(fn([&Values; 4], &mut Values)),
    /// Packs a vector's elements of this many bits side by side, the first lowest.
    Pack(usize),
    /// Unpacks a register into elements of this many bits, the lowest first.
    Unpack(usize),
    /// Loads elements of this many bytes, as many as the vector has.
    Load(Space, usize),
    /// Loads elements of this many bytes; the element's sign fills the register, of this class.
    LoadSigned(Space, usize, Class),
    Store(Space, usize),
    /// Stores the function's result and returns the old value. Operands: result, address, one value or two.
    Atomic(Space, usize, Change),
    /// Exchanges values among lanes. The last operand is the mask of the participating lanes.
    Together(Together),
    Branch,
    Return,
    Trap,
    Barrier,
    /// Orders memory. It does nothing here: one thread runs at a time, and writes are visible at once.
    Fence,
    CopyAsync,
    CopyCommit,
    CopyWait,
}

/// Action of several lanes of a warp together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Together {
    Shuffle(Shuffle),
    /// Mask of the lanes whose value equals the lane's own.
    Match,
    /// Orders the lanes' accesses to memory.
    Barrier,
    /// A product of matrices, whose 16-bit elements this reads; all lanes of the warp must come.
    Multiply(Pairs),
    /// Matrices of 8 by 8 elements from shared memory, each by its rows or by its columns; all lanes must come.
    LoadMatrix {
        transposed: bool,
    },
}

/// Rule for a shuffle's source lane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shuffle {
    Down,
    Butterfly,
}

/// Instruction form: one spelling with one list of operands.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) operands: Vec<Kind>,
    pub(crate) op: Op,
    /// Least compute capability that has the form; `SM_75` for those that every supported target has.
    pub(crate) since: Capability,
}

impl Form {
    /// Returns true if execution never continues at the next instruction, unless the instruction is guarded.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.op, Op::Branch | Op::Return | Op::Trap)
    }
}

/// Table of forms while it is written.
#[derive(Debug, Default)]
struct Table(Vec<Form>);

impl Table {
    /// Adds a form whose operands are registers and literals, by its signature: a letter for the class of the result and, behind
    /// `=`, of each operand.
    fn add(&mut self, name: impl Into<String>, signature: &str, op: Op) -> &mut Form {
        let (to, from) = signature.split_once('=').unwrap_or_default();
        let to = to.chars().map(|letter| Kind::To(Class::of_letter(letter)));
        let from = from.chars().map(|letter| Kind::From(Class::of_letter(letter)));
        self.form(name, to.chain(from).collect(), op)
    }

    /// Adds a form by the kinds of its operands.
    fn form(&mut self, name: impl Into<String>, operands: Vec<Kind>, op: Op) -> &mut Form {
        let name = name.into().leak();
        self.0.push_mut(Form { name, operands, op, since: Capability::SM_75 })
    }
}

/// Returns all forms, in no particular order.
pub(crate) fn forms() -> &'static [Form] {
    static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
        let mut table = Table::default();
        let parts =
            [arithmetic::add, bits::add, control::add, convert::add, matrix::add, memory::add];
        for add in parts {
            add(&mut table);
        }
        table.0
    });
    &FORMS
}

/// Returns the forms with exactly this spelling: one, or several that differ in their operands.
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
        let mut forms: Vec<_> = forms().iter().map(|form| (form.name, &form.operands)).collect();
        forms.sort_unstable_by_key(|form| form.0);
        for pair in forms.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
