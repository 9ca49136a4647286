//! The table of entries and GPUs.

use std::{collections::BTreeMap, fmt};

use crate::kernels::usage::Usage;

/// What every entry takes on every GPU.
pub(super) struct Table<'a> {
    gpus: &'a [u32],
    /// By file and entry, then by GPU.
    rows: BTreeMap<(String, String), BTreeMap<u32, Usage>>,
}

impl<'a> Table<'a> {
    pub(super) fn new(gpus: &'a [u32]) -> Self {
        Self { gpus, rows: BTreeMap::new() }
    }

    /// Adds what the entries of one file take on one GPU.
    pub(super) fn extend(&mut self, kernel: &str, gpu: u32, usages: Vec<Usage>) {
        for usage in usages {
            let row = self.rows.entry((kernel.to_owned(), usage.entry.clone())).or_default();
            row.insert(gpu, usage);
        }
    }

    /// The width of the first column.
    fn width(&self) -> usize {
        self.rows.keys().map(|(_, entry)| entry.len()).max().unwrap_or(0).max("entry".len())
    }

    fn row(
        &self,
        f: &mut fmt::Formatter<'_>,
        first: &str,
        cell: impl Fn(u32) -> String,
    ) -> fmt::Result {
        write!(f, "{first:<width$}", width = self.width())?;
        self.gpus.iter().try_for_each(|gpu| write!(f, "  {:>12}", cell(*gpu)))?;
        writeln!(f)
    }

    /// One line a spill, so that none is overlooked in a wide table.
    fn spills(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self
            .rows
            .iter()
            .flat_map(|((kernel, _), row)| row.iter().map(move |cell| (kernel, cell)));
        for (kernel, (gpu, usage)) in all.filter(|(_, (_, usage))| usage.spills()) {
            let Usage { entry, stores, loads, .. } = usage;
            writeln!(
                f,
                "SPILLS: `{entry}` of {kernel}.cu on sm_{gpu}: {stores} bytes written, {loads} read"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return writeln!(f, "no kernels yet");
        }
        writeln!(f, "registers / bytes of shared memory / bytes spilled and read back")?;
        self.row(f, "entry", |gpu| format!("sm_{gpu}"))?;
        for ((_, entry), row) in &self.rows {
            self.row(f, entry, |gpu| row.get(&gpu).map_or_else(|| "-".to_owned(), cell))?;
        }
        self.spills(f)
    }
}

fn cell(usage: &Usage) -> String {
    format!("{} / {} / {}", usage.registers, usage.shared, usage.stores + usage.loads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_rows_and_spills_are_lines_of_their_own() {
        let mut table = Table::new(&[75, 80]);
        let usage =
            Usage { entry: "sum".into(), registers: 10, shared: 512, stores: 16, loads: 24 };
        table.extend("mean", 80, vec![usage]);
        let expected = "registers / bytes of shared memory / bytes spilled and read back\n\
            entry         sm_75         sm_80\n\
            sum               -  10 / 512 / 40\n\
            SPILLS: `sum` of mean.cu on sm_80: 16 bytes written, 24 read\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn a_table_of_nothing_says_so() {
        assert_eq!(Table::new(&[75]).to_string(), "no kernels yet\n");
    }
}
