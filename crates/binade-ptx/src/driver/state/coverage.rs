//! Coverage of the process, as text that can be merged over processes.

use std::fmt::Write;

use super::Driver;

impl Driver {
    /// Returns a line for each entry of each module loaded so far: name, the module's hash, number of lines, and the missed lines
    /// with commas between, or `-`.
    pub(crate) fn coverage(&self) -> String {
        let mut text = String::new();
        for (hash, module) in &self.seen {
            for entry in module.entries() {
                let Ok(coverage) = self.gpu.coverage(module, entry) else { continue };
                let missed: Vec<_> = coverage.missed.iter().map(u32::to_string).collect();
                let missed = if missed.is_empty() { "-".to_owned() } else { missed.join(",") };
                // Writing to a string does not fail.
                let _ = writeln!(text, "{entry} {hash:016x} {} {missed}", coverage.lines);
            }
        }
        text
    }
}
