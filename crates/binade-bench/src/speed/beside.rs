//! Comparison with PyTorch's figures, from the file that its script wrote in the same run.

use super::{Result, row::Row};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, fmt, fs, path::Path};

/// File that PyTorch's script wrote.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Torch {
    meta: Meta,
    rows: Vec<Measured>,
}

/// Version of PyTorch, and the device that it ran on.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Meta {
    torch: String,
    device: String,
    cuda: Option<String>,
}

/// Row of PyTorch's file; further fields are ignored.
#[derive(Clone, Debug, Deserialize)]
struct Measured {
    group: String,
    name: String,
    median_s: f64,
    peak_bytes: Option<u64>,
}

/// One piece of work, done by both libraries on an idle device.
#[derive(Clone, Debug, Serialize)]
struct Pair {
    group: &'static str,
    name: String,
    dtype: String,
    /// Name of PyTorch's row.
    torch: String,
    median_s: f64,
    torch_median_s: f64,
    /// PyTorch's time divided by Binade's: above 1, Binade is faster.
    times_torch: f64,
    peak_bytes: usize,
    torch_peak_bytes: Option<u64>,
}

/// Work that both libraries have done.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Beside {
    torch: Option<Meta>,
    pairs: Vec<Pair>,
}

impl Torch {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let told = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| told(&error))?;
        Ok(serde_json::from_str(&text).map_err(|error| told(&error))?)
    }
}

impl Beside {
    /// Pairs each row with those of PyTorch that it names, as far as they were measured.
    pub(super) fn new(rows: &[Row], torch: Option<&Torch>) -> Self {
        let Some(Torch { meta, rows: theirs }) = torch else { return Self::default() };
        let theirs: HashMap<_, _> =
            theirs.iter().map(|row| ((row.group.as_str(), row.name.as_str()), row)).collect();
        let of = |row: &Row| -> Vec<Pair> {
            let names = row.what.computed.torch.iter();
            let found = names.filter_map(|name| theirs.get(&(row.what.group, name.as_str())));
            found.map(|their| Pair::new(row, their)).collect()
        };
        Self { torch: Some(meta.clone()), pairs: rows.iter().flat_map(of).collect() }
    }
}

impl Pair {
    fn new(row: &Row, their: &Measured) -> Self {
        let (what, median_s) = (&row.what, row.alone.median_s);
        Self {
            group: what.group,
            name: what.name.clone(),
            dtype: what.dtype.clone(),
            torch: their.name.clone(),
            median_s,
            torch_median_s: their.median_s,
            times_torch: their.median_s / median_s,
            peak_bytes: row.peak_bytes,
            torch_peak_bytes: their.peak_bytes,
        }
    }
}

/// A line for each pair; nothing where PyTorch was not measured.
impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Meta { torch, device, .. }) = &self.torch else { return Ok(()) };
        writeln!(f, "beside PyTorch {torch} on {device}, each from an idle device:")?;
        for pair in &self.pairs {
            let Pair { group, name, dtype, torch, times_torch, .. } = pair;
            let [ours, theirs] = [pair.median_s, pair.torch_median_s].map(|s| 1e6 * s);
            write!(f, "{group} {name} {dtype}: {ours:.1} us, {torch}: {theirs:.1} us, ")?;
            write!(f, "{times_torch:.2} times as fast")?;
            match (pair.peak_bytes, pair.torch_peak_bytes) {
                (ours, Some(theirs)) => writeln!(f, "; at most {ours} bytes, {theirs}")?,
                _ => writeln!(f)?,
            }
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::{clock::Times, products, row::What, training::Training};
    use binade_core::DType;
    use binade_cpu::Cpu;
    use binade_cuda::Ledger;

    const TABLE: &str = r#"{
        "meta": { "torch": "2.9", "device": "a GPU", "cuda": null, "reps": 21 },
        "rows": [
            { "group": "matmul", "name": "torch.float16 512^3", "median_s": 2e-5, "tflops": 1.0 },
            { "group": "mlp", "name": "ReLU MLP 6x8 batch 4 graph, autocast None",
              "median_s": 3e-3, "peak_bytes": 7 },
            { "group": "mlp", "name": "torch.float16 512^3", "median_s": 9.0 }
        ]
    }"#;

    fn row(what: What, seconds: f64) -> Row {
        let all = vec![seconds];
        let (queued, host, ledger) = (all.clone(), all.clone(), Ledger::default());
        Row::new(what, &Times { alone: all, queued, host, ledger, peak_bytes: 5 })
    }

    fn rows() -> Vec<Row> {
        let form = products::Form::Plain;
        let product = products::Product::new(Cpu, form, (DType::F16, 512), vec![]).what();
        let mlp = crate::speed::mlp::Mlp::TINY;
        let values = crate::speed::data::values(mlp.batch * mlp.width);
        let setting = crate::speed::training::SETTINGS[0];
        let training = Training::new(&Cpu, mlp, setting, &values).unwrap().what();
        vec![row(product, 1e-5), row(training, 6e-3)]
    }

    #[test]
    fn rows_stand_beside_those_of_their_group_and_name() {
        let torch: Torch = serde_json::from_str(TABLE).unwrap();
        let beside = Beside::new(&rows(), Some(&torch));
        let found: Vec<_> = beside.pairs.iter().map(|p| (p.group, p.times_torch)).collect();
        assert_eq!(found, [("matmul", 2.0), ("mlp", 0.5)]);
        let page = beside.to_string();
        assert!(page.contains("PyTorch 2.9 on a GPU"), "{page}");
        assert!(page.contains("20.0 us, 2.00 times as fast\n"), "{page}");
        assert!(page.contains("0.50 times as fast; at most 5 bytes, 7\n"), "{page}");
    }

    #[test]
    fn without_a_table_nothing_is_said() {
        let beside = Beside::new(&rows(), None);
        assert!(beside.pairs.is_empty() && beside.to_string().is_empty());
    }

    #[test]
    fn a_file_that_is_no_table_is_named() {
        let error = Torch::read(Path::new("no-such-table.json")).unwrap_err().to_string();
        assert!(error.contains("no-such-table.json"), "{error}");
    }
}
