//! No page and no example drops what became of a step: a reader copies the loop, and a skip or divergence is silent in it.
//!
//! The compiler warns of a bare one in code; in a page's it does not, and nowhere of `let _ = …` and `drop(…)`.

use crate::{
    issue::Issue,
    tidy::tree::{Tree, has_extension},
};

/// Calls that give a pending step, an outcome, or what it says.
const CALLS: [&str; 4] = [".step(&mut ", "scaler.update(", "update_each(", ".resolve("];

const INSTEAD: &str = "drops what became of a step: `let report = ….resolve()?.unless_diverged()?;` and print it where \
                       `report.is_remarkable()`, or say `.ignore()`";

/// The lines that drop an outcome, of all that a reader may copy: pages, examples, and documentation elsewhere.
pub(super) fn check(tree: &Tree) -> Vec<Issue> {
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
            !is_wrong_on_purpose && drops(line.strip_prefix("# ").unwrap_or(line).trim_start())
        });
        found.map(move |(index, _)| Issue::new(path, index + 1, INSTEAD))
    });
    dropped.collect()
}

fn drops(line: &str) -> bool {
    let code = line.split(" //").next().unwrap_or(line).trim_end();
    CALLS.iter().any(|call| {
        let Some((before, after)) = code.rsplit_once(call) else { return false };
        let mut depth = 1_i32;
        let end = after.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let Some((arguments, rest)) = end.map(|end| (&after[..end], &after[end + 1..])) else {
            return false;
        };
        // A step of a device takes several arguments, and the protocol's `update` takes none.
        let is_others = match *call {
            ".step(&mut " => arguments.contains(','),
            "scaler.update(" => arguments.is_empty(),
            _ => false,
        };
        // A statement that begins here with a call, and is no assignment, `return` or pattern.
        let is_balanced = before.matches('(').count() == before.matches(')').count();
        let is_bare = is_balanced && !before.contains('=') && !before.starts_with("return ");
        let is_dropped = is_bare && [";", "?;", ".unwrap();", "??;"].contains(&rest);
        !is_others && (is_dropped || before.starts_with("let _") || before.starts_with("drop("))
    })
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
