//! One operand as written, before its instruction says what it must be.

use super::cursor::{Cursor, unsigned};
use crate::ParseError;

/// What stands between two commas.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written<'a> {
    Name(&'a str),
    /// An integer, negative ones as their bits.
    Integer(u64),
    /// `0f` and eight digits: the bits of a float.
    Float(u32),
    Vector(Vec<&'a str>),
    /// Two names with a bar between.
    Pair(&'a str, &'a str),
    /// A base, a name, and bytes to add, as their bits.
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
    if let Some(bits) = float(cursor.peek()) {
        cursor.next();
        return Ok(Written::Float(bits));
    }
    if unsigned(cursor.peek()).is_some() {
        return Ok(Written::Integer(cursor.number()?));
    }
    let name = cursor.name()?;
    if cursor.eat("|") { Ok(Written::Pair(name, cursor.name()?)) } else { Ok(Written::Name(name)) }
}

fn vector<'a>(cursor: &mut Cursor<'a>) -> Result<Written<'a>, ParseError> {
    let mut names = vec![cursor.name()?];
    while cursor.eat(",") {
        names.push(cursor.name()?);
    }
    cursor.want("}")?;
    Ok(Written::Vector(names))
}

/// `[name]`, `[name+8]`, `[name+-8]` or `[name-8]`.
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

fn float(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F"))?;
    u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8)
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
        assert_eq!(read("{%f1, %f2}"), Ok(Written::Vector(vec!["%f1", "%f2"])));
        assert_eq!(read("[%rd1+-8]"), Ok(Written::Address("%rd1", 8_u64.wrapping_neg())));
    }

    #[test]
    fn an_octal_literal_is_not_a_decimal_one() {
        assert!(read("017").is_err());
    }
}
