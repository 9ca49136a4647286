//! Benchmarks of the CPU backend, alone or beside PyTorch on the same machine, and the page of figures.

mod clock;
mod embedding;
mod gradients;
mod memory;
mod overheads;
mod page;
mod peer;
mod plan;
mod plot;
mod products;
mod row;
mod steps;
mod tensors;
mod train;

pub use memory::peak;
pub use page::Page;
pub use plot::draw;

use crate::{Origin, Result};
use clock::Clock;
use indicatif::{ProgressBar, ProgressStyle};
use peer::Peer;
use row::{Row, Spec};
use std::path::PathBuf;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads of either side.
    pub threads: usize,
    /// Seconds that the rounds of a row take at least, each side's together.
    pub seconds: f64,
    /// Groups that are measured; all if none is named.
    pub only: Vec<String>,
    /// Python that has PyTorch, and the script that does the rows' work in it.
    pub peer: Option<[PathBuf; 2]>,
    /// Runs one round of tiny sizes, to prove that every row works: its times mean nothing.
    pub dry_run: bool,
}

impl Options {
    /// Returns the rows that are measured, in order.
    fn specs(&self) -> impl Iterator<Item = Spec> {
        let measures =
            |spec: &Spec| self.only.is_empty() || self.only.iter().any(|it| it == spec.group);
        plan::specs(self.dry_run).into_iter().filter(measures)
    }
}

/// Runs the benchmarks and returns their figures, which display as a table in Markdown.
///
/// # Errors
///
/// If a group is not known, or a row or PyTorch fails.
pub fn measure(options: &Options, origin: Origin) -> Result<Page> {
    let known = plan::specs(true);
    if let Some(strange) =
        options.only.iter().find(|it| known.iter().all(|spec| spec.group != **it))
    {
        let mut groups: Vec<_> = known.iter().map(|spec| spec.group).collect();
        groups.dedup();
        return Err(format!(
            "--only {strange}: there is no such group; there are {}",
            groups.join(", ")
        )
        .into());
    }
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;
    let mut peer = options.peer.as_ref().map(|it| Peer::open(it, options.threads)).transpose()?;
    let version = peer.as_ref().map(|it| it.version.clone());
    let bar = bar(options.specs().count());
    let (mut clock, mut rows) = (Clock::new(options), Vec::new());
    for spec in options.specs() {
        bar.set_message(format!("{} {}", spec.group, spec.name));
        bar.tick();
        let told = format!("{} {}", spec.group, spec.name);
        let row = row(options, &mut clock, peer.as_mut(), spec);
        rows.push(row.map_err(|error| format!("{told}: {error}"))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Page::new(options, origin, version, rows))
}

/// Measures a row, and the peak of memory where its spec asks for it, in processes of their own.
fn row(options: &Options, clock: &mut Clock, peer: Option<&mut Peer>, spec: Spec) -> Result<Row> {
    let peaks = if spec.measures_memory { memory::peaks(options, &spec)? } else { [None; 2] };
    clock.row(spec, peer, peaks)
}

fn bar(rows: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{pos}/{len} {elapsed} {msg}").ok();
    let bar = ProgressBar::new(rows as u64);
    style.into_iter().fold(bar, ProgressBar::with_style)
}
