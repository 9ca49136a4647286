//! `cargo xtask kernels --cubins`: machine code for every GPU from the committed PTX, and what it takes there.

mod table;

use std::fs;

use crate::{
    Result,
    files::Files,
    kernels::{
        compile::{Compiler, SCRATCH},
        cubins::table::Table,
        on_every_core,
        set::BACKEND,
        toolkit::Toolkit,
        usage,
    },
    shell::root,
};

/// One of each generation that people have, by compute capability.
const GPUS: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

/// One call of ptxas.
struct Job {
    kernel: String,
    /// What it is called, below [`SCRATCH`] too.
    ptx: String,
    gpu: u32,
}

/// Assembles everything and prints one table; PTX that ptxas refuses is an error, a spill is not.
pub(super) fn run() -> Result<()> {
    let (root, toolkit) = (root(), Toolkit::find()?);
    let compiler = Compiler { toolkit: &toolkit, root: &root };
    let files = super::files(&root)?;
    let jobs = jobs(&files);
    for Job { ptx, .. } in &jobs {
        let file = root.join(SCRATCH).join(ptx);
        fs::create_dir_all(file.with_file_name(""))?;
        fs::write(file, files.text(ptx).unwrap_or_default())?;
    }
    let mut table = Table::new(&GPUS);
    let mut refused = Vec::new();
    let results = on_every_core(&jobs, |job| assembled(&compiler, job));
    for (Job { kernel, gpu, .. }, result) in jobs.iter().zip(results) {
        match result {
            Ok(told) => {
                usage::warnings(&told).for_each(|line| println!("{kernel} for sm_{gpu}: {line}"));
                table.extend(kernel, *gpu, usage::parse(&told));
            }
            Err(error) => refused.push(format!("{kernel} for sm_{gpu}: {error}")),
        }
    }
    print!("{table}");
    if refused.is_empty() { Ok(()) } else { Err(refused.join("\n").into()) }
}

/// Every committed file of the backend with every GPU that is not older than its target.
fn jobs(files: &Files) -> Vec<Job> {
    let of = |name: &str| {
        let path = BACKEND.compiled(name);
        let least = files.text(&path).and_then(target)?;
        let gpus = GPUS.into_iter().filter(move |gpu| *gpu >= least);
        let kernel = name.to_owned();
        Some(gpus.map(move |gpu| Job { kernel: kernel.clone(), ptx: path.clone(), gpu }))
    };
    files.stems(BACKEND.ptx, ".ptx").filter_map(of).flatten().collect()
}

/// The number in `.target sm_75`.
fn target(ptx: &str) -> Option<u32> {
    ptx.lines().find_map(|line| line.strip_prefix(".target sm_")?.trim().parse().ok())
}

/// What ptxas says of the job.
fn assembled(compiler: &Compiler, job: &Job) -> Result<String, String> {
    let to = compiler.root.join(SCRATCH).join(format!("{}.sm_{}.cubin", job.kernel, job.gpu));
    let told = compiler.assemble(&compiler.root.join(SCRATCH).join(&job.ptx), job.gpu, &to);
    told.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_to_every_gpu_from_its_target_on() {
        let path = BACKEND.compiled("stage");
        let files = Files::of(&[(&path, ".version 7.0\n.target sm_80\n")]);
        let gpus: Vec<_> = jobs(&files).iter().map(|job| job.gpu).collect();
        assert_eq!(gpus, [80, 86, 89, 90, 100, 120]);
    }

    #[test]
    fn planted_bugs_are_not_assembled() {
        let path = crate::kernels::set::SETS[1].compiled("scale");
        assert!(jobs(&Files::of(&[(&path, ".target sm_75\n")])).is_empty());
    }
}
