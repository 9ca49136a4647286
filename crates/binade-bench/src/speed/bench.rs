//! Benchmarks on one device: rows measured so far, and benchmarks that did not fit.

use super::{
    Result,
    clock::Clock,
    page::{Origin, Page, Skip},
    row::Row,
    work::Work,
};
use binade_core::DType;
use binade_cuda::{
    Cuda,
    cudarc::driver::sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
    },
};
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Instant;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs one round of tiny sizes, to prove that every benchmark works, on the interpreter too.
    pub dry_run: bool,
    /// Rounds of each benchmark, of which the median is taken.
    pub rounds: usize,
    /// Groups that are measured; all if none is named.
    pub only: Vec<String>,
    /// Lengths of the vectors.
    pub elements: Vec<usize>,
}

impl Options {
    /// Returns true if the group is measured. Ceilings, which shares are computed from, always are.
    fn measures(&self, group: &str) -> bool {
        let is_ceiling = ["copy", "launch"].contains(&group);
        is_ceiling || self.only.is_empty() || self.only.iter().any(|only| only == group)
    }
}

/// Benchmarks on one device.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) cuda: Cuda,
    pub(super) options: Options,
    /// Size of the L2 cache in bytes.
    pub(super) l2: usize,
    /// Seconds to open the device, and to load all kernels.
    first: [f64; 2],
    rows: Vec<Row>,
    skipped: Vec<Skip>,
    pub(super) bar: ProgressBar,
}

impl Bench {
    /// Opens the first device, unless it is the interpreter and the run is not a dry one.
    pub(super) fn open(options: Options) -> Result<Self> {
        let begin = Instant::now();
        let cuda = Cuda::open(0)?;
        let opened = begin.elapsed().as_secs_f64();
        let name = cuda.name()?;
        if name.contains("PTX interpreter") && !options.dry_run {
            return Err(
                format!("`{name}` has no speed to measure; `--dry-run` tries it out").into()
            );
        }
        cuda.kernels()?;
        let first = [opened, begin.elapsed().as_secs_f64() - opened];
        let l2 =
            usize::try_from(cuda.stream().context().attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?)?;
        let l2 = if options.dry_run { 1 << 14 } else { l2 };
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::with_template("{spinner} {elapsed} {pos} measured: {msg}")?);
        let (rows, skipped) = (Vec::new(), Vec::new());
        Ok(Self { cuda, options, l2, first, rows, skipped, bar })
    }

    pub(super) fn measures(&self, group: &str) -> bool {
        self.options.measures(group)
    }

    /// Times `work` if its group is measured, and keeps the row.
    pub(super) fn time<W: Work>(&mut self, clock: &Clock, work: &mut W) -> Result<()> {
        let what = work.what();
        if !self.measures(what.group) {
            return Ok(());
        }
        self.bar.set_message(format!("{} {}", what.group, what.name));
        self.bar.tick();
        self.rows.push(Row::new(what, &clock.time(work)?));
        self.bar.inc(1);
        Ok(())
    }

    /// Fails, in a dry run, if a round of the group waited for the device. With figures, the table tells it.
    pub(super) fn never_waited(&self, group: &str) -> Result<()> {
        let waits = |row: &&Row| row.what.group == group && row.host_syncs > 0;
        match self.rows.iter().find(waits).filter(|_| self.options.dry_run) {
            Some(Row { what, host_syncs, .. }) => {
                Err(format!("{group} {} waited for the device {host_syncs} times", what.name)
                    .into())
            }
            None => Ok(()),
        }
    }

    /// Returns true if `bytes` fit in 90 % of free device memory; otherwise notes the benchmark as skipped.
    pub(super) fn fits(&mut self, name: &str, bytes: usize) -> Result<bool> {
        self.cuda.trim();
        self.cuda.synchronize()?;
        let memory = self.cuda.stream().context().mem_get_info();
        let (free, _) = memory.map_err(|error| format!("the CUDA driver says {:?}", error.0))?;
        let fits = bytes <= free / 10 * 9;
        if !fits {
            let reason = format!("needs {bytes} bytes of device memory, {free} are free");
            self.skip(name, reason);
        }
        Ok(fits)
    }

    /// Notes the reason why a benchmark was skipped.
    pub(super) fn skip(&mut self, name: &str, reason: String) {
        self.skipped.push(Skip { name: name.to_owned(), reason });
    }

    /// Returns true if the GPU multiplies matrices of this type (bf16 from compute capability 8.0 on); otherwise notes the
    /// benchmark as skipped.
    pub(super) fn multiplies(&mut self, name: &str, dtype: DType) -> Result<bool> {
        let major =
            self.cuda.stream().context().attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let multiplies = dtype != DType::BF16 || major >= 8;
        if !multiplies {
            let reason = format!("a GPU of {major}.x multiplies no bf16 matrices");
            self.skip(name, reason);
        }
        Ok(multiplies)
    }

    /// Returns all rows so far, in the order measured.
    pub(super) fn page(&self, origin: Origin) -> Result<Page> {
        let (rows, skipped) = (self.rows.clone(), self.skipped.clone());
        Page::new(&self.cuda, origin, self.options.dry_run, self.first, (rows, skipped))
    }

    pub(super) fn rounds(&self) -> usize {
        if self.options.dry_run { 1 } else { self.options.rounds }
    }

    /// Returns `size`, or `tiny` in a dry run.
    pub(super) fn size(&self, size: usize, tiny: usize) -> usize {
        if self.options.dry_run { tiny } else { size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_are_measured_whatever_else_is() {
        let options = |only: &[&str]| Options {
            dry_run: false,
            rounds: 21,
            only: only.iter().map(ToString::to_string).collect(),
            elements: Vec::new(),
        };
        let measured = |only: &[&str]| ["copy", "cast", "step"].map(|g| options(only).measures(g));
        assert_eq!(measured(&[]), [true; 3]);
        assert_eq!(measured(&["step"]), [true, false, true]);
    }
}
