//! Changes of one token of a composed shader: another operator, a literal beside it, the other of a pair of functions.

use std::collections::BTreeSet;

use super::Change;
use crate::issue::regex;

/// Operators, which stand between spaces, so that no `<` of a type is meant, and functions with their parenthesis.
const OTHERS: &str = "+:- -:+ *:+ /:* %:/ <:<= <=:< >:>= >=:> ==:!= !=:== &&:|| ||:&& &:| |:& ^:| <<:>> >>:<< +=:-= |=:&= \
    min(:max( max(:min( true:false false:true";

/// Lines that declare, whose change would be another interface.
const DECLARING: [&str; 8] =
    ["@", "//", "struct ", "override ", "enable ", "var<", "alias ", "diagnostic"];

/// Each line of code that an entry runs, as the changes that it allows.
pub(super) fn lines(text: &str) -> Vec<Vec<Change>> {
    let unused = unused(text);
    let all = text.lines().enumerate().filter_map(|(index, line)| {
        if unused.contains(&index) {
            return None;
        }
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

/// The lines of functions and constants that no entry comes to: a shader is composed of whole files.
fn unused(text: &str) -> BTreeSet<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_entry = |at: usize| at > 0 && lines[at - 1].starts_with("@compute");
    let (mut reached, mut left) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = declared(line) else { continue };
        let end = if line.starts_with("fn ") {
            (at..lines.len()).find(|end| lines[*end] == "}").unwrap_or(at)
        } else {
            at
        };
        if is_entry(at) { reached.push(at..=end) } else { left.push((name, at..=end)) }
    }
    let mut next = 0;
    while let Some(item) = reached.get(next).cloned() {
        let names: BTreeSet<&str> = lines[item].iter().flat_map(|line| names(line)).collect();
        let (found, others): (Vec<_>, _) =
            left.into_iter().partition(|(name, _)| names.contains(name));
        reached.extend(found.into_iter().map(|(_, item)| item));
        (left, next) = (others, next + 1);
    }
    left.into_iter().flat_map(|(_, item)| item).collect()
}

/// The name of a function or constant of the module's.
fn declared(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("fn ").or_else(|| line.strip_prefix("const "))?;
    names(rest).next()
}

/// Names in a line of code, a function's with its parenthesis: a field may be called as a function is.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter_map(|word| {
        let name = word.strip_suffix(|c: char| !c.is_ascii_alphanumeric() && !"_(".contains(c));
        Some(name.unwrap_or(word)).filter(|name| !["", "("].contains(name))
    })
}

fn afters(code: &str) -> Vec<String> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
    let mut afters = Vec::new();
    for (token, other) in OTHERS.split(' ').filter_map(|pair| pair.split_once(':')) {
        let is_name = token.starts_with(char::is_alphabetic);
        let spaced = |it| if is_name { String::from(it) } else { format!(" {it} ") };
        let (token, other) = (spaced(token), spaced(other));
        // The name of a function is no end of another's.
        let is_end = |at: usize| is_name && code[..at].ends_with(|c| c != '.' && in_word(c));
        let found = code.match_indices(&token).filter(|(at, _)| !is_end(*at));
        afters.extend(
            found.map(|(at, _)| format!("{}{other}{}", &code[..at], &code[at + token.len()..])),
        );
    }
    // Each whole number, one more: neither part of a name, nor hexadecimal or a fraction.
    let numbers = regex(r"[0-9]+");
    afters.extend(numbers.find_iter(code).filter_map(|it| {
        let (before, after) = (&code[..it.start()], &code[it.end()..]);
        let is_part = before.ends_with(in_word) || after.starts_with(['x', '.', 'e']);
        let more = it.as_str().parse::<u64>().ok()?.checked_add(1)?;
        (!is_part).then(|| format!("{before}{more}{after}"))
    }));
    afters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_literals_change_one_at_a_time_and_names_and_fractions_do_not() {
        assert_eq!(
            afters("let a = min(b + 1u, vec4<u32>(7));").join("|"),
            "let a = min(b - 1u, vec4<u32>(7));|let a = max(b + 1u, vec4<u32>(7));|\
             let a = min(b + 2u, vec4<u32>(7));|let a = min(b + 1u, vec4<u32>(8));"
        );
        assert_eq!(afters("let x1 = arrmin(0x7f, 1.5, word_2);"), [""; 0]);
    }

    #[test]
    fn declarations_comments_and_what_no_entry_comes_to_are_left_alone() {
        let text = "// a + b\nconst A = 1u;\nconst B = 2u;\nfn f() -> u32 {\n  return A + 0u;\n}\nfn g() {\n  f(); // h()\n  x.h;\n}\n\
                    fn h() {\n  x = B + 3u;\n}\n@compute @workgroup_size(1)\nfn main() {\n  g();\n}\n";
        let lines: Vec<usize> = lines(text).iter().map(|of_line| of_line[0].line).collect();
        assert_eq!(lines, [2, 5]);
    }
}
