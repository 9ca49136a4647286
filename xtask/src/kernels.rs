//! `cargo xtask kernels`: compiles the CUDA kernels to the PTX that is committed, and holds the two together.
//!
//! Building the project needs cargo and nothing else, so the PTX is committed; here is what keeps it honest. What a machine
//! without CUDA can hold is held by hashes, inside the tests; the rest by compiling again.

mod build;
mod check;
mod committed;
mod compile;
mod cores;
mod cubins;
pub(crate) mod digest;
mod header;
mod install;
mod lint;
mod manifest;
mod portable;
mod set;
mod sources;
mod toolkit;
mod usage;
mod version;

use std::path::Path;

use clap::Args;

pub(crate) use check::check;
use cores::on_every_core;
use set::SETS;

use crate::{Result, files::Files, packed, tidy::Issue};

/// The file that holds the PTX of every kernel of the backend, from the root.
pub(crate) const PACKED: &str = "crates/binade-cuda/ptx/kernels.ptx.lzma";

/// Folders of headers, besides those of the sets.
const HEADERS: [&str; 1] = ["kernels/lib"];

/// Everything that the checks look at.
fn files(root: &Path) -> Result<Files> {
    let folders = SETS.iter().flat_map(|set| [set.sources, set.ptx]);
    Files::load(root, folders.chain(HEADERS), PACKED)
}

#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct Kernels {
    /// Installs the pinned CUDA toolchain from PyPI, unless it is there: into `target/cuda`, or where
    /// `BINADE_CUDA_TOOLKIT` says.
    #[arg(long)]
    install: bool,
    /// Compares what is committed with its sources, and writes nothing; compiles again where the toolchain is installed.
    #[arg(long)]
    check: bool,
    /// Assembles the committed PTX for every GPU, and prints registers, shared memory and spills.
    #[arg(long)]
    cubins: bool,
    /// Prints the committed PTX of one kernel.
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
}

impl Kernels {
    pub(crate) fn run(self) -> Result<()> {
        if let Some(name) = self.show {
            return packed::show(PACKED, &name);
        }
        if self.install {
            return install::install_where_missing();
        }
        if self.cubins {
            return cubins::run();
        }
        if self.check {
            let (issues, recompiled) = check()?;
            println!("{recompiled}");
            return verdict(&issues);
        }
        verdict(&build::run()?)
    }
}

/// Prints one line a breach; any is an error.
pub(crate) fn verdict(issues: &[Issue]) -> Result<()> {
    for issue in issues {
        println!("{issue}");
    }
    match issues.len() {
        0 => Ok(()),
        count => Err(format!("{count} things to mend in the kernels and their PTX").into()),
    }
}
