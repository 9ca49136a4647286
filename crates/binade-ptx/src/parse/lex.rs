//! Division of text into words. Comments are dropped; a word keeps its line.

use crate::ParseError;

/// Run of name characters, string with its quotes, or one sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: u32,
}

/// Returns true for characters of a name. Points and percent signs are among them, so that an opcode with its suffixes and
/// `%tid.x` are one word each.
fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%.".contains(c)
}

pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let (mut rest, mut line, mut found) = (text, 1, Vec::new());
    while let Some(first) = rest.chars().next() {
        let length = piece(rest, first, line)?;
        let (piece, after) = rest.split_at(length);
        if !first.is_whitespace() && !piece.starts_with("//") && !piece.starts_with("/*") {
            found.push(Token { text: piece, line });
        }
        line += u32::try_from(piece.matches('\n').count()).unwrap_or(u32::MAX);
        rest = after;
    }
    Ok(found)
}

/// Returns the length in bytes of the space, comment, string, word or sign that `rest` starts with.
fn piece(rest: &str, first: char, line: u32) -> Result<usize, ParseError> {
    let until = |end: &str, from: usize| rest[from..].find(end).map(|at| from + at + end.len());
    let open = |expected| ParseError::expected(line, expected, "the end of the text");
    if rest.starts_with("//") {
        return Ok(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return until("*/", 2).ok_or_else(|| open("`*/`"));
    }
    if first == '"' {
        return until("\"", 1).ok_or_else(|| open("a closing quote"));
    }
    let run = |test: fn(char) -> bool| rest.find(|c| !test(c)).unwrap_or(rest.len());
    Ok(match first {
        c if c.is_whitespace() => run(char::is_whitespace),
        c if in_word(c) => run(in_word),
        c => c.len_utf8(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(&str, u32)> {
        tokens(text).unwrap().iter().map(|token| (token.text, token.line)).collect()
    }

    #[test]
    fn comments_vanish_and_their_lines_count() {
        assert_eq!(
            texts("a // b\n/* c\n d */ e \"f // g\""),
            [("a", 1), ("e", 3), ("\"f // g\"", 3)]
        );
    }

    #[test]
    fn what_is_never_closed_is_an_error() {
        assert!(tokens("ret; /* and").is_err());
        assert!(tokens(".file 1 \"a").is_err());
    }
}
