//! `cargo xtask shaders`: composes the WGSL shaders that are committed in the wgpu backend, and says what is wrong with them,
//! without any device.
//!
//! naga, which is in wgpu, parses and validates them; what it lets pass and drivers or browsers do not is looked for beside it.

mod backends;
mod committed;
mod compose;
mod entry;
mod files;
mod header;
mod limits;
mod text;
mod traps;
mod validate;

use std::fs;

use clap::Args;

use crate::{
    Result,
    kernels::digest,
    packed,
    shaders::{committed::Composed, files::Files},
    shell::root,
    tidy::Issue,
};

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
    let files = Files::load(&root())?;
    let composed = committed::compose(&files);
    let issues = composed.issues.iter().cloned().chain(committed::differences(&files, &composed));
    Ok((issues.collect(), composed.entries))
}

/// Writes what has changed, unless something is wrong with it.
fn build() -> Result<(Vec<Issue>, usize)> {
    let root = root();
    let files = Files::load(&root)?;
    let Composed { issues, texts, tables, entries } = committed::compose(&files);
    if !issues.is_empty() {
        return Ok((issues, entries));
    }
    fs::create_dir_all(root.join(files::COMPOSED))?;
    for (path, text) in tables.iter().filter(|(path, text)| files.text(path) != Some(text)) {
        println!("{path}");
        fs::write(root.join(path), text)?;
    }
    if packed::write(&root.join(PACKED), &texts)? {
        println!("{PACKED}");
    }
    Ok((issues, entries))
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
