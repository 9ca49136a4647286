//! Where a line of PTX comes from: the entry it stands in, and the line of the source that the compiler gave.

use std::{collections::BTreeMap, fmt};

/// The place of the line that was passed last.
#[derive(Default)]
pub(super) struct Places<'a> {
    files: BTreeMap<&'a str, &'a str>,
    /// The function or entry; empty before the first.
    pub(super) entry: String,
    source: String,
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
    pub(super) fn pass(&mut self, line: &str) {
        let words: Vec<_> =
            line.split([' ', '\t', ',', '(']).filter(|word| !word.is_empty()).collect();
        if let Some(at) = words.iter().position(|word| *word == ".entry" || *word == ".func") {
            // What a function returns comes before its name; then the name is on no fixed place, and the line tells enough.
            self.entry = words.get(at + 1).map_or_else(String::new, ToString::to_string);
            self.source.clear();
        } else if let [".loc", file, line, ..] = words[..] {
            let name = self.files.get(file).copied().unwrap_or("?");
            self.source = format!(" ({name}:{line})");
        }
    }
}

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in `{}`{}", self.entry, self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry cast(\n)\n{\n\t.loc\t2 40 3, function_name $L__info_string0, inlined_at 1 7 5\n\
        }\n\t.file\t1 \"cast.cu\"\n\t.file\t2 \"float.cuh\"\n";

    #[test]
    fn entry_and_source_line_are_those_before_the_line() {
        let mut places = Places::of(PTX);
        PTX.lines().take(4).for_each(|line| places.pass(line));
        assert_eq!(places.to_string(), "in `cast` (float.cuh:40)");
    }

    #[test]
    fn a_new_entry_has_no_source_line_yet() {
        let mut places = Places::of(PTX);
        PTX.lines().take(4).for_each(|line| places.pass(line));
        places.pass(".visible .entry next(");
        assert_eq!(places.to_string(), "in `next`");
    }
}
