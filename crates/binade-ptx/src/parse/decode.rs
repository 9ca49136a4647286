//! An instruction as written to one that runs: its form looked up exactly, each operand held to the form.

use super::{names::Names, operand::Written};
use crate::{
    ParseError,
    isa::{self, Class, Form, Kind, Space},
    module::{Capability, Operand, Special, Strictness},
};

/// What an instruction is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) strictness: Strictness,
    pub(super) target: Capability,
}

/// The form with exactly this spelling, if the rules let it in.
pub(super) fn form(opcode: &str, line: u32, rules: Rules) -> Result<&'static Form, ParseError> {
    let form = isa::forms()
        .find(|form| form.name == opcode)
        .ok_or_else(|| ParseError::Form { line, form: opcode.to_owned() })?;
    if rules.strictness == Strictness::Reproducible && !form.is_reproducible() {
        return Err(ParseError::NotReproducible { line, form: form.name });
    }
    if form.since > rules.target {
        let (needs, target) = (form.since, rules.target);
        return Err(ParseError::Target { line, form: form.name, needs, target });
    }
    Ok(form)
}

pub(super) fn operands(
    form: &'static Form,
    written: &[Written<'_>],
    names: &mut Names,
    line: u32,
) -> Result<Vec<Operand>, ParseError> {
    let (expected, found) = (form.operands.len(), written.len());
    if expected != found {
        return Err(ParseError::Operands { line, form: form.name, expected, found });
    }
    let each = form.operands.iter().zip(written).enumerate();
    each.map(|(index, (kind, written))| {
        let mismatch = || ParseError::Operand {
            line,
            form: form.name,
            index: index + 1,
            expected: format!("{kind:?}"),
            found: format!("{written:?}"),
        };
        operand(*kind, written, names, line)?.ok_or_else(mismatch)
    })
    .collect()
}

/// `None` where the operand is not of the kind.
fn operand(
    kind: Kind,
    written: &Written<'_>,
    names: &mut Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    Ok(match (kind, written) {
        (Kind::Label, Written::Name(name)) => Some(Operand::Target(names.label(name, line))),
        (Kind::To(class) | Kind::ToMaybeAlso(class) | Kind::From(class), Written::Name(name)) => {
            register(name, class, names, line)?
        }
        (Kind::ToMaybeAlso(class), Written::Pair(name, also)) => {
            pair(name, also, class, names, line)?
        }
        (Kind::ToWider(class) | Kind::FromWider(class), Written::Name(name)) => {
            wider(name, class, names, line)?
        }
        (Kind::Any(class), Written::Name(name)) => any(name, class, names, line)?,
        (Kind::From(class) | Kind::FromWider(class) | Kind::Any(class), literal) => {
            literal_of(class, literal)
        }
        (Kind::Exactly(only), Written::Integer(value)) => {
            (only == *value).then_some(Operand::Value(only))
        }
        (Kind::Number, Written::Integer(value)) => Some(Operand::Value(*value)),
        (Kind::Vector(class, count), Written::Vector(list)) if list.len() == count => {
            vector(list, class, names, line)?
        }
        (Kind::Memory(space), Written::Address(base, offset)) => {
            address(space, base, *offset, names, line)?
        }
        _ => None,
    })
}

fn undeclared(name: &str, line: u32) -> ParseError {
    ParseError::Undeclared { line, name: name.to_owned() }
}

fn register(
    name: &str,
    class: Class,
    names: &Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    let register = names.register(name).ok_or_else(|| undeclared(name, line))?;
    Ok((register.class == class).then_some(Operand::Register(register.number)))
}

/// Predicates are no wider or narrower than anything.
fn wider(
    name: &str,
    class: Class,
    names: &Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    let register = names.register(name).ok_or_else(|| undeclared(name, line))?;
    let fits = register.class != Class::Predicate && register.class >= class;
    Ok(fits.then_some(Operand::Register(register.number)))
}

fn pair(
    name: &str,
    also: &str,
    class: Class,
    names: &Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    let first = register(name, class, names, line)?;
    let second = register(also, Class::Predicate, names, line)?;
    Ok(match (first, second) {
        (Some(Operand::Register(first)), Some(Operand::Register(second))) => {
            Some(Operand::Pair(first, second))
        }
        _ => None,
    })
}

/// What only a move takes besides registers: special registers and a shared variable's address.
fn any(name: &str, class: Class, names: &Names, line: u32) -> Result<Option<Operand>, ParseError> {
    if let Some(special) = special(name) {
        return Ok((class == Class::W32).then_some(Operand::Special(special)));
    }
    match names.symbols.get(name) {
        Some(symbol) if symbol.space == Space::Shared && class != Class::W16 => {
            Ok(Some(Operand::Value(symbol.offset)))
        }
        Some(_) => Ok(None),
        None => register(name, class, names, line),
    }
}

fn special(name: &str) -> Option<Special> {
    if name == "%laneid" {
        return Some(Special::LaneId);
    }
    let (register, axis) = name.split_once('.')?;
    let axis = ["x", "y", "z"].iter().position(|letter| *letter == axis)?;
    Some(match register {
        "%tid" => Special::Tid(axis),
        "%ntid" => Special::Ntid(axis),
        "%ctaid" => Special::Ctaid(axis),
        "%nctaid" => Special::Nctaid(axis),
        _ => return None,
    })
}

/// A literal that the class can hold: integers as unsigned or as negative numbers of that width.
fn literal_of(class: Class, literal: &Written<'_>) -> Option<Operand> {
    let mask = class.mask();
    match *literal {
        Written::Float(bits) if class == Class::W32 => Some(Operand::Value(u64::from(bits))),
        Written::Integer(value) if class != Class::Predicate => {
            let fits = value & !mask == 0 || (!value & !(mask >> 1)) == 0;
            fits.then_some(Operand::Value(value & mask))
        }
        _ => None,
    }
}

fn vector(
    list: &[&str],
    class: Class,
    names: &Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    let mut numbers = Vec::new();
    for name in list {
        let Some(Operand::Register(number)) = register(name, class, names, line)? else {
            return Ok(None);
        };
        numbers.push(number);
    }
    Ok(Some(Operand::Vector(numbers)))
}

fn address(
    space: Space,
    base: &str,
    offset: u64,
    names: &Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    if let Some(symbol) = names.symbols.get(base) {
        let offset = symbol.offset.wrapping_add(offset);
        return Ok((symbol.space == space).then_some(Operand::Address { register: None, offset }));
    }
    let register = names.register(base).ok_or_else(|| undeclared(base, line))?;
    // A shared address fits 32 bits; parameters are named, never pointed to.
    let fits = match space {
        Space::Global => register.class == Class::W64,
        Space::Shared => [Class::W32, Class::W64].contains(&register.class),
        Space::Param => false,
    };
    Ok(fits.then_some(Operand::Address { register: Some(register.number), offset }))
}
