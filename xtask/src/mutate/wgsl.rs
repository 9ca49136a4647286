//! Changes of one token of a composed shader: another operator, a literal beside it, the other of a pair of functions.

use super::Change;

/// Operators with a space on each side, so that no `<` of a type is meant, and functions with their parenthesis.
const OTHERS: [(&str, &str); 24] = [
    (" + ", " - "),
    (" - ", " + "),
    (" * ", " + "),
    (" / ", " * "),
    (" % ", " / "),
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " != "),
    (" != ", " == "),
    (" && ", " || "),
    (" || ", " && "),
    (" & ", " | "),
    (" | ", " & "),
    (" ^ ", " | "),
    (" << ", " >> "),
    (" >> ", " << "),
    (" += ", " -= "),
    (" |= ", " &= "),
    ("min(", "max("),
    ("max(", "min("),
    ("true", "false"),
    ("false", "true"),
];

/// Lines that declare, whose change would be another interface.
const DECLARING: [&str; 8] =
    ["@", "//", "struct ", "override ", "enable ", "var<", "alias ", "diagnostic"];

/// Each line of code, as the changes that it allows.
pub(super) fn lines(text: &str) -> Vec<Vec<Change>> {
    let all = text.lines().enumerate().filter_map(|(index, line)| {
        let code = line.split("//").next().unwrap_or_default().trim();
        if DECLARING.iter().any(|start| code.starts_with(start)) {
            return None;
        }
        let change = |after| Change { line: index + 1, before: code.to_owned(), after };
        let changes: Vec<_> = afters(code).into_iter().map(change).collect();
        (!changes.is_empty()).then_some(changes)
    });
    all.collect()
}

fn afters(code: &str) -> Vec<String> {
    let mut afters = Vec::new();
    for (token, other) in OTHERS {
        for (at, _) in code.match_indices(token).filter(|(at, _)| begins_word(code, *at, token)) {
            afters.push(format!("{}{other}{}", &code[..at], &code[at + token.len()..]));
        }
    }
    afters.extend(literals(code));
    afters
}

/// The name of a function is no end of another's.
fn begins_word(code: &str, at: usize, token: &str) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    token.starts_with(' ') || !code[..at].ends_with(in_name)
}

/// Each whole number in the code, one more.
fn literals(code: &str) -> Vec<String> {
    let bytes = code.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'.';
    let starts =
        (0..bytes.len()).filter(|at| is_digit(*at) && (*at == 0 || !in_word(&bytes[at - 1])));
    let more = starts.filter_map(|at| {
        let end = (at..bytes.len()).find(|end| !is_digit(*end)).unwrap_or(bytes.len());
        // Neither hexadecimal nor a fraction.
        if bytes.get(end).is_some_and(|byte| b"x.e".contains(byte)) {
            return None;
        }
        let number: u64 = code[at..end].parse().ok()?;
        Some(format!("{}{}{}", &code[..at], number.checked_add(1)?, &code[end..]))
    });
    more.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_literals_change_one_at_a_time() {
        assert_eq!(
            afters("let a = min(b + 1u, vec4<u32>(7));"),
            [
                "let a = min(b - 1u, vec4<u32>(7));",
                "let a = max(b + 1u, vec4<u32>(7));",
                "let a = min(b + 2u, vec4<u32>(7));",
                "let a = min(b + 1u, vec4<u32>(8));"
            ]
        );
    }

    #[test]
    fn names_hexadecimal_numbers_and_fractions_are_left_alone() {
        assert_eq!(afters("let x1 = arrmin(0x7f, 1.5, word_2);"), [""; 0]);
    }

    #[test]
    fn declarations_and_comments_are_left_alone() {
        let text =
            "@group(0) @binding(1) var<storage> a: array<u32>;\n// a + b\nlet c = a + b; // 7\n";
        let lines = lines(text);
        assert_eq!((lines.len(), lines[0].len(), lines[0][0].line), (1, 1, 3));
    }
}
