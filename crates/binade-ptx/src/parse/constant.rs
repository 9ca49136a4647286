//! Parser of constant variables and their initialisers.

use super::{
    cursor::Cursor,
    names::Symbol,
    operand::{Written, operand},
    top::type_bytes,
};
use crate::{ParseError, isa::Space};

/// Reads `.align 4 .b8 name[8] = {1, 2};`, after `.const`. The variable is placed at the end of `memory`; elements without a
/// value are 0.
pub(super) fn constant(
    cursor: &mut Cursor<'_>,
    memory: &mut Vec<u8>,
) -> Result<(String, Symbol), ParseError> {
    let align = if cursor.eat(".align") { cursor.number()? } else { 1 };
    let width = type_bytes(cursor.peek()).ok_or_else(|| cursor.expected("a type"))?;
    cursor.next();
    let name = cursor.name()?.to_owned();
    let mut bytes = width;
    while cursor.eat("[") {
        bytes *= cursor.number()?;
        cursor.want("]")?;
    }
    let offset = (memory.len() as u64).next_multiple_of(align.max(width));
    memory.resize(size(offset), 0);
    if cursor.eat("=") {
        initialiser(cursor, width, memory)?;
    }
    if memory.len() > size(offset + bytes) {
        return Err(cursor.expected("no more values than the variable holds"));
    }
    memory.resize(size(offset + bytes), 0);
    cursor.want(";")?;
    Ok((name, Symbol { space: Space::Constant, offset }))
}

fn initialiser(
    cursor: &mut Cursor<'_>,
    width: u64,
    memory: &mut Vec<u8>,
) -> Result<(), ParseError> {
    let written = match operand(cursor)? {
        Written::Vector(list) => list,
        single => vec![single],
    };
    for value in written {
        let bits = match value {
            Written::Integer(value) | Written::Double(value) => value,
            Written::Float(bits) => u64::from(bits),
            _ => return Err(cursor.expected("numbers as a constant's values")),
        };
        memory.extend_from_slice(&bits.to_le_bytes()[..size(width)]);
    }
    Ok(())
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
