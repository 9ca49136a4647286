//! Figures of a run, and the device and versions that they come from: the contents of the JSON file.

use super::{
    Result,
    compare::{self, Share},
    row::Row,
};
use binade_cuda::{Cuda, KernelFacts};
use serde::Serialize;
use std::fmt;

/// Origin of a run's figures, as far as the program cannot find it out itself.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Origin {
    /// Day of the run.
    pub date: Option<String>,
    /// Version of the driver as `nvidia-smi` has it; the driver does not tell programs.
    pub driver: Option<String>,
    /// Commit that was built.
    pub commit: Option<String>,
    /// Command line, the program by its name alone.
    pub command: String,
}

/// Benchmark that was not run, and the reason.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Skip {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// Description of a run.
#[derive(Clone, Debug, Serialize)]
struct Meta {
    device: String,
    driver_cuda: String,
    /// Code that computes matrix products.
    products: String,
    /// File of kernels in place of the build's, as `BINADE_CUDA_PTX` names it.
    kernels_of: Option<String>,
    /// Seconds to open the device.
    open_s: f64,
    /// Seconds to load all kernels; without the driver's cache (`CUDA_CACHE_DISABLE=1`) it compiles them.
    load_s: f64,
    dry_run: bool,
    #[serde(flatten)]
    origin: Origin,
}

/// Resources of a kernel as the driver compiled it.
#[derive(Clone, Debug, Serialize)]
struct Compiled {
    kernel: &'static str,
    registers: i32,
    local_bytes: i32,
    shared_bytes: i32,
    threads: u32,
    occupancy: f64,
}

/// Figures of a run. Displays as a table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Page {
    meta: Meta,
    rows: Vec<Row>,
    /// Scaler's share of the step, by type of gradient, if both were measured.
    scaler_share: Vec<Share>,
    skipped: Vec<Skip>,
    kernels: Vec<Compiled>,
}

impl Page {
    pub(super) fn new(
        cuda: &Cuda,
        origin: Origin,
        dry_run: bool,
        [open_s, load_s]: [f64; 2],
        (mut rows, skipped): (Vec<Row>, Vec<Skip>),
    ) -> Result<Self> {
        compare::with_ceilings(&mut rows);
        let (device, driver_cuda) = (cuda.name()?, cuda.driver_version()?);
        let products = cuda.products()?.to_string();
        let kernels_of = std::env::var("BINADE_CUDA_PTX").ok();
        let meta =
            Meta { device, driver_cuda, products, kernels_of, open_s, load_s, dry_run, origin };
        let scaler_share = compare::scaler_shares(&rows);
        let kernels = cuda.kernels()?.iter().map(compiled).collect();
        Ok(Self { meta, rows, scaler_share, skipped, kernels })
    }
}

fn compiled(facts: &KernelFacts) -> Compiled {
    let KernelFacts { name, registers, local_bytes, shared_bytes, threads, occupancy, .. } = *facts;
    Compiled { kernel: name, registers, local_bytes, shared_bytes, threads, occupancy }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Meta { device, driver_cuda, products, kernels_of, open_s, load_s, dry_run, .. } =
            &self.meta;
        let dry = if *dry_run { ", a dry run: times mean nothing" } else { "" };
        writeln!(f, "{device}, driver for CUDA {driver_cuda}{dry}")?;
        writeln!(f, "matrix products by {products}")?;
        let kernels = kernels_of.as_deref().unwrap_or("this build");
        writeln!(
            f,
            "kernels of {kernels}; opened in {open_s:.3} s, all loaded in {load_s:.3} s\n"
        )?;
        writeln!(f, "{}", super::table::table(&self.rows))?;
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
        Ok(())
    }
}
