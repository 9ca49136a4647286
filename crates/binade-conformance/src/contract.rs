//! Which sentences of which contracts a case proves: by a table that `cargo xtask contracts` writes from `docs/contracts.md`.

use std::fmt;

/// A sentence of a contract.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sentence {
    /// The trait that states it under "For implementers", or the heading of `docs/contracts.md` under which it stands.
    pub of: &'static str,
    /// What is promised.
    pub says: &'static str,
}

impl Sentence {
    /// The sentences that the case of this name proves, in the order of `docs/contracts.md`.
    pub fn proved_by(case: &str) -> Vec<Self> {
        let mut proved = Vec::new();
        let (mut of, mut says) = ("", "");
        for line in TABLE.lines() {
            match line.split_at_checked(2) {
                Some(("# ", heading)) => of = heading,
                Some(("* ", sentence)) => says = sentence,
                Some(("  ", pattern)) if is_like(case, pattern) => proved.push(Self { of, says }),
                _ => {}
            }
        }
        // Patterns of one sentence stand together, and a case may be like several.
        proved.dedup();
        proved
    }
}

impl fmt::Display for Sentence {
    /// `Autocast: …`; of a stranger's own trait, "your `AmpTensor::cast` …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = self.says.strip_prefix('`').filter(|_| self.of == AMP_TENSOR) {
            return write!(f, "your `{AMP_TENSOR}::{method}");
        }
        write!(f, "{}: {}", self.of, self.says)
    }
}

/// The trait that a stranger's tensor implements, behind which `Native` keeps all others.
pub(crate) const AMP_TENSOR: &str = "AmpTensor";

/// Headings, sentences and patterns of cases' names. A copy, since who takes the kit alone does not have the page.
const TABLE: &str = include_str!("contracts.txt");

/// Whether `name` is what `pattern` says, where `*` is anything.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    name.strip_prefix(start).is_some_and(|name| {
        let mut ends = (0..=name.len()).filter_map(|at| name.get(at..));
        ends.any(|end| is_like(end, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_is_like_several_patterns_of_a_sentence_proves_it_once() {
        let mut proved = Sentence::proved_by("norm/f16/elements_of_1e25_do_not_overflow");
        proved.retain(|sentence| sentence.of != "AmpTensor");
        let [sentence] = proved[..] else { panic!("{proved:?}") };
        assert_eq!(sentence.of, "GradOps");
        assert!(sentence.to_string().starts_with("GradOps: Norms are accumulated so that"));
        assert_eq!(Sentence::proved_by("norm"), []);
    }

    #[test]
    fn a_pattern_leaves_open_what_it_has_a_star_for() {
        for (name, pattern) in [("a/b", "a/b"), ("a/b/c", "a/*"), ("a/b/c", "*/c"), ("é/b", "*b")]
        {
            assert!(is_like(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("a/b/c", "a/b"), ("a/b/c", "*/d"), ("a/b/c", "b*"), ("a", "a*a")] {
            assert!(!is_like(name, pattern), "{name} {pattern}");
        }
    }
}
