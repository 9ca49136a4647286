//! Patterns over paths in a model.

use std::fmt;

/// Pattern over dotted paths.
///
/// * `*` stands for any characters within one segment, none included: `encoder.*.norm` covers `encoder.0.norm`,
///   and not `encoder.0.attention.norm`; `norm*` covers `norm` and `norm1`.
/// * `**` as a whole segment stands for any number of segments, none included: `encoder.**` covers `encoder` and
///   everything below it.
/// * Everything else stands for itself, and the whole path must be covered.
///
/// ```
/// use binade_cast_policy::Glob;
///
/// assert!(Glob::from("encoder.**.norm*").covers("encoder.0.attention.norm2"));
/// assert!(!Glob::from("encoder.*.norm").covers("encoder.0.attention.norm"));
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Glob(Box<str>);

/// Every text is a pattern.
impl From<&str> for Glob {
    fn from(pattern: &str) -> Self {
        Self(pattern.into())
    }
}

/// Every text is a pattern.
impl From<String> for Glob {
    fn from(pattern: String) -> Self {
        Self(pattern.into())
    }
}

impl Glob {
    /// Returns true if it covers the whole of `path`. Allocates nothing; takes at most the product of the lengths.
    pub fn covers(&self, path: &str) -> bool {
        covers(segments(&self.0), segments(path), |p| *p == "**", |p, s| segment(p, s))
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Returns the segments of a path; the empty path has none.
fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('.').filter(|segment| !segment.is_empty())
}

fn segment(pattern: &str, text: &str) -> bool {
    covers(pattern.chars(), text.chars(), |p| *p == '*', |p, c| p == c)
}

/// Returns true if `pattern` covers `text`, where a star covers any run of items.
///
/// Only the latest star is ever reconsidered: it can take whatever an earlier one could.
fn covers<P: Iterator + Clone, T: Iterator + Clone>(
    mut pattern: P,
    mut text: T,
    star: impl Fn(&P::Item) -> bool,
    equal: impl Fn(&P::Item, &T::Item) -> bool,
) -> bool {
    let mut latest = None;
    loop {
        let (mut after_pattern, mut after_text) = (pattern.clone(), text.clone());
        match (after_pattern.next(), after_text.next()) {
            (Some(p), _) if star(&p) => {
                latest = Some((after_pattern.clone(), text.clone()));
                pattern = after_pattern;
            }
            (Some(p), Some(t)) if equal(&p, &t) => (pattern, text) = (after_pattern, after_text),
            (None, None) => return true,
            _ => {
                let Some((after_star, taken)) = &mut latest else { return false };
                if taken.next().is_none() {
                    return false;
                }
                (pattern, text) = (after_star.clone(), taken.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_stays_within_a_segment() {
        for (pattern, path, covered) in [
            ("encoder.*.norm", "encoder.0.norm", true),
            ("encoder.*.norm", "encoder.0.attention.norm", false),
            ("encoder.*.norm", "encoder.norm", false),
            ("norm*", "norm", true),
            ("norm*", "norm12", true),
            ("n*r*2", "norm12", true),
            ("n*r*2", "norm13", false),
            ("*", "", false),
            ("*", "head", true),
            ("head", "head.0", false),
        ] {
            assert_eq!(Glob::from(pattern).covers(path), covered, "{pattern} {path}");
        }
    }

    #[test]
    fn two_stars_take_any_number_of_segments() {
        for (pattern, path, covered) in [
            ("**", "", true),
            ("**", "a.b.c", true),
            ("encoder.**", "encoder", true),
            ("encoder.**", "encoder.0.norm", true),
            ("encoder.**", "decoder.0", false),
            ("**.norm", "norm", true),
            ("**.norm", "a.b.norm", true),
            ("**.norm", "a.b.norm.weight", false),
            ("a.**.b.**.c", "a.b.b.c.b.c", true),
            ("a.**.b.**.c", "a.c.b", false),
        ] {
            assert_eq!(Glob::from(pattern).covers(path), covered, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_do_not_take_exponential_time() {
        let pattern = Glob::from("**.a.".repeat(40) + "b");
        assert!(!pattern.covers(&vec!["a"; 200].join(".")));
    }
}
