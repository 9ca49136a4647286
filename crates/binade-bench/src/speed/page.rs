//! Everything that was measured, and where: what the JSON file holds.

use super::{
    Result,
    row::{Kind, Row},
};
use binade_cuda::{Cuda, KernelFacts};
use serde::Serialize;
use std::fmt;

/// Where a run's figures come from, as far as the program cannot find out itself.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Origin {
    /// The day.
    pub date: Option<String>,
    /// What was built.
    pub commit: Option<String>,
    /// The command line, the program's folder left out.
    pub command: String,
}

/// A benchmark that was not run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Skip {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// What a run says of itself.
#[derive(Clone, Debug, Serialize)]
struct Meta {
    device: String,
    driver_cuda: String,
    dry_run: bool,
    #[serde(flatten)]
    origin: Origin,
}

/// What the driver made of a kernel.
#[derive(Clone, Debug, Serialize)]
struct Compiled {
    kernel: &'static str,
    registers: i32,
    local_bytes: i32,
    shared_bytes: i32,
    threads: u32,
    occupancy: f64,
}

/// A run's figures. Displays as tables.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    meta: Meta,
    pub(super) rows: Vec<Row>,
    /// Where both were measured: the scaler's part of the step, by type of gradient.
    scaler_share: Vec<Share>,
    skipped: Vec<Skip>,
    kernels: Vec<Compiled>,
}

/// What the step takes beyond the optimizer.
#[derive(Clone, Debug, Serialize)]
struct Share {
    dtype: String,
    /// Check, unscale, clip and update over the whole step.
    scaler: f64,
    /// Clip and update over the whole step: what is left where the gradients are read for their norm anyway.
    clip_and_update: f64,
}

impl Page {
    pub(super) fn new(
        cuda: &Cuda,
        origin: Origin,
        dry_run: bool,
        mut rows: Vec<Row>,
        skipped: Vec<Skip>,
    ) -> Result<Self> {
        compare(&mut rows);
        let (device, driver_cuda) = (cuda.name()?, cuda.driver_version()?);
        let meta = Meta { device, driver_cuda, dry_run, origin };
        let scaler_share = ["bf16", "f16", "f32"].iter().filter_map(|dtype| share(&rows, dtype));
        let scaler_share = scaler_share.collect();
        let kernels = cuda.kernels()?.iter().map(compiled).collect();
        Ok(Self { meta, rows, scaler_share, skipped, kernels })
    }
}

/// Puts each row beside the best rate of its kind, and beside an empty launch.
fn compare(rows: &mut [Row]) {
    let best = |kind: Kind| {
        let ceilings = rows.iter().filter(|row| row.what.group == "copy" && row.what.kind == kind);
        ceilings.map(|row| row.queued.gbs).max_by(f64::total_cmp)
    };
    let [copy, read, in_place] = [Kind::Copy, Kind::Read, Kind::InPlace].map(best);
    let empty = rows.iter().find(|row| row.what.group == "launch").map(|row| row.queued.median_s);
    for row in rows {
        let ceiling = match row.what.kind {
            Kind::Copy => copy,
            Kind::Read => read,
            Kind::InPlace => in_place,
            Kind::Nothing => None,
        };
        row.share_of_ceiling = ceiling.map(|ceiling| row.queued.gbs / ceiling);
        row.empty_launches = empty.map(|empty| row.queued.median_s / empty);
    }
}

fn share(rows: &[Row], dtype: &str) -> Option<Share> {
    let seconds = |name: &str| {
        let row = rows.iter().find(|row| row.what.dtype == dtype && row.what.name == name)?;
        Some(row.queued.median_s)
    };
    let whole = seconds("unscale, clip, AdamW, update")?;
    Some(Share {
        dtype: dtype.to_owned(),
        scaler: seconds("check, unscale, clip, update")? / whole,
        clip_and_update: seconds("clip and update alone")? / whole,
    })
}

fn compiled(facts: &KernelFacts) -> Compiled {
    let KernelFacts { name, registers, local_bytes, shared_bytes, threads, occupancy, .. } = *facts;
    Compiled { kernel: name, registers, local_bytes, shared_bytes, threads, occupancy }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Meta { device, driver_cuda, dry_run, .. } = &self.meta;
        let dry = if *dry_run { ", a dry run: times mean nothing" } else { "" };
        writeln!(f, "{device}, driver for CUDA {driver_cuda}{dry}\n")?;
        super::table::write(f, &self.rows)?;
        for Share { dtype, scaler, clip_and_update } in &self.scaler_share {
            let (scaler, rest) = (100.0 * scaler, 100.0 * clip_and_update);
            writeln!(
                f,
                "scaler's share of the step, {dtype}: {scaler:.1} %, clip and update {rest:.1} %"
            )?;
        }
        for Skip { name, reason } in &self.skipped {
            writeln!(f, "not measured: {name}: {reason}")?;
        }
        writeln!(
            f,
            "\n{:16}{:>10}{:>12}{:>13}{:>9}{:>11}",
            "kernel", "registers", "local bytes", "shared bytes", "threads", "occupancy"
        )?;
        self.kernels.iter().try_for_each(|kernel| writeln!(f, "{kernel}"))
    }
}

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, registers, local_bytes, shared_bytes, threads, occupancy } = self;
        let share = 100.0 * occupancy;
        write!(
            f,
            "{kernel:16}{registers:>10}{local_bytes:>12}{shared_bytes:>13}{threads:>9}{share:>9.0} %"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::{clock::Times, row::What};
    use binade_cuda::Ledger;

    fn row(group: &'static str, name: &str, kind: Kind, seconds: f64) -> Row {
        let what = What {
            group,
            name: name.to_owned(),
            kind,
            dtype: "f16".to_owned(),
            elements: 500,
            tensors: 1,
            bytes: 1000,
            bytes_moved: 1000,
        };
        let all = vec![seconds];
        let (alone, host, ledger) = (all.clone(), all.clone(), Ledger::default());
        Row::new(what, &Times { alone, queued: all, host, ledger })
    }

    #[test]
    fn a_row_is_held_against_the_fastest_of_its_kind() {
        let mut rows = [
            row("launch", "nothing", Kind::Nothing, 0.5),
            row("copy", "read", Kind::Read, 2.0),
            row("copy", "read", Kind::Read, 1.0),
            row("copy", "copy", Kind::Copy, 0.1),
            row("unscale", "check", Kind::Read, 4.0),
        ];
        compare(&mut rows);
        let last = &rows[4];
        assert_eq!((last.share_of_ceiling, last.empty_launches), (Some(0.25), Some(8.0)));
        assert_eq!(rows[0].share_of_ceiling, None);
    }

    #[test]
    fn the_scalers_share_is_of_the_whole_step() {
        let whole = row("step", "unscale, clip, AdamW, update", Kind::InPlace, 8.0);
        let scaler = row("scaler", "check, unscale, clip, update", Kind::Read, 2.0);
        let rest = row("scaler", "clip and update alone", Kind::Nothing, 1.0);
        assert!(share(&[whole.clone(), scaler.clone()], "f16").is_none());
        let found = share(&[whole, scaler, rest], "f16").unwrap();
        assert_eq!((found.scaler, found.clip_and_update), (0.25, 0.125));
    }
}
