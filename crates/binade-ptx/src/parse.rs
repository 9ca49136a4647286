//! PTX text to a module. Strict: what is not known exactly is an error with its line.

mod body;
mod constant;
mod cursor;
mod decode;
mod lex;
mod names;
mod operand;
mod top;

pub(crate) use top::module;
