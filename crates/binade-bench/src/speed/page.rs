//! Figures of a run, and the device that they come from: the contents of the JSON file.

use super::{Result, row::Row};
use binade_cuda::{Cuda, KernelFacts};
use serde::Serialize;
use std::fmt;

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
    dry_run: bool,
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
pub struct Page {
    meta: Meta,
    rows: Vec<Row>,
    skipped: Vec<Skip>,
    kernels: Vec<Compiled>,
}

impl Page {
    pub(super) fn new(
        cuda: &Cuda,
        dry_run: bool,
        rows: Vec<Row>,
        skipped: Vec<Skip>,
    ) -> Result<Self> {
        let (device, driver_cuda) = (cuda.name()?, cuda.driver_version()?);
        let products = cuda.products()?.to_string();
        let meta = Meta { device, driver_cuda, products, dry_run };
        let kernels = cuda.kernels()?.iter().map(compiled).collect();
        Ok(Self { meta, rows, skipped, kernels })
    }
}

fn compiled(facts: &KernelFacts) -> Compiled {
    let KernelFacts { name, registers, local_bytes, shared_bytes, threads, occupancy, .. } = *facts;
    Compiled { kernel: name, registers, local_bytes, shared_bytes, threads, occupancy }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Meta { device, driver_cuda, products, dry_run } = &self.meta;
        let dry = if *dry_run { ", a dry run: times mean nothing" } else { "" };
        writeln!(f, "{device}, driver for CUDA {driver_cuda}{dry}")?;
        writeln!(f, "matrix products by {products}\n")?;
        writeln!(f, "{}", super::table::table(&self.rows))?;
        for Skip { name, reason } in &self.skipped {
            writeln!(f, "not measured: {name}: {reason}")?;
        }
        Ok(())
    }
}
