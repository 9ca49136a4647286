//! Parser of a module's top level: header, shared variables, entries, and the tables for debuggers.

use super::{body::body, cursor::Cursor, lex::tokens};
use crate::{
    ParseError, hash_of,
    module::{Capability, Entry, Module, Param},
};

pub(crate) fn module(text: &str) -> Result<Module, ParseError> {
    let mut cursor = Cursor::new(tokens(text)?);
    let target = header(&mut cursor)?;
    let files = std::collections::HashMap::new();
    let mut module = Module { target, entries: Vec::new(), files, id: hash_of(text) };
    let mut variables = Vec::new();
    while !cursor.is_done() {
        directive(&mut cursor, &mut module, &mut variables)?;
    }
    Ok(module)
}

/// Reads `.version 9.0 .target sm_75 .address_size 64`, in this order, as the PTX ISA requires.
fn header(cursor: &mut Cursor<'_>) -> Result<Capability, ParseError> {
    cursor.want(".version")?;
    cursor.next();
    cursor.want(".target")?;
    let target = capability(cursor.peek())
        .ok_or_else(|| cursor.expected("`sm_` and two or three digits"))?;
    cursor.next();
    cursor.want(".address_size")?;
    cursor.want("64")?;
    Ok(target)
}

/// Returns the capability of a target: `sm_75` is 7.5. Targets with a letter are for a single GPU, have instructions that are unknown here, and are
/// refused.
fn capability(target: &str) -> Option<Capability> {
    let number: u8 = target.strip_prefix("sm_")?.parse().ok()?;
    Some(Capability { major: number / 10, minor: number % 10 })
}

fn directive(
    cursor: &mut Cursor<'_>,
    module: &mut Module,
    variables: &mut Vec<Declared>,
) -> Result<(), ParseError> {
    let line = cursor.line();
    match cursor.next() {
        ".visible" | ".weak" | ".extern" => {}
        ".shared" => variables.push(Declared::shared(cursor)?),
        ".entry" => {
            let entry = entry(cursor, module.target, variables)?;
            if module.entry(&entry.name).is_some() {
                return Err(ParseError::twice(line, &entry.name));
            }
            module.entries.push(entry);
        }
        ".file" => {
            let number = u32::try_from(cursor.number()?).unwrap_or(u32::MAX);
            module.files.insert(number, cursor.next().trim_matches('"').to_owned());
            cursor.skip_line(line);
        }
        ".section" => {
            while !cursor.is_done() && !cursor.eat("}") {
                cursor.next();
            }
        }
        name => return Err(ParseError::directive(line, name)),
    }
    Ok(())
}

fn entry(
    cursor: &mut Cursor<'_>,
    target: Capability,
    variables: &[Declared],
) -> Result<Entry, ParseError> {
    let name = cursor.name()?.to_owned();
    let mut entry = Entry { name, ..Entry::default() };
    if cursor.eat("(") && !cursor.eat(")") {
        loop {
            let param = param(cursor, entry.param_bytes())?;
            entry.params.push(param);
            if cursor.eat(")") {
                break;
            }
            cursor.want(",")?;
        }
    }
    launch_bounds(cursor)?;
    body(cursor, target, entry, variables)
}

/// Skips bounds for the compiler behind PTX. A launch is checked against a GPU's limits, not against these.
fn launch_bounds(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    while [".maxntid", ".minnctapersm", ".maxnreg"].contains(&cursor.peek()) {
        cursor.next();
        cursor.number()?;
        while cursor.eat(",") {
            cursor.number()?;
        }
    }
    Ok(())
}

/// Variable or parameter as declared.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    kind: String,
    pub(super) align: u64,
    /// Size in bytes; `None` for an array without a length, which the launch sizes.
    pub(super) bytes: Option<u64>,
}

impl Declared {
    /// Reads `.u64 name` or `.align 4 .b8 name[512]`. Without `.align` it is aligned to its type's width.
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, ParseError> {
        let align = if cursor.eat(".align") { cursor.number()? } else { 1 };
        let width = type_bytes(cursor.peek()).ok_or_else(|| cursor.expected("a type"))?;
        let (align, kind) = (align.max(width), cursor.next().trim_start_matches('.').to_owned());
        if !align.is_power_of_two() {
            return Err(cursor.expected("an alignment that is a power of two"));
        }
        let name = cursor.name()?.to_owned();
        let mut bytes = Some(width);
        while cursor.eat("[") {
            let count = if cursor.peek() == "]" { None } else { Some(cursor.number()?) };
            bytes = bytes.zip(count).map(|(bytes, count)| bytes * count);
            cursor.want("]")?;
        }
        Ok(Self { name, kind, align, bytes })
    }

    /// Reads the declaration after `.shared`.
    pub(super) fn shared(cursor: &mut Cursor<'_>) -> Result<Self, ParseError> {
        let variable = Self::read(cursor)?;
        cursor.want(";")?;
        Ok(variable)
    }
}

fn param(cursor: &mut Cursor<'_>, after: u64) -> Result<Param, ParseError> {
    cursor.want(".param")?;
    let Declared { name, kind, align, bytes } = Declared::read(cursor)?;
    let bytes = bytes.ok_or_else(|| cursor.expected("a parameter with a length"))?;
    Ok(Param { name, kind, offset: after.next_multiple_of(align), bytes })
}

fn type_bytes(name: &str) -> Option<u64> {
    Some(match name {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        _ => return None,
    })
}
