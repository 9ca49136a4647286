//! Position in the words of a text, with the parser's basic steps.

use super::lex::Token;
use crate::ParseError;

#[derive(Debug)]
pub(super) struct Cursor<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(tokens: Vec<Token<'a>>) -> Self {
        Self { tokens, at: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Returns the word here; empty at the end.
    pub(super) fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| token.text)
    }

    /// Returns the line here; the last one at the end.
    pub(super) fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    pub(super) fn next(&mut self) -> &'a str {
        let text = self.peek();
        self.at += 1;
        text
    }

    /// Consumes `text` if it is next. Returns true if it did.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let is_here = self.peek() == text;
        self.at += usize::from(is_here);
        is_here
    }

    pub(super) fn want(&mut self, text: &'static str) -> Result<(), ParseError> {
        if self.eat(text) { Ok(()) } else { Err(self.expected(text)) }
    }

    pub(super) fn expected(&self, expected: &'static str) -> ParseError {
        let found = if self.is_done() { "the end of the text" } else { self.peek() };
        ParseError::expected(self.line(), expected, found)
    }

    /// Reads a name of a register, a variable, a label or an entry.
    pub(super) fn name(&mut self) -> Result<&'a str, ParseError> {
        let is_name =
            |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || "_$%".contains(c));
        if is_name(self.peek()) { Ok(self.next()) } else { Err(self.expected("a name")) }
    }

    /// Reads a whole number without sign.
    pub(super) fn number(&mut self) -> Result<u64, ParseError> {
        let number = unsigned(self.peek()).ok_or_else(|| self.expected("a whole number"))?;
        self.at += 1;
        Ok(number)
    }

    /// Steps to the first word of another line.
    pub(super) fn skip_line(&mut self, line: u32) {
        while !self.is_done() && self.line() == line {
            self.at += 1;
        }
    }
}

/// Reads a decimal or hexadecimal literal, with or without the `U` that marks it unsigned.
pub(super) fn unsigned(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
        // Octal and binary literals are not decimal ones.
        None if digits.len() > 1 && digits.starts_with('0') => None,
        None => digits.parse().ok(),
    }
}
