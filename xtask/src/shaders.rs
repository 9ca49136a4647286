//! `cargo xtask shaders`: composes the WGSL shaders that are committed in the wgpu backend, and says what is wrong with them,
//! without any device.
//!
//! naga, which is in wgpu, parses and validates them; what it lets pass and drivers or browsers do not is looked for beside it.

mod backends;
mod committed;
mod compose;
mod entry;
mod header;
mod limits;
mod text;
mod traps;
mod validate;

use std::{fs, path::Path};

use clap::Args;

use crate::{Result, files::Files, packed, shaders::committed::Composed, shell::root, tidy::Issue};

/// Where shaders are written, and what several of them use.
const SOURCES: &str = "shaders";
const LIBRARY: &str = "shaders/lib";

/// Where what they are composed to is committed, and what each entry takes.
const COMPOSED: &str = "crates/binade-wgpu/wgsl";
const ENTRIES: &str = "crates/binade-wgpu/wgsl/ENTRIES";

/// The file that holds every composed shader, from the root.
pub(crate) const PACKED: &str = "crates/binade-wgpu/wgsl/shaders.wgsl.lzma";

#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct Shaders {
    /// Compares what is committed with its sources, and writes nothing.
    #[arg(long)]
    check: bool,
    /// Prints one composed shader.
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
}

impl Shaders {
    pub(crate) fn run(self) -> Result<()> {
        if let Some(name) = self.show {
            return packed::show(PACKED, &name);
        }
        let (issues, entries) = if self.check { check()? } else { build()? };
        for issue in &issues {
            println!("{issue}");
        }
        match issues.len() {
            0 => println!("{entries} entries, valid and as committed"),
            count => return Err(format!("{count} things to mend in the shaders").into()),
        }
        Ok(())
    }
}

/// What is wrong with the shaders and with what is committed of them, and how many entries there are.
pub(crate) fn check() -> Result<(Vec<Issue>, usize)> {
    let files = files(&root())?;
    let composed = committed::compose(&files);
    let issues = composed.issues.iter().cloned().chain(committed::differences(&files, &composed));
    Ok((issues.collect(), composed.count))
}

/// Writes what has changed, unless something is wrong with it.
fn build() -> Result<(Vec<Issue>, usize)> {
    let root = root();
    let files = files(&root)?;
    let Composed { issues, texts, entries, count } = committed::compose(&files);
    if issues.is_empty() {
        fs::create_dir_all(root.join(COMPOSED))?;
        if files.text(ENTRIES) != Some(&entries) {
            println!("{ENTRIES}");
            fs::write(root.join(ENTRIES), entries)?;
        }
        if packed::write(&root.join(PACKED), &texts)? {
            println!("{PACKED}");
        }
    }
    Ok((issues, count))
}

/// Everything that the checks look at.
fn files(root: &Path) -> Result<Files> {
    Files::load(root, [SOURCES, LIBRARY, COMPOSED], PACKED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_shaders_are_what_their_sources_compose_to() {
        let (issues, entries) = check().unwrap();
        assert_eq!(issues, []);
        assert!(entries > 0);
    }
}
