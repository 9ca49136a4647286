//! Everything that was measured, and where: what the JSON file holds.

use super::{
    Result,
    beside::Beside,
    compare::{self, Share},
    row::Row,
};
use binade_cuda::{Cuda, KernelFacts};
use serde::Serialize;
use std::fmt;

/// Where a run's figures come from, as far as the program cannot find out itself.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Origin {
    /// The day.
    pub date: Option<String>,
    /// The driver's own version, which it does not tell programs: as `nvidia-smi` has it.
    pub driver: Option<String>,
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
    /// What computes matrix products.
    products: String,
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

/// Of `Compiled`, as wide as its line.
const HEADS: &str =
    "kernel                           registers local bytes shared bytes  threads  occupancy";

/// A run's figures. Displays as tables.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    meta: Meta,
    rows: Vec<Row>,
    /// Where both were measured: the scaler's part of the step, by type of gradient.
    scaler_share: Vec<Share>,
    /// Where PyTorch's figures are at hand.
    beside: Beside,
    skipped: Vec<Skip>,
    kernels: Vec<Compiled>,
}

impl Page {
    pub(super) fn new(
        cuda: &Cuda,
        origin: Origin,
        dry_run: bool,
        mut rows: Vec<Row>,
        skipped: Vec<Skip>,
        beside: Beside,
    ) -> Result<Self> {
        compare::with_ceilings(&mut rows);
        let (device, driver_cuda) = (cuda.name()?, cuda.driver_version()?);
        let products = cuda.products()?.to_string();
        let meta = Meta { device, driver_cuda, products, dry_run, origin };
        let scaler_share = compare::scaler_shares(&rows);
        let kernels = cuda.kernels()?.iter().map(compiled).collect();
        Ok(Self { meta, rows, scaler_share, beside, skipped, kernels })
    }
}

fn compiled(facts: &KernelFacts) -> Compiled {
    let KernelFacts { name, registers, local_bytes, shared_bytes, threads, occupancy, .. } = *facts;
    Compiled { kernel: name, registers, local_bytes, shared_bytes, threads, occupancy }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Meta { device, driver_cuda, products, dry_run, .. } = &self.meta;
        let dry = if *dry_run { ", a dry run: times mean nothing" } else { "" };
        writeln!(f, "{device}, driver for CUDA {driver_cuda}{dry}")?;
        writeln!(f, "matrix products by {products}\n")?;
        super::table::write(f, &self.rows)?;
        for Share { dtype, scaler, clip_and_update } in &self.scaler_share {
            let (scaler, rest) = (100.0 * scaler, 100.0 * clip_and_update);
            writeln!(
                f,
                "scaler's share of the step, {dtype}: {scaler:.1} %, clip and update {rest:.1} %"
            )?;
        }
        write!(f, "{}", self.beside)?;
        for Skip { name, reason } in &self.skipped {
            writeln!(f, "not measured: {name}: {reason}")?;
        }
        writeln!(f, "\n{HEADS}")?;
        self.kernels.iter().try_for_each(|kernel| writeln!(f, "{kernel}"))
    }
}

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, registers, local_bytes, shared_bytes, threads, occupancy } = self;
        let share = 100.0 * occupancy;
        write!(
            f,
            "{kernel:32}{registers:>10}{local_bytes:>12}{shared_bytes:>13}{threads:>9}{share:>9.0} %"
        )
    }
}
