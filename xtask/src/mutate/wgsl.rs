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
        let code = line.split("//").next().unwrap_or_default().trim();
        if unused.contains(&index) || DECLARING.iter().any(|start| code.starts_with(start)) {
            return None;
        }
        let change = |after| Change { line: index + 1, before: code.to_owned(), after };
        let changes: Vec<_> = afters(code).into_iter().map(change).collect();
        (!changes.is_empty()).then_some(changes)
    });
    all.collect()
}

/// Returns the shared file that a line of a composed shader is from, and its number behind the comment that names the file.
pub(super) fn shared(text: &str, line: usize) -> Option<(&str, usize)> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let at = lines.iter().rposition(|it| it.starts_with("// shaders/"))?;
    let file = lines[at].strip_prefix("// shaders/")?.strip_suffix(".wgsl")?;
    file.starts_with("lib/").then_some((file, line - 1 - at))
}

/// Returns the line of a composed shader that has this number in a shared file.
pub(super) fn line_of(text: &str, file: &str, line: usize) -> Option<usize> {
    let title = format!("// shaders/{file}.wgsl");
    text.lines().position(|it| it == title).map(|at| at + 1 + line)
}

/// The lines of functions and constants that no entry comes to: a shader is composed of whole files.
fn unused(text: &str) -> BTreeSet<usize> {
    let lines: Vec<&str> = text.lines().map(|it| it.split("//").next().unwrap_or(it)).collect();
    let (item, mut code, mut left) = (regex(r"^(fn|const) (\w+)"), String::new(), Vec::new());
    for at in 0..lines.len() {
        let Some(found) = item.captures(lines[at]) else { continue };
        // A field may be called as a function is, which has its parenthesis.
        let is_function = &found[1] == "fn";
        let name = format!(r"\b{}{}", &found[2], if is_function { r"\(" } else { r"\b" });
        let end = (at..lines.len()).find(|end| !is_function || lines[*end] == "}");
        let item = at..=end.unwrap_or(at);
        if lines[at.saturating_sub(1)].starts_with("@compute") {
            code += &lines[item].concat();
        } else {
            left.push((regex(&name), item));
        }
    }
    loop {
        let (found, others): (Vec<_>, _) = left.into_iter().partition(|it| it.0.is_match(&code));
        if found.is_empty() {
            return others.into_iter().flat_map(|(_, item)| item).collect();
        }
        left = others;
        code.extend(found.into_iter().flat_map(|(_, item)| lines[item].iter().copied()));
    }
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
    fn a_line_of_a_shared_file_is_found_in_each_shader_that_has_it() {
        let [one, other] = [
            "// By.\n\n// shaders/lib/a.wgsl\na\nb\n\n// shaders/k.wgsl\nk\n",
            "// shaders/lib/a.wgsl\na\nb\n",
        ];
        assert_eq!((shared(one, 5), shared(one, 8)), (Some(("lib/a", 2)), None));
        assert_eq!((line_of(other, "lib/a", 2), line_of(other, "lib/b", 2)), (Some(3), None));
    }

    #[test]
    fn declarations_comments_and_what_no_entry_comes_to_are_left_alone() {
        let text = "// a + b\nconst A = 1u;\nconst B = 2u;\nfn f() -> u32 {\n  return A + 0u;\n}\nfn g() {\n  f(); // h()\n  x.h;\n}\n\
                    fn h() {\n  x = B + 3u;\n}\n@compute @workgroup_size(1)\nfn main() {\n  g();\n}\n";
        let lines: Vec<usize> = lines(text).iter().map(|of_line| of_line[0].line).collect();
        assert_eq!(lines, [2, 5]);
    }
}
