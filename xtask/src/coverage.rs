//! Which PTX lines of each kernel ran, over all processes of a test run.
//!
//! Each process of the interpreter leaves a file with a line for each entry: its name, a hash of its module's text, how many
//! lines it has, and the numbers of those that never ran, with commas between, or `-`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write},
    fs,
    path::{Path, PathBuf},
};

use crate::{Result, kernels, packed, shell::root};

/// An entry with a smaller share needs a reason.
const ENOUGH: f64 = 0.95;

/// Why less than [`ENOUGH`] of an entry runs. One that is needed no longer fails the verdict, as a lint's `expect` does.
const REASONS: &[(&str, &str)] = &[(
    "read_only",
    "it writes only where what it read equals a key that nobody expects, so that the reads are not dropped",
)];

/// What ran of each entry, and the names of those that there must be.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// By name, and by module where two have entries of that name.
    entries: BTreeMap<(String, String), Entry>,
    committed: BTreeSet<String>,
}

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

/// A folder for what one run leaves: empty, whatever was there before.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// The files of all folders, as one table of the committed entries.
pub(crate) fn merged(folders: &[PathBuf]) -> Result<Table> {
    let mut table = Table::default();
    for folder in folders {
        for file in fs::read_dir(folder)? {
            table.add(&fs::read_to_string(file?.path())?)?;
        }
    }
    // Tests load kernels of their own, too.
    let committed = committed()?;
    table.entries.retain(|(name, _), _| committed.contains(name));
    table.committed = committed;
    Ok(table)
}

/// The names of the entries that the repository ships.
fn committed() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for text in packed::read(&root().join(kernels::PACKED))?.into_values() {
        let entries = text.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
        names.extend(entries.map(|line| line.trim_end_matches(['(', ')']).to_owned()));
    }
    Ok(names)
}

fn reason(name: &str) -> Option<&'static str> {
    REASONS.iter().find(|(entry, _)| *entry == name).map(|(_, reason)| *reason)
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
}

impl Table {
    /// An error that names every entry under 95 % without a reason, every reason without such an entry, and every entry
    /// that was never loaded.
    pub(crate) fn verdict(&self) -> Result<()> {
        let found = self.objections(reason);
        if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
    }

    /// The lines of these entries that nothing ran.
    pub(crate) fn never_ran(&self, entries: &[&str]) -> BTreeSet<usize> {
        let ours = self.entries.iter().filter(|((name, _), _)| entries.contains(&name.as_str()));
        ours.flat_map(|(_, entry)| &entry.missed)
            .filter_map(|line| usize::try_from(*line).ok())
            .collect()
    }

    fn objections(&self, reason: impl Fn(&str) -> Option<&'static str>) -> Vec<String> {
        let is_low = |name: &str| {
            self.entries.iter().any(|((entry, _), ran)| entry == name && ran.share() < ENOUGH)
        };
        let one = |name: &String| {
            let is_there = self.entries.keys().any(|(entry, _)| entry == name);
            Some(match (is_there, is_low(name), reason(name)) {
                (false, ..) => format!("`{name}` was never loaded: no test runs it"),
                (_, true, None) => format!(
                    "less than 95 % of `{name}` ran: test the rest, or say why not in xtask/src/coverage.rs"
                ),
                (_, false, Some(_)) => format!(
                    "95 % of `{name}` ran: its reason in xtask/src/coverage.rs is needed no longer"
                ),
                _ => return None,
            })
        };
        self.committed.iter().filter_map(one).collect()
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
        let width = self.entries.keys().map(|(name, _)| name.len()).max().unwrap_or(0).max(5);
        writeln!(f, "\n{:<width$}  lines    ran  why not more", "entry")?;
        let mut unexplained = String::new();
        for ((name, module), entry) in &self.entries {
            // Rounded down: 100 % is all of it.
            let share = (entry.share() * 100.0).floor();
            let why = reason(name).filter(|_| entry.share() < ENOUGH);
            let row =
                format!("{name:<width$}  {:>5}  {share:>3} %  {}", entry.lines, why.unwrap_or(""));
            writeln!(f, "{}", row.trim_end())?;
            if entry.share() < ENOUGH && why.is_none() {
                writeln!(unexplained, "{name} (module {module}): PTX lines {:?}", entry.missed)?;
            }
        }
        let title =
            if unexplained.is_empty() { "" } else { "\nNever ran, with no reason given:\n" };
        write!(f, "{title}{unexplained}")
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
        let missed: Vec<_> = table.entries.values().map(|entry| entry.missed.len()).collect();
        assert_eq!(missed, [0, 2, 1]);
        let text = table.to_string();
        assert!(text.contains("scale (module 0a): PTX lines {4, 5}"), "{text}");
        assert!(!text.contains("module 0b"), "{text}");
    }

    /// A table of one committed entry, so many of whose 100 lines never ran.
    fn missing(lines: u32) -> Table {
        let mut table = Table::default();
        let list = (1..=lines).map(|line| line.to_string()).collect::<Vec<_>>().join(",");
        table.add(&format!("scale 0a 100 {list}")).unwrap();
        table.committed.insert("scale".into());
        table
    }

    #[test]
    fn an_entry_under_95_percent_needs_a_reason_and_one_above_must_not_have_one() {
        assert!(missing(6).objections(|_| None)[0].starts_with("less than 95 % of `scale`"));
        assert!(missing(6).objections(|_| Some("why")).is_empty());
        assert!(missing(5).objections(|_| None).is_empty());
        assert!(missing(5).objections(|_| Some("why"))[0].ends_with("needed no longer"));
    }

    #[test]
    fn an_entry_that_no_test_loads_is_told() {
        let table = Table { committed: BTreeSet::from(["cast".into()]), ..Table::default() };
        assert!(table.objections(|_| Some("why"))[0].contains("`cast` was never loaded"));
    }

    #[test]
    fn every_reason_is_of_an_entry_that_is_committed() {
        let committed = committed().unwrap();
        assert!(committed.contains("cast_stochastic"));
        for (name, _) in REASONS {
            assert!(committed.contains(*name), "{name}");
        }
    }

    #[test]
    fn what_is_no_coverage_is_shown() {
        let error = Table::default().add("scale 0a twenty -").unwrap_err();
        assert!(error.to_string().contains("`scale 0a twenty -`"));
    }
}
