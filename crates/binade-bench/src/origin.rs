//! Origin of a run's figures.

use serde::Serialize;
use std::{env, fmt, fs};

/// Origin of a run's figures. Displays as a sentence without its full stop.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Origin {
    /// Day of the run.
    pub date: Option<String>,
    /// Commit that was built.
    pub commit: Option<String>,
    /// Command line, the program by its name alone.
    command: String,
    processor: String,
}

impl Origin {
    /// Returns the origin of the figures of this process, which `name` starts with `--date` and `--commit` added.
    pub fn new(name: &str, date: Option<String>, commit: Option<String>) -> Self {
        let mut given: Vec<_> = env::args().skip(1).collect();
        for added in ["--date", "--commit"] {
            if let Some(place) = given.iter().position(|it| it == added) {
                given.drain(place..given.len().min(place + 2));
            }
        }
        let command = [name.into()].into_iter().chain(given).collect::<Vec<_>>().join(" ");
        Self { date, commit, command, processor: processor() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
        let Self { date, commit, command, processor } = self;
        write!(f, "`{command}` on {}, commit {}: {processor}", known(date), known(commit))
    }
}

/// Returns the model of the processor, and what it has of the instructions that the kernels use, where Linux tells.
fn processor() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| about.lines().find(|line| line.starts_with(key))?.split(": ").nth(1);
    let flags = value("flags").unwrap_or_default();
    let flags = flags
        .split(' ')
        .filter(|it| ["avx2", "f16c", "avx512f", "avx512_bf16", "avx512_fp16"].contains(it));
    format!("{}, {}", value("model name").unwrap_or("unknown"), flags.collect::<Vec<_>>().join(" "))
}
