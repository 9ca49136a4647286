//! What a crate brings along.

use std::collections::BTreeSet;

use crate::Result;

/// The crates that `cargo tree --prefix none` lists below its first line, which is the program that asks. One that appears again
/// is marked `(*)` and counts once.
pub(super) fn brings(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().skip(1).map(|line| line.trim_end_matches(" (*)").trim());
    lines.filter(|line| !line.is_empty()).map(String::from).collect()
}

/// An error where it brings more than it may, or nothing, which is not even itself.
pub(super) fn verdict(name: &str, brings: &BTreeSet<String>, most: usize) -> Result<()> {
    if (1..=most).contains(&brings.len()) {
        return Ok(());
    }
    let list = brings.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    let count = brings.len();
    Err(format!(
        "`{name}` brings {count} crates and must bring 1 to {most}, itself included\n{list}"
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str =
        "uses v0.0.0\na v0.1.0\nhalf v2.7.1\ncfg-if v1.0.0\nb v0.1.0\nhalf v2.7.1 (*)\n\n";

    #[test]
    fn the_program_is_not_counted_and_a_crate_that_appears_twice_counts_once() {
        assert_eq!(brings(TREE).len(), 4);
    }

    #[test]
    fn one_too_many_is_an_error_that_lists_them_and_so_is_none() {
        let told = verdict("a", &brings(TREE), 3).unwrap_err().to_string();
        assert!(told.starts_with("`a` brings 4 crates") && told.ends_with("half v2.7.1"), "{told}");
        assert!(verdict("a", &brings(TREE), 4).is_ok());
        assert!(verdict("a", &brings("uses v0.0.0\n"), 4).is_err());
    }
}
