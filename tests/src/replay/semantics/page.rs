//! Facts that are not run: what `docs/semantics.md` says of each.

const PAGE: &str = include_str!("../../../../docs/semantics.md");

/// Entry of the page about a fact.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Listed {
    /// A row: the same here, held by a test.
    Held,
    /// A row: another on purpose, held by a test.
    Differs,
    /// A line of a list: there is no such thing here.
    Absent,
}

/// Every fact on the page.
pub(super) fn listed() -> impl Iterator<Item = (&'static str, Listed)> {
    PAGE.lines().filter_map(|line| {
        if let Some((name, _)) = line.strip_prefix("- `").and_then(|rest| rest.split_once("`: ")) {
            return Some((name, Listed::Absent));
        }
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        let differs = !rest.starts_with("the same");
        Some((name, if differs { Listed::Differs } else { Listed::Held }))
    })
}
