//! Decoding of an instruction: its form looked up exactly, each operand checked against the form.

use super::{names::Names, operand::Written};
use crate::{
    ParseError,
    isa::{self, Class, Form, Kind, Space},
    module::{Capability, Operand, Special, Strictness},
};

/// Strictness and target that an instruction must comply with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) strictness: Strictness,
    pub(super) target: Capability,
}

/// Returns the forms with exactly this spelling that the rules allow.
pub(super) fn forms(
    opcode: &str,
    line: u32,
    rules: Rules,
) -> Result<&'static [&'static Form], ParseError> {
    let forms = isa::spelled(opcode);
    let unknown = || ParseError::Form { line, form: opcode.to_owned() };
    let form = forms.first().ok_or_else(unknown)?;
    if rules.strictness == Strictness::Reproducible && !form.is_reproducible() {
        return Err(ParseError::NotReproducible { line, form: form.name });
    }
    if form.since > rules.target {
        let (needs, target) = (form.since, rules.target);
        return Err(ParseError::Target { line, form: form.name, needs, target });
    }
    Ok(forms)
}

/// Returns the form that takes these operands. If none does, the error is that of the first form.
pub(super) fn instruction(
    forms: &'static [&'static Form],
    written: &[Written<'_>],
    names: &mut Names,
    line: u32,
) -> Result<(&'static Form, Vec<Operand>), ParseError> {
    let mut first = None;
    for form in forms {
        match operands(form, written, names, line) {
            Ok(operands) => return Ok((form, operands)),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or(ParseError::Form { line, form: String::new() }))
}

fn operands(
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

/// Decodes an operand; `None` if it is not of the kind.
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
            literal_of(class, literal).map(|value| Operand::Register(names.literal(value)))
        }
        (Kind::Exactly(only), Written::Integer(value)) => {
            (only == *value).then(|| Operand::Register(names.literal(only)))
        }
        (Kind::Number, Written::Integer(value)) => Some(Operand::Register(names.literal(*value))),
        (Kind::ToVector(class, count), Written::Vector(list)) if list.len() == count => {
            vector(Kind::To(class), list, names, line)?
        }
        (Kind::FromVector(class, count), Written::Vector(list)) if list.len() == count => {
            vector(Kind::From(class), list, names, line)?
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

/// Returns the register, if it is of the class or wider. A predicate is never wider.
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

/// Decodes the source of a move: a register, a special register, or the address of a variable or a parameter.
fn any(
    name: &str,
    class: Class,
    names: &mut Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    if let Some(special) = special(name) {
        return Ok((class == Class::W32).then(|| Operand::Register(names.special(special))));
    }
    let Some(symbol) = names.symbols.get(name) else { return register(name, class, names, line) };
    let (space, offset) = (symbol.space, symbol.offset);
    let fits = class == Class::W64 || (class == Class::W32 && space == Space::Shared);
    Ok(fits.then(|| Operand::Register(names.literal(offset))))
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

/// Returns the bits of a literal that the class can hold. An integer may be an unsigned or a negative number of that width.
fn literal_of(class: Class, literal: &Written<'_>) -> Option<u64> {
    let mask = class.mask();
    match *literal {
        Written::Float(bits) if class == Class::W32 => Some(u64::from(bits)),
        Written::Double(bits) if class == Class::W64 => Some(bits),
        Written::Integer(value) if class != Class::Predicate => {
            let fits = value & !mask == 0 || (!value & !(mask >> 1)) == 0;
            fits.then_some(value & mask)
        }
        _ => None,
    }
}

fn vector(
    kind: Kind,
    list: &[Written<'_>],
    names: &mut Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    let mut numbers = Vec::new();
    for element in list {
        if matches!(kind, Kind::To(_)) && *element == Written::Name("_") {
            numbers.push(names.unnamed());
            continue;
        }
        let Some(Operand::Register(number)) = operand(kind, element, names, line)? else {
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
    names: &mut Names,
    line: u32,
) -> Result<Option<Operand>, ParseError> {
    if let Some(symbol) = names.symbols.get(base) {
        let (is_there, offset) = (symbol.space == space, symbol.offset.wrapping_add(offset));
        let register = names.literal(0);
        return Ok(is_there.then_some(Operand::Address { register, offset }));
    }
    let register = names.register(base).ok_or_else(|| undeclared(base, line))?;
    // A shared address fits 32 bits.
    let fits =
        register.class == Class::W64 || (register.class == Class::W32 && space == Space::Shared);
    Ok(fits.then_some(Operand::Address { register: register.number, offset }))
}
