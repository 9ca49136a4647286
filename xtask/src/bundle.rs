//! `cargo xtask bundle`: one folder for a GPU machine that has no cargo, with tests, benchmarks and the script that runs them.

#[cfg(test)]
mod tests;

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use clap::Args;

use crate::{
    Result,
    binaries::Binaries,
    device, ptx,
    shell::{Call, root},
};

/// The most mebibytes that the folder may hold: what is quick to carry. No program in it has the compiler of shaders.
const MOST: u64 = 40;

/// The script that stands in the folder.
const SCRIPT: &str = include_str!("bundle/run.sh");

/// The scripts for PyTorch's figures, by name: the machine's and the step's first, then those of layers and of an MLP.
const TORCH: [(&str, &str); 2] = [
    ("torch_gpu_baseline.py", include_str!("../../crates/binade-bench/torch_gpu_baseline.py")),
    ("torch_rows.py", include_str!("../../crates/binade-bench/torch_rows.py")),
];

/// The builds: the tests of the backend, those of training on it as on the CPU, and the programs that stand beside them.
const BUILDS: [&str; 3] = [
    "test --no-run --package binade-cuda --features cudnn",
    "test --no-run --package binade-example-digits --features cuda --test cuda",
    "build --package binade-bench --no-default-features --bins",
];

#[derive(Args)]
pub(crate) struct Bundle {
    /// Runs the script afterwards, with the PTX interpreter in the driver's place.
    #[arg(long)]
    check: bool,
}

impl Bundle {
    pub(crate) fn run(self) -> Result<()> {
        let folder = root().join("target/bundle");
        make(&folder)?;
        let files = fs::read_dir(&folder)?.map(|file| Ok(file?.metadata()?.len()));
        let size = files.sum::<Result<u64>>()?.div_ceil(1 << 20);
        println!("{} holds {size} MiB", folder.display());
        if size > MOST {
            return Err(format!("at most {MOST} MiB are carried").into());
        }
        if self.check { check(&folder) } else { Ok(()) }
    }
}

/// Builds everything and puts it in a new folder.
fn make(folder: &Path) -> Result<()> {
    let programs = |line| {
        let carried = format!("{line} --profile carry --message-format json");
        Binaries::of(&Call::cargo(&carried))
    };
    let built = BUILDS.into_iter().map(programs).collect::<Result<Vec<_>>>()?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for (name, program) in built.iter().flat_map(Binaries::named) {
        fs::copy(program, folder.join(name))?;
    }
    fs::write(folder.join("COMMIT"), commit()? + "\n")?;
    for (name, text) in TORCH {
        fs::write(folder.join(name), text)?;
    }
    let script = folder.join("run.sh");
    fs::write(&script, SCRIPT)?;
    Ok(fs::set_permissions(script, fs::Permissions::from_mode(0o755))?)
}

/// The commit that is checked out, marked where the files are not it.
fn commit() -> Result<String> {
    let commit = Call::line("git rev-parse --short=12 HEAD").read()?.trim().to_owned();
    let is_clean = Call::line("git status --porcelain").read()?.trim().is_empty();
    Ok(if is_clean { commit } else { format!("{commit}, changed") })
}

/// Runs the script's parts on this machine, with the PTX interpreter in the driver's place, also after one failed: compute-sanitizer
/// alone wants a GPU.
fn check(folder: &Path) -> Result<()> {
    ptx::folder(false)?;
    let results = folder.with_file_name("bundle-results").display().to_string();
    let script = folder.join("run.sh").display().to_string();
    let ends_badly = |part: &&str| {
        let call = device::on_ptx(false, Call::of(&script).args([*part])).var("OUT", &results);
        let call = call.var("BINADE_DEVICE", "ptx").var("BINADE_DRY_RUN", "1");
        call.var("BINADE_SECONDS", "3000").run().is_err()
    };
    let failed: Vec<_> = ["tests", "conformance", "bench"].into_iter().filter(ends_badly).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}
