//! Coverage: the PTX lines of each kernel that ran, over all processes of a test run.
//!
//! Each process of the interpreter leaves a file with a line for each entry: its name, a hash of its module's text, how many
//! lines it has, and the numbers of those that never ran, with commas between, or `-`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::{Result, device, kernels, packed, shell::root};

/// Reasons why less than 95 % of an entry runs.
const REASONS: &[(&str, &str)] = &[
    (
        "read_only",
        "it writes only where what it read equals a key that nobody expects, so that the reads are not dropped",
    ),
    ("average", "what loads an element has the types of eight bits too, which no gradient has"),
    (
        "group_norm_backward",
        "its vectors of runs lie where four elements are loaded at once, and what loads others has a path for any address",
    ),
    (
        "sparse_overflow",
        "its division has a path for an index above 2^32, which takes a gradient of 4 G elements",
    ),
    (
        "pack",
        "its loop over four groups at once has the path for a part of a group, which only the last group takes",
    ),
];

/// The coverage of each entry, and the names of those that there must be.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Entries by name, and by module where two have entries of that name.
    entries: BTreeMap<(String, String), Entry>,
    committed: BTreeSet<String>,
}

#[derive(Debug)]
struct Entry {
    lines: usize,
    missed: BTreeSet<usize>,
}

impl Entry {
    /// The percentage that ran, rounded down: 100 is all of it.
    fn percent(&self) -> usize {
        100 * self.lines.saturating_sub(self.missed.len()) / self.lines.max(1)
    }
}

/// Makes a folder for the files of one run: empty, whatever was there before.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Reads the files of all folders as one table of the committed entries.
pub(crate) fn merged(folders: &[PathBuf]) -> Result<Table> {
    let mut table = Table { committed: committed()?, ..Table::default() };
    for folder in folders {
        for file in fs::read_dir(folder)? {
            table.add(&fs::read_to_string(file?.path())?)?;
        }
    }
    // Tests load kernels of their own, too.
    table.entries.retain(|(name, _), _| table.committed.contains(name));
    Ok(table)
}

/// Judges what CI's tests on the interpreter have left.
pub(crate) fn run() -> Result<()> {
    let table = merged(&[device::placed(false).join("coverage")])?;
    print!("{table}");
    table.verdict()
}

/// The names of the entries that the repository ships.
fn committed() -> Result<BTreeSet<String>> {
    let texts = packed::read(&root().join(kernels::PACKED))?;
    Ok(texts.values().flat_map(|text| entries(text)).map(str::to_owned).collect())
}

/// The names of the entries of a PTX text; none of WGSL.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = &str> {
    let entries = text.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
    entries.map(|line| line.trim_end_matches(['(', ')']))
}

impl Table {
    /// Adds what one process covered: a line was missed if every process missed it.
    fn add(&mut self, text: &str) -> Result<()> {
        for line in text.lines() {
            let (key, entry) = parse(line).ok_or_else(|| format!("not coverage: `{line}`"))?;
            match self.entries.get_mut(&key) {
                Some(known) => known.missed.retain(|line| entry.missed.contains(line)),
                None => drop(self.entries.insert(key, entry)),
            }
        }
        Ok(())
    }

    /// An error that names every entry under 95 % without a reason, and every entry that was never loaded.
    pub(crate) fn verdict(&self) -> Result<()> {
        let found = self.objections(REASONS);
        if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
    }

    /// The lines of these entries that nothing ran.
    pub(crate) fn never_ran(&self, entries: &[&str]) -> BTreeSet<usize> {
        let ours = self.entries.iter().filter(|((name, _), _)| entries.contains(&name.as_str()));
        ours.flat_map(|(_, entry)| entry.missed.iter().copied()).collect()
    }

    fn objections(&self, reasons: &[(&str, &str)]) -> Vec<String> {
        let one = |name: &String| {
            let mut all = self.entries.iter().filter(|(key, _)| key.0 == *name).peekable();
            if all.peek().is_none() {
                return Some(format!("`{name}` was never loaded: no test runs it"));
            }
            let is_excused = reasons.iter().any(|(entry, _)| entry == name);
            let (key, entry) = all.find(|it| it.1.percent() < 95 && !is_excused)?;
            Some(format!(
                "less than 95 % of `{name}` ran: test the rest, or say why not in xtask/src/coverage.rs; PTX lines of module {}: {:?}",
                key.1, entry.missed
            ))
        };
        self.committed.iter().filter_map(one).collect()
    }
}

fn parse(line: &str) -> Option<((String, String), Entry)> {
    let [name, module, lines, missed] = line.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let missed = match missed {
        "-" => BTreeSet::new(),
        list => list.split(',').map(|line| line.parse().ok()).collect::<Option<_>>()?,
    };
    Some(((name.to_owned(), module.to_owned()), Entry { lines: lines.parse().ok()?, missed }))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.entries.keys().map(|(name, _)| name.len()).max().unwrap_or(0).max(5);
        writeln!(f, "\n{:<width$}  lines    ran", "entry")?;
        self.entries.iter().try_for_each(|((name, _), entry)| {
            writeln!(f, "{name:<width$}  {:>5}  {:>3} %", entry.lines, entry.percent())
        })
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
        assert_eq!(table.never_ran(&["scale"]), BTreeSet::from([1, 4, 5]));
        let error = table.add("scale 0a twenty -").unwrap_err();
        assert!(error.to_string().contains("`scale 0a twenty -`"));
    }

    #[test]
    fn an_entry_needs_a_load_and_95_percent_or_a_reason() {
        let told = |lines: &str, reasons| {
            let mut table =
                Table { committed: BTreeSet::from(["scale".into()]), ..Table::default() };
            table.add(lines).unwrap();
            table.objections(reasons).concat()
        };
        let why = &[("scale", "why")][..];
        assert!(told("", why).contains("never loaded"));
        assert!(told("scale 0a 20 1,2", &[]).starts_with("less than 95 % of `scale`"));
        assert_eq!(told("scale 0a 20 1,2", why) + &told("scale 0a 20 1", &[]), "");
    }
}
