//! Peaks of memory, each in a process of its own: what one row has left in an allocator is no part of another's.

use super::{Options, plan, row::Spec};
use crate::Result;
use std::process::Command;
use std::{env, fs};

/// Times that the work is done before the peak is read.
const TIMES: usize = 2;

/// Returns the peaks of ours and of PyTorch's process, in bytes.
pub(crate) fn peaks(options: &Options, spec: &Spec) -> Result<[Option<u64>; 2]> {
    let mut ours = Command::new(env::current_exe()?);
    ours.args(["--memory", &format!("{} {}", spec.group, spec.name)]);
    ours.args(["--threads", &options.threads.to_string()]);
    if options.dry_run {
        ours.arg("--dry-run");
    }
    let theirs = options.peer.as_ref().zip(spec.peer.as_ref()).map(|([python, script], row)| {
        let mut command = Command::new(python);
        command.arg(script).args(["--threads", &options.threads.to_string()]);
        command.args(["--memory", &row.to_string()]);
        command
    });
    Ok([read(&mut ours)?, theirs.map(|mut it| read(&mut it)).transpose()?.flatten()])
}

fn read(command: &mut Command) -> Result<Option<u64>> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

/// Returns the greatest memory of this process while it does the work of the row, beyond what it held before, in bytes; `None` on
/// systems without `/proc`.
///
/// # Errors
///
/// If there is no such row, or its work fails.
pub fn peak(row: &str, threads: usize, is_dry: bool) -> Result<Option<u64>> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let mut specs = plan::specs(is_dry).into_iter();
    let spec = specs.find(|spec| format!("{} {}", spec.group, spec.name) == row);
    let spec = spec.ok_or_else(|| format!("--memory {row}: there is no such row"))?;
    // The peak begins anew.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = status("VmRSS:");
    let mut work = (spec.prepare)()?;
    work(TIMES)?;
    Ok(status("VmHWM:").zip(before).map(|(peak, before)| peak.saturating_sub(before)))
}

fn status(key: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}
