//! Operand as written, before the instruction determines its kind.

use super::cursor::{Cursor, unsigned};
use crate::ParseError;

/// Text between two commas, read as an operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written<'a> {
    Name(&'a str),
    /// Integer, negative ones as their bits.
    Integer(u64),
    /// Bits of an f32: `0f` and eight digits.
    Float(u32),
    /// Bits of an f64: `0d` and sixteen digits.
    Double(u64),
    Vector(Vec<Written<'a>>),
    /// Two names with a bar between.
    Pair(&'a str, &'a str),
    /// Base name and offset in bytes, negative ones as their bits.
    Address(&'a str, u64),
}

pub(super) fn operand<'a>(cursor: &mut Cursor<'a>) -> Result<Written<'a>, ParseError> {
    if cursor.eat("{") {
        return vector(cursor);
    }
    if cursor.eat("[") {
        return address(cursor);
    }
    if cursor.eat("-") {
        return Ok(Written::Integer(cursor.number()?.wrapping_neg()));
    }
    if let Some(float) = float(cursor.peek()) {
        cursor.next();
        return Ok(float);
    }
    if unsigned(cursor.peek()).is_some() {
        return Ok(Written::Integer(cursor.number()?));
    }
    let name = cursor.name()?;
    if cursor.eat("|") { Ok(Written::Pair(name, cursor.name()?)) } else { Ok(Written::Name(name)) }
}

fn vector<'a>(cursor: &mut Cursor<'a>) -> Result<Written<'a>, ParseError> {
    let mut elements = vec![operand(cursor)?];
    while cursor.eat(",") {
        elements.push(operand(cursor)?);
    }
    cursor.want("}")?;
    Ok(Written::Vector(elements))
}

/// Reads `[name]`, `[name+8]`, `[name+-8]` or `[name-8]`.
fn address<'a>(cursor: &mut Cursor<'a>) -> Result<Written<'a>, ParseError> {
    let base = cursor.name()?;
    let plus = cursor.eat("+");
    let offset = match cursor.eat("-") {
        true => cursor.number()?.wrapping_neg(),
        false if plus => cursor.number()?,
        false => 0,
    };
    cursor.want("]")?;
    Ok(Written::Address(base, offset))
}

fn float(text: &str) -> Option<Written<'static>> {
    let digits = text.get(2..)?;
    match (text.get(..2)?, digits.len()) {
        ("0f" | "0F", 8) => u32::from_str_radix(digits, 16).ok().map(Written::Float),
        ("0d" | "0D", 16) => u64::from_str_radix(digits, 16).ok().map(Written::Double),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::lex::tokens, *};

    fn read(text: &str) -> Result<Written<'_>, ParseError> {
        operand(&mut Cursor::new(tokens(text)?))
    }

    #[test]
    fn each_kind_is_read_as_it_is_written() {
        assert_eq!(read("%r1"), Ok(Written::Name("%r1")));
        assert_eq!(read("%r1|%p1"), Ok(Written::Pair("%r1", "%p1")));
        assert_eq!(read("-1"), Ok(Written::Integer(u64::MAX)));
        assert_eq!(read("0x10U"), Ok(Written::Integer(16)));
        assert_eq!(read("0f3F800000"), Ok(Written::Float(0x3f80_0000)));
        assert_eq!(read("0d3FF0000000000000"), Ok(Written::Double(0x3ff0 << 48)));
        let elements = vec![Written::Name("%f1"), Written::Integer(0)];
        assert_eq!(read("{%f1, 0}"), Ok(Written::Vector(elements)));
        assert_eq!(read("[%rd1+-8]"), Ok(Written::Address("%rd1", 8_u64.wrapping_neg())));
    }

    #[test]
    fn an_octal_literal_is_not_a_decimal_one() {
        assert!(read("017").is_err());
    }
}
