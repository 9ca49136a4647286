//! WGSL as text: without comments, and its functions.

/// `text` with comments as spaces, lines kept.
pub(super) fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.fold(String::new(), |all, line| all + line + "\n")
}

/// A function: its name, the line of its first word, from 1, and what stands between its braces.
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    pub(super) body: &'a str,
}

/// The functions of a text without comments.
pub(super) fn functions(text: &str) -> Vec<Function<'_>> {
    let starts = text
        .match_indices("fn ")
        .filter(|(at, _)| text[..*at].chars().next_back().is_none_or(char::is_whitespace));
    starts.filter_map(|(at, _)| function(text, at)).collect()
}

fn function(text: &str, at: usize) -> Option<Function<'_>> {
    let rest = &text[at + 3..];
    let name = rest.split('(').next()?.trim();
    let open = rest.find('{')?;
    let mut depth = 0;
    let end = rest[open..].find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    })?;
    let line = text[..at].matches('\n').count() + 1;
    Some(Function { name, line, body: &rest[open + 1..open + end] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_their_bodies() {
        let text = "const a = 1;\nfn f(x: u32) -> u32 {\n  if (x > 1u) { return 1u; }\n  return x;\n}\n@compute fn g() {}\n";
        let found = functions(text);
        assert_eq!(
            found.iter().map(|it| (it.name, it.line)).collect::<Vec<_>>(),
            [("f", 2), ("g", 6)]
        );
        assert!(found[0].body.contains("return 1u") && found[0].body.contains("return x"));
    }

    #[test]
    fn comments_go_and_lines_stay() {
        assert_eq!(without_comments("a // b\n// c\nd\n"), "a \n\nd\n");
    }
}
