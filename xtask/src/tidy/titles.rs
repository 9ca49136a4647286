//! Titles of commits: `scope: imperative summary`, at most 72 characters. Commits up to [`BASE`] keep theirs.

use crate::{
    issue::{Issue, regex},
    shell::Call,
    tidy::tree::Tree,
};

/// The last commit before the rule.
const BASE: &str = "db6b7f29";

/// The most characters of a title.
const MOST: usize = 72;

/// The hash and the title of every commit since the rule, but merges; the reason why they cannot be read otherwise.
pub(super) fn read() -> Result<Vec<String>, String> {
    let log = format!("git log --no-merges --format='%h %s' {BASE}..HEAD");
    let text = Call::line(log)
        .read()
        .map_err(|_| format!("there is no git, or the clone is shallow and has no {BASE}"))?;
    Ok(text.lines().map(str::to_owned).collect())
}

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let titles = tree.titles.iter().flatten().filter_map(|line| line.split_once(' '));
    let form = format!("`scope: imperative summary`, at most {MOST} characters");
    let bad = titles.filter_map(|(hash, title)| Some((hash, title, objection(title)?)));
    bad.map(|(hash, title, why)| {
        Issue::new(format!("commit {hash}"), 0, format!("`{title}` {why}: {form}"))
    })
    .collect()
}

/// A verb of command is a small word that is no article or relative, and does not end as other forms of verbs do.
fn objection(title: &str) -> Option<&'static str> {
    let words = regex(r"^[a-z0-9 ,\-_./]+: ([a-z-]*)([ ,]|$)").captures(title);
    let verb = words.as_ref().map_or("", |words| &words[1]);
    let other =
        regex(r"^(|a|all|an|each|every|how|it|no|the|what|where|whether|.*ed|.*ing|(.*[^s])?s)$");
    let is_verb = regex("^(bring|embed|feed|focus|need|seed)$").is_match(verb);
    if title.chars().count() > MOST {
        Some("is too long")
    } else if words.is_none() {
        Some("has no scope, or does not begin with a small word")
    } else {
        (other.is_match(verb) && !is_verb).then_some("does not begin with a verb of command")
    }
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
            "xtask: ",
            "Cuda: add it",
            &long,
        ] {
            let tree = Tree { titles: Ok(vec![format!("c0ffee {title}")]), ..Tree::of(&[]) };
            assert_eq!(check(&tree).len(), 1, "{title}");
        }
        let good = ["cuda/bias_add, ops: reduce one column", "xtask mutate: pass what needs it"];
        assert_eq!(good.map(objection), [None; 2]);
        assert_eq!(objection(&long[..72]), None);
    }
}
