//! Check that no page and no example drops a step's outcome: a reader copies the loop, and a skip or divergence is silent in it.
//!
//! The compiler warns of a bare one in code; in a page's it does not, and nowhere of `let _ = …` and `drop(…)`.

use regex_lite::Regex;

use crate::{
    issue::{Issue, regex},
    tidy::tree::{Tree, has_extension},
};

const INSTEAD: &str = "drops what became of a step: `let report = ….resolve()?.unless_diverged()?;` and print it where \
                       `report.is_remarkable()`, or say `.ignore()`";

/// The lines that drop an outcome, of all that a reader may copy: pages, examples, and documentation elsewhere.
pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let drops = &dropped();
    let dropped = tree.with(&["md", "rs"]).flat_map(|(path, text)| {
        let is_copied = has_extension(path, &["md"]) || path.starts_with("examples/");
        let mut is_wrong_on_purpose = false;
        let found = text.lines().enumerate().filter(move |(_, line)| {
            let line = line.trim_start();
            let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
            let line = comment.or(is_copied.then_some(line)).unwrap_or_default().trim_start();
            if line.starts_with("```") {
                is_wrong_on_purpose = line.starts_with("```compile_fail");
            }
            // A line that rustdoc hides runs all the same.
            !is_wrong_on_purpose && drops.is_match(line.strip_prefix("# ").unwrap_or(line).trim())
        });
        found.map(move |(index, _)| Issue::new(path, index + 1, INSTEAD))
    });
    dropped.collect()
}

/// A statement that begins with one of the calls and ends with it, or gives it to `_` or `drop`. A step of a device takes several
/// arguments, and the protocol's `update` takes none.
fn dropped() -> Regex {
    let inner = (0..3).fold("[^()=]".to_owned(), |it, _| format!(r"(?:[^()=]|\({it}*\))"));
    let calls = [
        r"\.step\(&mut [^,()]*\)".to_owned(),
        format!(r"scaler\.update\({inner}+\)"),
        format!(r"update_each\({inner}*\)"),
        r"\.resolve\(\)".to_owned(),
    ]
    .join("|");
    let before = format!(r"let _\w* = .*|drop\(.*|(?:[^()= ]|\({inner}*\))*");
    regex(&format!(r"^(?:{before})(?:{calls})(?:\?|\.unwrap\(\)|\))*;(?: *//.*)?$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn each_way_to_drop_an_outcome_is_found_where_a_reader_may_copy_it() {
        for line in [
            "    amp.scaler.update(step)?.resolve()?; // whatever became of it",
            "scaler.update(a.step(&mut x)?.and(b.step(&mut y)?))?.resolve()?;",
            "let _step = grads.step(&mut optimizer)?;",
            "drop(Scaler::update_each([&mut a, &mut b], step)?);",
            "# first.resolve().unwrap();",
        ] {
            let paths = ["docs/a.md", "examples/a/main.rs", "crates/a/tests/b.rs"];
            assert_eq!(paths.map(|path| found(path, line)), [1, 1, 0], "{line}");
            assert_eq!(found("crates/a/src/lib.rs", &format!("/// {line}")), 1, "{line}");
        }
    }

    #[test]
    fn an_outcome_that_is_looked_at_left_in_writing_or_wrong_on_purpose_passes() {
        for text in [
            "let report = scaler.update(step)?.resolve()?.unless_diverged()?;",
            "scaler.update(step)?.ignore();",
            "steps.push(scaler.update(step)?.resolve()?);",
            "device.step(&mut params, &mut masters, grads, &found)?;",
            "return scaler.update(step)?.resolve();",
            "scaler.update()?;",
            "```compile_fail\nscaler.update(step)?;\n```",
        ] {
            assert_eq!(found("docs/a.md", text), 0, "{text}");
        }
    }
}
