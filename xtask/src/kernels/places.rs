//! Origin of a line of PTX: the entry it stands in, and the line of the source that the compiler gave.

use std::{collections::BTreeMap, fmt};

/// The place of the line that was passed last.
#[derive(Default)]
pub(super) struct Places<'a> {
    files: BTreeMap<&'a str, &'a str>,
    /// The function or entry; empty before the first.
    pub(super) entry: &'a str,
    /// The source file of the line that was passed last, if it is known, and the line in it.
    file: &'a str,
    line: &'a str,
}

impl<'a> Places<'a> {
    /// Reads the table of files, which stands behind the code.
    pub(super) fn of(ptx: &'a str) -> Self {
        let files = ptx.lines().filter_map(|line| {
            let (number, name) = line.trim_start().strip_prefix(".file")?.trim().split_once(' ')?;
            Some((number, name.split('"').nth(1)?))
        });
        Self { files: files.collect(), ..Self::default() }
    }

    /// Goes on to `line`.
    pub(super) fn pass(&mut self, line: &'a str) {
        let words = line.split([' ', '\t', ',', '(', ')']).filter(|word| !word.is_empty());
        match words.collect::<Vec<_>>()[..] {
            [ref before @ .., name] if before.iter().any(|it| [".entry", ".func"].contains(it)) => {
                (self.entry, self.file) = (name, "");
            }
            [".loc", file, line, _] => {
                (self.file, self.line) = (self.files.get(file).copied().unwrap_or("?"), line);
            }
            _ => {}
        }
    }
}

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in `{}`", self.entry)?;
        if self.file.is_empty() { Ok(()) } else { write!(f, " ({}:{})", self.file, self.line) }
    }
}
