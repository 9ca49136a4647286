//! Where a line of PTX comes from: the entry it stands in, and the line of the source that the compiler gave.

use std::{collections::BTreeMap, fmt};

/// File number, line and column, as `.loc` gives them.
type Spot<'a> = [&'a str; 3];

/// The place of the line that was passed last.
#[derive(Default)]
pub(super) struct Places<'a> {
    files: BTreeMap<&'a str, &'a str>,
    /// Where what was inlined was called, by where it stands.
    calls: BTreeMap<Spot<'a>, Spot<'a>>,
    /// The function or entry; empty before the first.
    pub(super) entry: String,
    spot: Option<Spot<'a>>,
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
        let words: Vec<_> = words.collect();
        if let Some((name, before)) = words.split_last()
            && before.iter().any(|word| [".entry", ".func"].contains(word))
        {
            (*name).clone_into(&mut self.entry);
            self.spot = None;
        } else if let [".loc", file, line, column, rest @ ..] = &words[..] {
            self.stand([*file, *line, *column], rest);
        }
    }

    fn stand(&mut self, spot: Spot<'a>, rest: &[&'a str]) {
        self.spot = Some(spot);
        if let ["function_name", _, "inlined_at", file, line, column] = *rest {
            self.calls.insert(spot, [file, line, column]);
        }
    }

    /// The source file of the line that was passed last.
    pub(super) fn file(&self) -> Option<&'a str> {
        self.files.get(self.spot?[0]).copied()
    }

    /// Where the kernel itself called what holds `spot`. A kernel's calls are few steps deep; a circle would be no PTX.
    fn outermost(&self, spot: Spot<'a>) -> Spot<'a> {
        let steps = std::iter::successors(Some(spot), |spot| self.calls.get(spot).copied());
        steps.take(64).last().unwrap_or(spot)
    }

    fn shown(&self, [file, line, _]: Spot<'_>) -> String {
        format!("{}:{line}", self.files.get(file).copied().unwrap_or("?"))
    }
}

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in `{}`", self.entry)?;
        let Some(spot) = self.spot else { return Ok(()) };
        write!(f, " ({}", self.shown(spot))?;
        let outermost = self.outermost(spot);
        if outermost != spot {
            write!(f, ", called at {}", self.shown(outermost))?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry cast(\n)\n{\n\t.loc\t2 9 1, function_name $L__info_string1, inlined_at 1 7 5\n\
        \t.loc\t2 40 3, function_name $L__info_string0, inlined_at 2 9 1\n}\n\t.file\t1 \"cast.cu\"\n\t.file\t2 \"float.cuh\"\n";

    #[test]
    fn entry_and_source_line_are_those_before_the_line() {
        let mut places = Places::of(PTX);
        PTX.lines().take(5).for_each(|line| places.pass(line));
        assert_eq!(places.to_string(), "in `cast` (float.cuh:40, called at cast.cu:7)");
    }

    #[test]
    fn a_function_is_named_though_what_it_returns_comes_first() {
        let mut places = Places::of(PTX);
        places.pass(".func  (.param .b32 func_retval0) twice(");
        assert_eq!(places.to_string(), "in `twice`");
    }

    #[test]
    fn a_new_entry_has_no_source_line_yet() {
        let mut places = Places::of(PTX);
        PTX.lines().take(5).for_each(|line| places.pass(line));
        places.pass(".visible .entry next(");
        assert_eq!(places.to_string(), "in `next`");
    }
}
