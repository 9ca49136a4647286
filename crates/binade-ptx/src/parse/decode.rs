//! Decoding of an instruction: its form looked up exactly, each operand checked against the form.

use super::{
    names::{Names, Register, Symbol},
    operand::Written,
};
use crate::{
    ParseError,
    isa::{self, Class, Form, Kind, Space},
    module::{Capability, Operand, Special},
};

/// Returns the forms with exactly this spelling that the target has.
pub(super) fn forms(
    opcode: &str,
    line: u32,
    target: Capability,
) -> Result<&'static [&'static Form], ParseError> {
    let forms = isa::spelled(opcode);
    let form = forms.first().ok_or_else(|| {
        let contracted = ["add.f32", "sub.f32", "mul.f32", "add.f64", "sub.f64", "mul.f64"];
        // A host keeps subnormals, and a compiler must not contract into `fma` the arithmetic that the host repeats.
        if contracted.contains(&opcode) || opcode.split('.').any(|part| part == "ftz") {
            let advice = "write the rounding (`.rn`) and keep subnormals";
            ParseError::new(line, format!("`{opcode}` is not reproducible: {advice}"))
        } else {
            let advice = "add it to the table in `isa` with its exact meaning";
            ParseError::new(line, format!("unknown instruction form `{opcode}`; {advice}"))
        }
    })?;
    if form.since > target {
        let problem = format!(
            "`{opcode}` needs compute capability {}, the module's target is {target}",
            form.since
        );
        return Err(ParseError::new(line, problem));
    }
    Ok(forms)
}

/// Decoder of the operands of an instruction.
#[derive(Debug)]
pub(super) struct Decoder<'n> {
    pub(super) names: &'n mut Names,
    pub(super) line: u32,
}

impl Decoder<'_> {
    /// Returns the form that accepts these operands. If none does, the error is that of the first form.
    pub(super) fn instruction(
        &mut self,
        forms: &'static [&'static Form],
        written: &[Written<'_>],
    ) -> Result<(&'static Form, Vec<Operand>), ParseError> {
        let mut first = None;
        for form in forms {
            match self.operands(form, written) {
                Ok(operands) => return Ok((form, operands)),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| ParseError::new(self.line, "no form")))
    }

    fn operands(
        &mut self,
        form: &'static Form,
        written: &[Written<'_>],
    ) -> Result<Vec<Operand>, ParseError> {
        let (name, expected, found) = (form.name, form.operands.len(), written.len());
        if expected != found {
            let problem = format!("`{name}` takes {expected} operands, found {found}");
            return Err(ParseError::new(self.line, problem));
        }
        let each = form.operands.iter().zip(written).enumerate();
        each.map(|(index, (kind, written))| {
            self.operand(*kind, written)?.ok_or_else(|| {
                let place = format!("`{name}`: operand {}", index + 1);
                let problem = format!("{place}: expected {kind:?}, found {written:?}");
                ParseError::new(self.line, problem)
            })
        })
        .collect()
    }

    /// Decodes an operand; `None` if it is not of the kind.
    fn operand(
        &mut self,
        kind: Kind,
        written: &Written<'_>,
    ) -> Result<Option<Operand>, ParseError> {
        let literal = |names: &mut Names, value| Operand::Register(names.literal(value));
        Ok(match (kind, written) {
            (Kind::Label, Written::Name(name)) => {
                Some(Operand::Target(self.names.label(name, self.line)))
            }
            (
                Kind::To(class) | Kind::ToMaybeAlso(class) | Kind::From(class),
                Written::Name(name),
            ) => self.register(name, |it| it == class)?,
            (Kind::ToMaybeAlso(class), Written::Pair(name, also)) => {
                let first = self.register(name, |it| it == class)?;
                let second = self.register(also, |it| it == Class::Predicate)?;
                match (first, second) {
                    (Some(Operand::Register(first)), Some(Operand::Register(second))) => {
                        Some(Operand::Pair(first, second))
                    }
                    _ => None,
                }
            }
            // A predicate is never wider.
            (Kind::ToWider(class) | Kind::FromWider(class), Written::Name(name)) => {
                self.register(name, |it| it != Class::Predicate && it >= class)?
            }
            (Kind::Any(class), Written::Name(name)) => self.any(name, class)?,
            (Kind::From(class) | Kind::FromWider(class) | Kind::Any(class), written) => {
                literal_of(class, written).map(|value| literal(self.names, value))
            }
            (Kind::Exactly(only), Written::Integer(value)) => {
                (only == *value).then(|| literal(self.names, only))
            }
            (Kind::Number, Written::Integer(value)) => Some(literal(self.names, *value)),
            (Kind::ToVector(class, count), Written::Vector(list)) if list.len() == count => {
                self.vector(Kind::To(class), list)?
            }
            (Kind::FromVector(class, count), Written::Vector(list)) if list.len() == count => {
                self.vector(Kind::From(class), list)?
            }
            (Kind::Memory(space), Written::Address(base, offset)) => {
                self.address(space, base, *offset)?
            }
            _ => None,
        })
    }

    fn named(&self, name: &str) -> Result<Register, ParseError> {
        self.names.register(name).ok_or_else(|| ParseError::undeclared(self.line, name))
    }

    /// Returns the register, if its class fits.
    fn register(
        &self,
        name: &str,
        fits: impl FnOnce(Class) -> bool,
    ) -> Result<Option<Operand>, ParseError> {
        let register = self.named(name)?;
        Ok(fits(register.class).then_some(Operand::Register(register.number)))
    }

    /// Decodes the source of a move: a register, a special register, or the address of a variable or a parameter.
    fn any(&mut self, name: &str, class: Class) -> Result<Option<Operand>, ParseError> {
        if let Some(special) = special(name) {
            let names = &mut *self.names;
            return Ok((class == Class::W32).then(|| Operand::Register(names.special(special))));
        }
        let Some(Symbol { space, offset }) = self.names.symbols.get(name).copied() else {
            return self.register(name, |it| it == class);
        };
        let fits = class == Class::W64 || (class == Class::W32 && space == Space::Shared);
        Ok(fits.then(|| Operand::Register(self.names.literal(offset))))
    }

    fn vector(&mut self, kind: Kind, list: &[Written<'_>]) -> Result<Option<Operand>, ParseError> {
        let mut numbers = Vec::new();
        for element in list {
            if matches!(kind, Kind::To(_)) && *element == Written::Name("_") {
                numbers.push(self.names.unnamed());
                continue;
            }
            let Some(Operand::Register(number)) = self.operand(kind, element)? else {
                return Ok(None);
            };
            numbers.push(number);
        }
        Ok(Some(Operand::Vector(numbers)))
    }

    fn address(
        &mut self,
        space: Space,
        base: &str,
        offset: u64,
    ) -> Result<Option<Operand>, ParseError> {
        if let Some(symbol) = self.names.symbols.get(base).copied() {
            let (register, offset) = (self.names.literal(0), symbol.offset.wrapping_add(offset));
            return Ok((symbol.space == space).then_some(Operand::Address { register, offset }));
        }
        let Register { number, class } = self.named(base)?;
        // A shared address fits 32 bits.
        let fits = class == Class::W64 || (class == Class::W32 && space == Space::Shared);
        Ok(fits.then_some(Operand::Address { register: number, offset }))
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

/// Returns the bits of a literal that the class can hold. An integer may be an unsigned or a negative number of that width.
fn literal_of(class: Class, literal: &Written<'_>) -> Option<u64> {
    let mask = class.mask();
    match *literal {
        Written::Float(bits) if class == Class::W32 => Some(u64::from(bits)),
        Written::Double(bits) if class == Class::W64 => Some(bits),
        Written::Integer(value) if class == Class::Predicate => Some(u64::from(value != 0)),
        Written::Integer(value) => {
            let fits = value & !mask == 0 || (!value & !(mask >> 1)) == 0;
            fits.then_some(value & mask)
        }
        _ => None,
    }
}
