//! The manifest beside the PTX: what each file was compiled from, and by what, so that a machine without CUDA can tell.

use std::{collections::BTreeMap, fmt};

/// The first line of every manifest.
const TITLE: &str =
    "# By `cargo xtask kernels`: name, sha256 of flags and sources, compiler, sha256 of the PTX.";

/// What is known of one PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Of the flags, the source and its headers.
    pub(super) sources: String,
    /// The compiler's version, `13.0.88`.
    pub(super) compiler: String,
    /// Of the PTX.
    pub(super) ptx: String,
}

/// All entries of one folder, by the kernel's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest(pub(super) BTreeMap<String, Entry>);

impl Manifest {
    /// Reads what [`fmt::Display`] wrote; the error is the number, from 1, of the first line that is something else.
    pub(super) fn parse(text: &str) -> Result<Self, usize> {
        let mut entries = BTreeMap::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let words: Vec<_> = line.split(' ').map(String::from).collect();
            let Ok([name, sources, compiler, ptx]) = <[String; 4]>::try_from(words) else {
                return Err(index + 1);
            };
            if entries.insert(name, Entry { sources, compiler, ptx }).is_some() {
                return Err(index + 1);
            }
        }
        Ok(Self(entries))
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{TITLE}")?;
        self.0.iter().try_for_each(|(name, Entry { sources, compiler, ptx })| {
            writeln!(f, "{name} {sources} {compiler} {ptx}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let entry =
            |ptx: &str| Entry { sources: "5".into(), compiler: "13.0.88".into(), ptx: ptx.into() };
        Manifest([("unscale".into(), entry("a")), ("cast".into(), entry("b"))].into())
    }

    #[test]
    fn what_is_written_is_sorted_and_read_back() {
        let text = manifest().to_string();
        assert_eq!(text, format!("{TITLE}\ncast 5 13.0.88 b\nunscale 5 13.0.88 a\n"));
        assert_eq!(Manifest::parse(&text), Ok(manifest()));
    }

    #[test]
    fn a_line_with_a_word_too_few_or_a_name_again_is_told_by_its_number() {
        assert_eq!(Manifest::parse("# t\ncast 5 13.0.88\n"), Err(2));
        assert_eq!(Manifest::parse("cast 5 13.0.88 b\ncast 5 13.0.88 b\n"), Err(2));
    }
}
