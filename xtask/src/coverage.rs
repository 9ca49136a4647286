//! Which PTX lines of each kernel ran, over all processes of a test run.
//!
//! Each process of the interpreter leaves a file with a line for each entry: its name, a hash of its module's text, how many
//! lines it has, and the numbers of those that never ran, with commas between, or `-`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write},
    fs,
    path::Path,
};

use crate::Result;

/// Entries with a smaller share are listed with the lines that are missing.
const ENOUGH: f64 = 0.95;

/// What ran of each entry.
#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<(String, String), Entry>);

#[derive(Debug)]
struct Entry {
    lines: usize,
    missed: BTreeSet<u32>,
}

impl Entry {
    #[expect(clippy::cast_precision_loss, reason = "a kernel has fewer lines than 2^52")]
    fn share(&self) -> f64 {
        let ran = self.lines.saturating_sub(self.missed.len());
        if self.lines == 0 { 1.0 } else { ran as f64 / self.lines as f64 }
    }
}

/// The files of a folder, as one table.
pub(crate) fn merged(folder: &Path) -> Result<Table> {
    let mut table = Table::default();
    for file in fs::read_dir(folder)? {
        table.add(&fs::read_to_string(file?.path())?)?;
    }
    Ok(table)
}

impl Table {
    /// Adds what one process covered: a line was missed if every process missed it.
    fn add(&mut self, text: &str) -> Result<()> {
        for line in text.lines() {
            let (key, entry) = parse(line).ok_or_else(|| format!("not coverage: `{line}`"))?;
            match self.0.get_mut(&key) {
                Some(known) => known.missed.retain(|line| entry.missed.contains(line)),
                None => drop(self.0.insert(key, entry)),
            }
        }
        Ok(())
    }
}

fn parse(line: &str) -> Option<((String, String), Entry)> {
    let mut words = line.split(' ');
    let key = (words.next()?.to_owned(), words.next()?.to_owned());
    let lines = words.next()?.parse().ok()?;
    let missed = match words.next()? {
        "-" => BTreeSet::new(),
        list => list.split(',').map(|line| line.parse().ok()).collect::<Option<_>>()?,
    };
    Some((key, Entry { lines, missed }))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.keys().map(|(name, _)| name.len()).max().unwrap_or(0).max(5);
        writeln!(f, "\n{:<width$}  lines    ran", "entry")?;
        let mut below = String::new();
        for ((name, module), entry) in &self.0 {
            // Rounded down: 100 % is all of it.
            let share = (entry.share() * 100.0).floor();
            writeln!(f, "{name:<width$}  {:>5}  {share:>4} %", entry.lines)?;
            if entry.share() < ENOUGH {
                writeln!(below, "{name} (module {module}): PTX lines {:?}", entry.missed)?;
            }
        }
        let title = if below.is_empty() { "" } else { "\nNever ran, of entries under 95 %:\n" };
        write!(f, "{title}{below}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_missed_if_every_process_missed_it() {
        let mut table = Table::default();
        table.add("scale 0a 20 3,4,5\ncast 0a 10 -\n").unwrap();
        table.add("scale 0a 20 4,5,6\nscale 0b 20 1\n").unwrap();
        let missed: Vec<_> = table.0.values().map(|entry| entry.missed.len()).collect();
        assert_eq!(missed, [0, 2, 1]);
        let text = table.to_string();
        assert!(text.contains("scale (module 0a): PTX lines {4, 5}"), "{text}");
        assert!(!text.contains("module 0b"), "{text}");
    }

    #[test]
    fn what_is_no_coverage_is_shown() {
        let error = Table::default().add("scale 0a twenty -").unwrap_err();
        assert!(error.to_string().contains("`scale 0a twenty -`"));
    }
}
