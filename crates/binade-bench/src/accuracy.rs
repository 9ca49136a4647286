//! Accuracy at every level, over seeds: the examples' programs on real data, each run kept as a line of a file.

mod page;
mod plot;
mod run;
mod statistics;
mod task;

pub use page::Page;
pub use task::Task;

use crate::training::Setting;
use crate::{Origin, Result};
use binade::OptLevel;
use binade_core::DType;
use run::{Run, Runs};
use std::path::PathBuf;

/// Settings of the runs, in the order of the tables.
const SETTINGS: [Setting; 7] = [
    (OptLevel::O0, DType::F32),
    (OptLevel::O1, DType::BF16),
    (OptLevel::O1, DType::F16),
    (OptLevel::O2, DType::BF16),
    (OptLevel::O2, DType::F16),
    (OptLevel::O3, DType::BF16),
    (OptLevel::O3, DType::F16),
];

/// Seeds of each setting: they fix the first weights, the order of the data, and dropout.
const SEEDS: [u32; 3] = [0, 1, 2];

/// Options of the runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder that has the runs, and gets the page and the plots.
    pub out: PathBuf,
    /// Folder of Fashion-MNIST's four files; the embedded digits if left out.
    pub data: Option<PathBuf>,
    /// Tasks that are trained. With none, the page is of the runs that are there.
    pub only: Vec<Task>,
    /// Trains a few steps of tiny sizes, to prove that every run works: its figures mean nothing.
    pub dry_run: bool,
}

/// Trains every task at every setting with every seed, on one thread, but for the runs that `options.out` has already. Returns the page
/// of all its runs, and writes it there.
///
/// # Errors
///
/// If the folder has runs of another commit, of other sizes or on other pictures, or cannot be written, or a run fails.
pub fn measure(options: &Options, origin: Origin) -> Result<Page> {
    let pictures = task::pictures(options)?;
    let mut runs = Runs::open(options, pictures.as_deref(), &origin)?;
    let mut wanted = Vec::new();
    for seed in SEEDS {
        for task in options.only.iter().copied() {
            wanted.extend(SETTINGS.map(|setting| (task, setting, seed)));
        }
    }
    let all = wanted.len();
    wanted.retain(|(task, setting, seed)| {
        let arguments = task.arguments(options, *setting, *seed);
        runs.all.iter().all(|run| run.arguments != arguments)
    });
    if !wanted.is_empty() {
        rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    }
    let mut seconds = 0.0;
    for (done, (task, setting, seed)) in (0_u32..).zip(&wanted) {
        let run = Run::train(options, *task, *setting, *seed, pictures.as_deref())
            .map_err(|error| format!("{}, {} {}: {error}", task.name(), setting.0, setting.1))?;
        seconds += run.seconds;
        let left = u32::try_from(wanted.len())? - done - 1;
        let minutes = seconds / f64::from(done + 1) * f64::from(left) / 60.0;
        eprintln!("{}/{all} {run}; {minutes:.1} minutes left", all - left as usize);
        runs.add(&run)?;
    }
    // Another program may have added runs meanwhile.
    let runs = Runs::open(options, pictures.as_deref(), &origin)?;
    let page = Page::new(origin, runs.all);
    page.write(&options.out)?;
    Ok(page)
}
