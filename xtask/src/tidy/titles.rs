//! Titles of commits: `scope: imperative summary`, at most 72 characters. Commits up to [`BASE`] keep theirs.

use crate::{issue::Issue, shell::Call, tidy::tree::Tree};

/// The last commit before the rule.
const BASE: &str = "db6b7f29";

/// The most characters of a title.
const MOST: usize = 72;

/// The hash and the title of every commit since the rule, but merges; the reason why they cannot be read otherwise.
pub(super) fn read() -> Result<Vec<String>, String> {
    let log = format!("git log --no-merges --format='%h %s' {BASE}..HEAD");
    let text = Call::line(&log)
        .read()
        .map_err(|_| format!("there is no git, or the clone is shallow and has no {BASE}"))?;
    Ok(text.lines().map(str::to_owned).collect())
}

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let titles = tree.titles.iter().flatten().filter_map(|line| line.split_once(' '));
    titles
        .filter_map(|(hash, title)| {
            Some(Issue::new(format!("commit {hash}"), 0, objection(title)?))
        })
        .collect()
}

fn objection(title: &str) -> Option<String> {
    let told = |why: &str| {
        Some(format!("`{title}` {why}: `scope: imperative summary`, at most {MOST} characters"))
    };
    let count = title.chars().count();
    if count > MOST {
        return told(&format!("has {count} characters"));
    }
    let is_scope = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || " ,-_./".contains(c);
    let Some((_, summary)) =
        title.split_once(": ").filter(|it| !it.0.is_empty() && it.0.chars().all(is_scope))
    else {
        return told("has no scope");
    };
    let verb = summary.split([' ', ',']).next().unwrap_or_default();
    if is_imperative(verb) { None } else { told("does not begin with a verb of command") }
}

/// Returns true for a small word that is no article or relative, and does not end as other forms of verbs do.
fn is_imperative(word: &str) -> bool {
    const OTHERS: &[&str] =
        &["a", "all", "an", "each", "every", "how", "it", "no", "the", "what", "where", "whether"];
    const VERBS: &[&str] = &["bring", "embed", "feed", "focus", "need", "seed"];
    let is_other_form =
        ["ed", "ing", "s"].iter().any(|end| word.ends_with(end)) && !word.ends_with("ss");
    let is_small = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_small && !OTHERS.contains(&word) && (VERBS.contains(&word) || !is_other_form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_without_a_scope_or_a_verb_or_of_73_characters_is_found() {
        let long = format!("xtask: {}", "a".repeat(66));
        for title in [
            "Steps turn into results",
            "xtask: added it",
            "xtask: what is left",
            "xtask: The kit runs",
            "Cuda: add it",
            &long,
        ] {
            let tree = Tree { titles: Ok(vec![format!("c0ffee {title}")]), ..Tree::of(&[]) };
            assert_eq!(check(&tree).len(), 1, "{title}");
        }
        for title in [
            "cuda/bias_add, ops: reduce one column",
            "xtask mutate: pass what needs it",
            &long[..72],
        ] {
            assert_eq!(objection(title), None);
        }
    }
}
