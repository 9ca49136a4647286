//! Path patterns against the definition, which tries every way.

use binade_cast_policy::Glob;
use proptest::prelude::*;

/// Returns true if the pattern covers the segments: `**` takes every number of segments there is.
fn path(pattern: &[&str], segments: &[&str]) -> bool {
    match pattern.split_first() {
        None => segments.is_empty(),
        Some((&"**", rest)) => (0..=segments.len()).any(|taken| path(rest, &segments[taken..])),
        Some((first, rest)) => segments
            .split_first()
            .is_some_and(|(segment, others)| text(first, segment) && path(rest, others)),
    }
}

/// Returns true if the pattern covers the segment: `*` takes every number of characters there is.
fn text(pattern: &str, segment: &str) -> bool {
    match pattern.split_at_checked(1) {
        None => segment.is_empty(),
        Some(("*", rest)) => (0..=segment.len()).any(|taken| text(rest, &segment[taken..])),
        Some((first, rest)) => segment.strip_prefix(first).is_some_and(|others| text(rest, others)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(4096)))]

    #[test]
    fn a_pattern_covers_what_its_definition_says(
        pattern in prop::collection::vec("\\*\\*|[ab*]{1,3}", 1..6),
        segments in prop::collection::vec("[ab]{1,3}", 0..6),
    ) {
        let pattern: Vec<_> = pattern.iter().map(String::as_str).collect();
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        let covered = Glob::from(pattern.join(".")).covers(&segments.join("."));
        prop_assert_eq!(covered, path(&pattern, &segments));
    }
}
