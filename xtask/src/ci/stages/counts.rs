//! The crates that come along with one that is taken alone, without optional features and without procedural macros, which are in no
//! program.

use std::collections::BTreeSet;

use crate::{
    Result,
    ci::outcome::Outcome,
    house::{MOST_CRATES, TAKEN_ALONE},
    shell::Call,
};

pub(crate) fn run() -> Result<Outcome> {
    let mut counts = Vec::new();
    for name in TAKEN_ALONE {
        let call = Call::cargo(
            "tree --edges normal,no-proc-macro --no-default-features --prefix none --package",
        )
        .args([name]);
        println!("{call}");
        counts.push((name, crates(&call.read()?)));
    }
    Ok(verdict(&counts))
}

/// The crates that `cargo tree --prefix none` lists; one that appears again is marked `(*)` and counts once.
fn crates(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)").trim());
    lines.filter(|line| !line.is_empty()).map(String::from).collect()
}

fn verdict(counts: &[(&str, BTreeSet<String>)]) -> Outcome {
    let all = counts
        .iter()
        .map(|(name, crates)| format!("{name} {}", crates.len()))
        .collect::<Vec<_>>()
        .join(", ");
    let good = |crates: &BTreeSet<String>| (1..=MOST_CRATES).contains(&crates.len());
    let Some((name, crates)) = counts.iter().find(|(_, crates)| !good(crates)) else {
        return Outcome::Passed(all);
    };
    let list = crates.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    Outcome::Failed(format!("{all}: {name} must bring 1 to {MOST_CRATES}, itself included\n{list}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_appears_twice_counts_once() {
        let tree =
            "a v0.1.0 (crates/a)\nhalf v2.7.1\ncfg-if v1.0.0\ncore v0.1.0\nhalf v2.7.1 (*)\n\n";
        assert_eq!(crates(tree).len(), 4);
    }

    #[test]
    fn nine_crates_fail_and_eight_pass() {
        let names = |n: usize| (0..n).map(|i| format!("crate-{i}")).collect::<BTreeSet<_>>();
        assert_eq!(verdict(&[("a", names(8))]), Outcome::Passed("a 8".into()));
        assert!(
            matches!(verdict(&[("b", names(8)), ("a", names(9))]), Outcome::Failed(note) if note.contains("a must bring"))
        );
    }

    #[test]
    fn an_empty_list_fails() {
        assert!(matches!(verdict(&[("a", BTreeSet::new())]), Outcome::Failed(_)));
    }
}
