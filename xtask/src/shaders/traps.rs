//! Texts that naga takes and some driver or browser gets wrong, each seen. Names alone are a row of `tidy/patterns.toml`.

use regex_lite::Regex;

use crate::issue::{Issue, regex};

/// Traps in the file's own text; `path` is for the message.
pub(super) fn in_source(path: &str, source: &str) -> Vec<Issue> {
    let [clamp, equal] = [r"\bclamp", r"([\w.\[\]]+)\s*[!=<>]=\s*([\w.\[\]]+)"].map(regex);
    let (mut issues, mut above) = (Vec::new(), "");
    for (index, told) in source.lines().enumerate() {
        let line = told.split("//").next().unwrap_or_default();
        let mut at = |message: String| issues.push(Issue::new(path, index + 1, message));
        if let Some(both) = compared_with_itself(&equal, line) {
            at(format!(
                "`{both}` compared with itself finds no NaN: use `is_nan_bits` or `is_nonfinite`"
            ));
        }
        if clamp.is_match(line) && ![told, above].iter().any(|line| line.contains("// NaN: ")) {
            at("`clamp` makes a number of NaN: say in a comment `// NaN: …`, in this line or above, why none is lost".into());
        }
        above = told;
    }
    issues
}

/// The operand of `x != x` or `x == x`.
fn compared_with_itself<'a>(equal: &Regex, line: &'a str) -> Option<&'a str> {
    let mut both = equal.captures_iter(line).map(|it| [it.get(1), it.get(2)]);
    both.find_map(|both| match both {
        [Some(left), Some(right)] if left.as_str() == right.as_str() => Some(left.as_str()),
        _ => None,
    })
}

/// A `return` that some invocations take before others wait for them, in a composed text.
pub(super) fn in_composed(path: &str, composed: &str) -> Vec<Issue> {
    let lines = composed.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.fold(String::new(), |all, line| all + line + "\n");
    let functions: Vec<_> = regex(r"(?:^|\s)fn\s+(\w+)")
        .captures_iter(&code)
        .filter_map(|it| Some((it.get(1)?.as_str(), it.get(1)?.start())))
        .map(|(name, at)| (name, code[..at].matches('\n').count() + 1, body(&code[at..])))
        .collect();
    // Functions that wait, and in each round those that call one of them.
    let mut waiting = vec!["workgroupBarrier", "workgroupUniformLoad"];
    let calls = loop {
        let calls = regex(&format!(r"\b({})\(", waiting.join("|")));
        let more = functions.iter().filter(|it| !waiting.contains(&it.0) && calls.is_match(it.2));
        let more: Vec<_> = more.map(|it| it.0).collect();
        if more.is_empty() {
            break calls;
        }
        waiting.extend(more);
    };
    let early = functions.iter().filter(|(.., body)| {
        let last = calls.find_iter(body).map(|it| it.start()).last();
        body.find("return").zip(last).is_some_and(|(first, last)| first < last)
    });
    let why = "returns before a barrier, which others then wait at for ever";
    early.map(|(name, line, _)| Issue::new(path, *line, format!("`{name}` {why}"))).collect()
}

/// The text between the first brace and the one that closes it.
fn body(text: &str) -> &str {
    let rest = text.split_once('{').map_or("", |(_, rest)| rest);
    let mut depth = 1;
    let end = rest.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    &rest[..end.unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traps_are_found_where_they_stand_alone_and_none_in_a_comment() {
        for line in [
            "if (x != x) {",
            "let b = v.x == v.x;",
            "return !(a[i] == a[i]);",
            "let y = clamp(x, 0.0, 1.0);",
        ] {
            assert_eq!(in_source("k.wgsl", line).len(), 1, "{line}");
            assert_eq!(in_source("k.wgsl", &format!("// {line}")), [], "{line}");
        }
        for line in [
            "if (x != y) {",
            "let b = v.x == v.y;",
            "x <= xx",
            "(a + x) != x.y",
            "// NaN: raised above, and the result is not used.\nlet y = clamp(x, 0.0, 1.0);",
        ] {
            assert_eq!(in_source("k.wgsl", line), [], "{line}");
        }
    }

    #[test]
    fn a_return_before_a_barrier_is_a_trap_also_through_a_function() {
        let text = "fn sum() { workgroupBarrier(); }\nfn main() { if (a) { return; }\n sum(); }\n";
        assert_eq!(in_composed("k.wgsl", text).len(), 1);
        let text = "fn sum() -> u32 { workgroupBarrier(); return 1u; }\nfn main() { let x = sum(); if (a) { return; } }\n";
        assert_eq!(in_composed("k.wgsl", text), []);
    }
}
