//! Rust text with comments, strings and characters blanked, so that rules see code only.
//!
//! Lines stay lines. It knows tokens and no grammar, which is all that a search for a word needs.

/// `text` with the insides and the marks of comments and literals replaced by spaces.
pub(super) fn only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (length, is_code) = token(rest);
        let (token, after) = rest.split_at(length);
        code.extend(token.chars().map(|c| if is_code || c == '\n' { c } else { ' ' }));
        rest = after;
    }
    code
}

/// Numbered lines of `code`, from 1, that hold `word` with no letter, digit or `_` beside it.
pub(super) fn lines_with<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.lines().enumerate().filter(move |(_, line)| holds(line, word)).map(|(index, _)| index + 1)
}

fn holds(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        !line[..start].ends_with(is_name) && !line[start + word.len()..].starts_with(is_name)
    })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length in bytes of the first token of `rest`, which is not empty, and whether it is code.
fn token(rest: &str) -> (usize, bool) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), false);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), false);
    }
    if let Some(length) = raw_string(rest).or_else(|| quoted(rest, '"')).or_else(|| character(rest))
    {
        return (length, false);
    }
    // A name is taken whole, so that the `r` at its end is not read as the start of a raw string.
    let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    (if name == 0 { first(rest) } else { name }, true)
}

/// The length of the first character.
fn first(rest: &str) -> usize {
    rest.chars().next().map_or(0, char::len_utf8)
}

/// The length of a comment that starts here; comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if rest[at..].starts_with("*/") {
            (at, depth) = (at + 2, depth - 1);
        } else {
            at += first(&rest[at..]);
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of `r"…"` or `br#"…"#` and its kin.
fn raw_string(rest: &str) -> Option<usize> {
    let body = ["r", "br", "cr"].iter().find_map(|prefix| {
        let body = rest.strip_prefix(prefix)?;
        body.trim_start_matches('#').starts_with('"').then_some(body)
    })?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = &body[hashes + 1..];
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(rest.len() - inside.len() + length)
}

/// The length of what starts with `mark` and goes to the next `mark` that no backslash precedes.
fn quoted(rest: &str, mark: char) -> Option<usize> {
    let inside = rest.strip_prefix(mark)?;
    let mut escaped = false;
    let end = inside.find(|c| {
        let ends = c == mark && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    Some(end.map_or(rest.len(), |at| at + 2))
}

/// The length of a character literal; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let closed = inside[first(inside)..].starts_with('\'');
    if inside.starts_with('\\') || closed { quoted(rest, '\'') } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_blanked_and_lines_stay() {
        assert_eq!(only("a // b\nc /* d\n/* e */ f */ g"), "a     \nc     \n             g");
    }

    #[test]
    fn strings_are_blanked_to_their_true_end() {
        assert_eq!(only(r#"a "b \" c" d"#), "a          d");
        assert_eq!(only("a r#\"b \" c\"# d"), "a            d");
        assert_eq!(only("for\"x\" y"), "for    y");
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_code() {
        assert_eq!(only(r#"f('"', '\'', b'x', 'é') + a"#), "f(   ,     , b   ,    ) + a");
        assert_eq!(only("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn what_never_ends_is_blanked_to_the_end() {
        assert_eq!(only("a \"b"), "a   ");
        assert_eq!(only("a /* b"), "a     ");
    }

    #[test]
    fn a_word_is_found_whole() {
        let code = "unsafe fn f() {}\n#![forbid(unsafe_code)]\nnot_unsafe\n  unsafe { }";
        assert_eq!(lines_with(code, "unsafe").collect::<Vec<_>>(), [1, 4]);
    }
}
