//! What naga takes and some driver or browser gets wrong, each seen: looked for in the text.

use crate::{
    shaders::text::{functions, without_comments},
    tidy::Issue,
};

/// Words that no shader may have, and why.
const WORDS: [(&str, &str); 8] = [
    ("quantizeToF16", "flushes subnormals and overflows early: use `lib/half_bits.wgsl`"),
    ("pack2x16float", "overflows to NaN on one driver: use `lib/half_bits.wgsl`"),
    ("unpack2x16float", "loses signalling NaNs on one driver: use `lib/half_bits.wgsl`"),
    ("arrayLength", "counts the padding: pass the length in the parameters"),
    ("bitcast<u32>(vec2<f16>", "naga cannot: keep halves as bits"),
    ("bitcast<u32>(vec2h", "naga cannot: keep halves as bits"),
    (
        "bitcast<f32>(0x7f8",
        "browsers refuse an infinity that is a constant: pass it in the parameters",
    ),
    (
        "bitcast<f32>(0xff8",
        "browsers refuse an infinity that is a constant: pass it in the parameters",
    ),
];

/// Those that are in the file's own text; `path` is for the message.
pub(super) fn in_source(path: &str, source: &str) -> Vec<Issue> {
    let code = without_comments(source);
    let mut issues = Vec::new();
    for (index, (line, told)) in code.lines().zip(source.lines()).enumerate() {
        let mut at = |message: String| issues.push(Issue::new(path, index + 1, message));
        for (word, why) in WORDS.iter().filter(|(word, _)| has_word(line, word)) {
            at(format!("`{word}` {why}"));
        }
        if let Some(both) = compared_with_itself(line) {
            at(format!(
                "`{both}` compared with itself finds no NaN: use `is_nan_bits` or `is_nonfinite`"
            ));
        }
        let above = index.checked_sub(1).and_then(|above| source.lines().nth(above));
        let is_told = |line: &str| line.contains("// NaN: ");
        if has_word(line, "clamp") && !is_told(told) && !above.is_some_and(is_told) {
            at("`clamp` makes a number of NaN: say in a comment `// NaN: …`, in this line or above, why none is lost".into());
        }
    }
    issues
}

/// A `return` that some invocations take before others wait for them, in a composed text.
pub(super) fn in_composed(path: &str, composed: &str) -> Vec<Issue> {
    let code = without_comments(composed);
    let functions = functions(&code);
    let mut waiting = vec!["workgroupBarrier".to_owned(), "workgroupUniformLoad".to_owned()];
    // Functions are declared before or behind who calls them: as often as there are functions is enough.
    for _ in 0..functions.len() {
        for function in &functions {
            let waits = waiting.iter().any(|name| calls(function.body, name).is_some());
            if waits && !waiting.iter().any(|name| name == function.name) {
                waiting.push(function.name.to_owned());
            }
        }
    }
    let early = functions.iter().filter(|function| {
        let last = waiting.iter().filter_map(|name| calls(function.body, name)).max();
        let first = function.body.match_indices("return").map(|(at, _)| at).next();
        matches!((first, last), (Some(first), Some(last)) if first < last)
    });
    early
        .map(|function| {
            let message = format!(
                "`{}` returns before a barrier, which others then wait at for ever",
                function.name
            );
            Issue::new(path, function.line, message)
        })
        .collect()
}

/// Where it is called last.
fn calls(body: &str, name: &str) -> Option<usize> {
    let call = format!("{name}(");
    let is_whole = |at: &usize| !body[..*at].chars().next_back().is_some_and(is_of_name);
    body.match_indices(&call).map(|(at, _)| at).filter(is_whole).last()
}

fn has_word(line: &str, word: &str) -> bool {
    let starts = |at: usize| !line[..at].chars().next_back().is_some_and(is_of_name);
    line.match_indices(word).any(|(at, _)| starts(at))
}

/// The operand of `x != x` or `x == x`.
fn compared_with_itself(line: &str) -> Option<&str> {
    let is_of_operand = |c: char| is_of_name(c) || ".[]".contains(c);
    ["!=", "==", "<=", ">="].iter().find_map(|operator| {
        line.match_indices(operator).find_map(|(at, _)| {
            let left = line[..at].trim_end();
            let right = line[at + 2..].trim_start();
            let left = &left[left.rfind(|c| !is_of_operand(c)).map_or(0, |at| at + 1)..];
            let right = &right[..right.find(|c| !is_of_operand(c)).unwrap_or(right.len())];
            (left == right && !left.is_empty()).then_some(left)
        })
    })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(line: &str) -> usize {
        in_source("k.wgsl", line).len()
    }

    #[test]
    fn each_word_is_a_trap_where_it_stands_alone_and_none_in_a_comment() {
        for (word, _) in WORDS {
            assert!(count(&format!("let y = {word}(x);")) > 0, "{word}");
            assert_eq!(count(&format!("// not {word}(x)")), 0, "{word}");
        }
        assert_eq!(count("let y = my_pack2x16float(x);"), 0);
    }

    #[test]
    fn a_value_compared_with_itself_is_a_trap() {
        for line in ["if (x != x) {", "let b = v.x == v.x;", "return !(a[i] == a[i]);"] {
            assert_eq!(count(line), 1, "{line}");
        }
        for line in ["if (x != y) {", "let b = v.x == v.y;", "x <= xx", "(a + x) != x.y"] {
            assert_eq!(count(line), 0, "{line}");
        }
    }

    #[test]
    fn a_clamp_says_where_nan_goes() {
        assert_eq!(count("let y = clamp(x, 0.0, 1.0);"), 1);
        assert_eq!(
            count("// NaN: raised above, and the result is not used.\nlet y = clamp(x, 0.0, 1.0);"),
            0
        );
    }

    #[test]
    fn a_return_before_a_barrier_is_a_trap_also_through_a_function() {
        let text = "fn sum() { workgroupBarrier(); }\nfn main() { if (a) { return; }\n sum(); }\n";
        assert_eq!(in_composed("k.wgsl", text).len(), 1);
        let text = "fn sum() -> u32 { workgroupBarrier(); return 1u; }\nfn main() { let x = sum(); if (a) { return; } }\n";
        assert_eq!(in_composed("k.wgsl", text), []);
    }
}
