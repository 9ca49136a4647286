//! Parser of PTX text. It is strict: what it does not know exactly is an error with its line.

mod body;
mod cursor;
mod decode;
mod lex;
mod names;
mod operand;
mod top;

pub(crate) use top::module;
