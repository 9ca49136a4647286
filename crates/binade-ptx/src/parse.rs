//! Parser of PTX text. The parser is strict: anything unknown is an error with its line.

mod body;
mod cursor;
mod decode;
mod lex;
mod names;
mod operand;
mod top;

pub(crate) use top::module;
