//! `cargo xtask kernels`: compiles the CUDA kernels to the PTX that is committed, and holds the two together.
//!
//! Building the project needs cargo and nothing else, so the PTX is committed. A machine without CUDA compares hashes, inside the
//! tests, and one with CUDA compiles again.

mod committed;
mod compile;
mod lint;
mod places;
mod portable;
mod set;
mod sources;

use std::{fs, path::Path};

use clap::Args;
use set::SETS;

use crate::{
    Result,
    files::Files,
    issue::{Issue, verdict},
    kernels::{
        compile::{Compiler, PINNED},
        set::Set,
    },
    packed::{self, Texts},
    shell::root,
};

/// The file that holds the PTX of every kernel of the backend, from the root.
pub(crate) const PACKED: &str = "crates/binade-cuda/ptx/kernels.ptx.lzma";

#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct Kernels {
    /// Compares the committed PTX with its sources, and writes nothing; compiles again where `.ci/cuda` has installed the toolchain.
    #[arg(long)]
    check: bool,
    /// Prints the committed PTX of one kernel.
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
}

impl Kernels {
    pub(crate) fn run(self) -> Result<()> {
        if let Some(name) = self.show {
            return packed::show(PACKED, &name);
        }
        let root = root();
        verdict(&if self.check { check(&root)? } else { build(&root)? }, "kernels and their PTX")
    }
}

/// Everything that the checks look at.
fn files(root: &Path) -> Result<Files> {
    let folders = SETS.iter().flat_map(|set| [set.sources, set.ptx]);
    Files::load(root, folders.chain(["kernels/lib"]), PACKED)
}

/// Compiles and writes; what is wrong with the result is returned, and lies there to be looked at.
fn build(root: &Path) -> Result<Vec<Issue>> {
    let (compiler, mut all) = (Compiler::find(root)?, files(root)?);
    for set in &SETS {
        for (path, text) in compiled(&compiler, &all, set)? {
            println!("{path}");
            if !set.shipped || path == set.manifest() {
                fs::write(root.join(&path), &text)?;
            }
            all.put(path, text);
        }
    }
    packed::write(PACKED, &SETS[0].texts(&all))?;
    Ok(committed::issues(&files(root)?))
}

/// The files of one set that must be written, each with its text. An error tells of every kernel that did not compile.
fn compiled(compiler: &Compiler, files: &Files, set: &Set) -> Result<Texts> {
    let mut manifest = committed::manifest(files, set).unwrap_or_default();
    let mut names = set.names(files);
    manifest.retain(|name, _| names.contains(&name.as_str()));
    names.retain(|name| committed::objection(files, set, name, &manifest).is_some());
    let (mut written, mut failed) = (Texts::new(), Vec::new());
    for (name, result) in compiler.all(files, set, &names) {
        match result.and_then(|ptx| Ok((committed::row(files, set, name, &ptx)?, ptx))) {
            Ok((row, ptx)) => {
                manifest.insert(name.to_owned(), row);
                written.insert(set.compiled(name), ptx);
            }
            Err(error) => failed.push(format!("{}: {error}", set.source(name))),
        }
    }
    if !failed.is_empty() {
        return Err(failed.join("\n").into());
    }
    let manifest = committed::text(&manifest);
    if files.text(&set.manifest()) != Some(&manifest) {
        written.insert(set.manifest(), manifest);
    }
    Ok(written)
}

/// Looks at what is committed, and compiles it again where the toolchain is installed.
fn check(root: &Path) -> Result<Vec<Issue>> {
    let files = files(root)?;
    let mut issues = committed::issues(&files);
    if fs::read(root.join(PACKED))? != packed::pack(&SETS[0].texts(&files))? {
        let message = "not as it would be packed now: run `cargo xtask kernels` and commit it";
        issues.push(Issue::new(PACKED, 0, message));
    }
    match Compiler::find(root) {
        Err(why) => println!("hashes and instructions only, nothing compiled: {why}"),
        Ok(compiler) => {
            issues.extend(SETS.iter().flat_map(|set| different(&compiler, &files, set)));
            println!("compiled again by {PINNED}");
        }
    }
    Ok(issues)
}

/// The kernels of `set` that do not compile, or compile to something else than is committed.
fn different(compiler: &Compiler, files: &Files, set: &Set) -> Vec<Issue> {
    let results = compiler.all(files, set, &set.names(files)).into_iter();
    let issues = results.filter_map(|(name, result)| match result {
        Err(error) => Some(Issue::new(set.source(name), 0, error)),
        Ok(ptx) => {
            let had = files.text(&set.compiled(name)).unwrap_or_default();
            let same = ptx.split('\n').zip(had.split('\n')).take_while(|(a, b)| a == b).count();
            let message = format!("the source compiles to target/kernels/{}", set.compiled(name));
            (ptx != had).then(|| Issue::new(set.compiled(name), same + 1, message))
        }
    });
    issues.collect()
}
