//! No page and no example drops what became of a step: a reader copies the loop, and a skip or divergence is silent in it.
//!
//! The compiler warns of a bare one in code; in a page's it does not, and nowhere of `let _ = …` and `drop(…)`.

use crate::tidy::{Issue, tree::Tree};

/// Calls that give a pending step, an outcome, or what it says.
const CALLS: [&str; 4] = [".step(&mut ", "scaler.update(", "update_each(", ".resolve("];

/// Endings of a statement that drops a value, such as `?;`.
const DROPPED: [&str; 4] = [";", "?;", ".unwrap();", "??;"];

const INSTEAD: &str = "drops what became of a step: `let report = ….resolve()?.unless_diverged()?;` and print it where \
                       `report.is_remarkable()`, or say `.leave_unread()`";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    tree.files().flat_map(|(path, text)| dropped(path, text)).collect()
}

fn dropped(path: &str, text: &str) -> Vec<Issue> {
    let mut is_wrong_on_purpose = false;
    let lines =
        text.lines().enumerate().filter_map(|(index, line)| Some((index, shown(path, line)?)));
    let found = lines.filter_map(|(index, line)| {
        if line.starts_with("```") {
            is_wrong_on_purpose = line.starts_with("```compile_fail");
        }
        (!is_wrong_on_purpose && drops(line)).then(|| Issue::new(path, index + 1, INSTEAD))
    });
    found.collect()
}

/// The code that a reader may copy from this line: all of a page and of an example, and documentation elsewhere.
fn shown<'a>(path: &str, line: &'a str) -> Option<&'a str> {
    let line = line.trim_start();
    let comment =
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).map(str::trim_start);
    let extension = std::path::Path::new(path).extension().and_then(|extension| extension.to_str());
    let is_copied = match extension {
        Some("md") => true,
        Some("rs") => path.starts_with("examples/"),
        _ => false,
    };
    let line = comment.or(Some(line).filter(|_| is_copied))?;
    // A line that rustdoc hides runs all the same.
    Some(line.strip_prefix("# ").unwrap_or(line).trim_start())
}

fn drops(line: &str) -> bool {
    let code = line.split(" //").next().unwrap_or(line).trim_end();
    CALLS.iter().any(|call| {
        let Some((before, after)) = code.rsplit_once(call) else { return false };
        let Some((arguments, rest)) = closed(after) else { return false };
        // A step of a device takes several arguments, and the protocol's `update` takes none.
        let is_ours = match *call {
            ".step(&mut " => !arguments.contains(','),
            "scaler.update(" => !arguments.is_empty(),
            _ => true,
        };
        if !is_ours {
            return false;
        }
        let is_bare = begins_here(before);
        before.starts_with("let _")
            || before.starts_with("drop(")
            || is_bare && DROPPED.contains(&rest)
    })
}

/// Returns true where the statement begins here with a call, and is no assignment, `return` or pattern.
fn begins_here(before: &str) -> bool {
    let depth = |mark| before.matches(mark).count();
    depth('(') == depth(')') && !before.contains('=') && !before.starts_with("return ")
}

/// The text within the open parenthesis, and the text behind it.
fn closed(after: &str) -> Option<(&str, &str)> {
    let mut depth = 1_i32;
    let end = after.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    Some((&after[..end], &after[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|issue| issue.line).collect()
    }

    #[test]
    fn each_way_to_drop_an_outcome_is_found() {
        for line in [
            "scaler.update(step)?.resolve()?;",
            "    amp.scaler.update(step)?.resolve()?; // whatever became of it",
            "first.resolve().unwrap();",
            "scaler.update(a.step(&mut x)?.and(b.step(&mut y)?))?.resolve()?;",
            "scaler.update(step)?;",
            "grads.unscale()?.step(&mut optimizer)?;",
            "let _ = grads.unscale()?.step(&mut optimizer)?;",
            "let _step = grads.step(&mut optimizer)?;",
            "let _ = scaler.update(step)?;",
            "let _outcomes = Scaler::update_each([&mut a, &mut b], step)?;",
            "drop(scaler.update(step)?.resolve()?);",
            "# scaler.update(step)?.resolve()?;",
        ] {
            assert_eq!(found("docs/a.md", line), [1], "{line}");
            assert_eq!(found("examples/a/src/main.rs", line), [1], "{line}");
            assert_eq!(found("crates/a/src/lib.rs", &format!("/// {line}")), [1], "{line}");
        }
    }

    #[test]
    fn what_is_looked_at_left_in_writing_or_wrong_on_purpose_passes() {
        for text in [
            "let report = scaler.update(step)?.resolve()?.unless_diverged()?;",
            "scaler.update(step)?.leave_unread();",
            "amp.scaler.update(step)?.resolve()?.into_applied()?;",
            "steps.push(scaler.update(step)?.resolve()?);",
            "assert!(scaler.update(step)?.resolve()?.is_applied());",
            "let step = grads.step(&mut optimizer)?;",
            "device.step(&mut params, &mut masters, grads, &found)?;",
            "let _window = device.window();",
            "return scaler.update(step)?.resolve();",
            "scaler.update()?;",
            "```compile_fail\nscaler.update(step)?;\n```",
        ] {
            assert_eq!(found("docs/a.md", text), [] as [usize; 0], "{text}");
        }
        assert_eq!(found("crates/a/tests/b.rs", "drop(scaler.update(step)?);"), [] as [usize; 0]);
    }
}
