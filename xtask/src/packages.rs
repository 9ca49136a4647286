//! `cargo xtask packages`: each crate that people take alone, as it would be published, used by a stranger's program: the first
//! one of its README.
//!
//! What is tested is what `cargo package` makes, unpacked, not the sources beside it: a file left out, a path that leads out of
//! the crate, or a README that leans on a neighbour is found here. Last, the tests of `tests/own_tensor`, a stranger's crate with a
//! tensor of its own.

mod snippet;
mod stranger;
mod tree;

use std::{collections::BTreeSet, fs, path::PathBuf, time::Instant};

use clap::Args;

use crate::{
    Result,
    house::{KIT, MOST_CRATES, MOST_CRATES_OF_KIT, TAKEN_ALONE, small_crates},
    shell::{Call, root},
};

use stranger::Stranger;

/// Where everything is made, from the root.
const FOLDER: &str = "target/packages";

#[derive(Args)]
pub(crate) struct Packages {
    /// Packages what is not committed too.
    #[arg(long)]
    allow_dirty: bool,
}

impl Packages {
    /// For CI: what is not committed too, so that it can be run before a commit. In a fresh clone there is no such thing.
    pub(crate) fn as_they_lie() -> Self {
        Self { allow_dirty: true }
    }

    pub(crate) fn run(self) -> Result<()> {
        let names: BTreeSet<_> = small_crates().chain(TAKEN_ALONE).chain([KIT]).collect();
        let names = Vec::from_iter(names);
        package(&names, self.allow_dirty)?;
        names.iter().try_for_each(|name| unpack(name))?;
        println!("{:<24} {:>6} {:>5} {:>8}", "crate", "brings", "most", "seconds");
        for (name, most) in limits() {
            let started = Instant::now();
            let brings = Stranger::of(name, &names).uses_it()?;
            let seconds = started.elapsed().as_secs_f64();
            println!("{name:<24} {:>6} {most:>5} {seconds:>8.1}", brings.len());
            tree::verdict(name, &brings, most)?;
        }
        own_tensor()
    }
}

/// Who is taken alone, and the most crates that each may bring, itself included.
fn limits() -> impl Iterator<Item = (&'static str, usize)> {
    let small = TAKEN_ALONE.into_iter().map(|name| (name, MOST_CRATES));
    small.chain([(KIT, MOST_CRATES_OF_KIT)])
}

/// A stranger's crate with a tensor and tests, which no feature reaches that a member of the workspace switches on.
fn own_tensor() -> Result<()> {
    let test = Call::cargo(
        "test --quiet --locked --manifest-path tests/own_tensor/Cargo.toml --target-dir",
    );
    test.args([&format!("{FOLDER}/target")]).run()
}

/// A place of this command's own.
fn place(name: &str) -> PathBuf {
    root().join(FOLDER).join(name)
}

/// The sources of a crate as they are published.
fn unpacked(name: &str) -> PathBuf {
    place("unpacked").join(name)
}

/// All in one call, so that they find each other before a registry has them. Nothing is built: the strangers do that.
///
/// The lock file stays out: it would name test dependencies, which a stranger does not have.
fn package(names: &[&str], allow_dirty: bool) -> Result<()> {
    // An earlier version's package must not be unpacked.
    if place("package").exists() {
        fs::remove_dir_all(place("package"))?;
    }
    let call = Call::cargo("package --quiet --no-verify --exclude-lockfile --target-dir");
    let call = call.args([FOLDER]).args(allow_dirty.then_some("--allow-dirty"));
    call.args(names.iter().flat_map(|name| ["--package", name])).run()
}

fn unpack(name: &str) -> Result<()> {
    let (file, folder) = (packed(name)?, unpacked(name));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let [file, folder] = [&file, &folder].map(|path| path.to_string_lossy().into_owned());
    // `m`: every packaged file has the same age, by which cargo would not see that it changed.
    Call::of("tar").args(["-xzmf", &file, "--strip-components", "1", "-C", &folder]).run()
}

/// The file that holds the crate, whatever its version.
fn packed(name: &str) -> Result<PathBuf> {
    for entry in fs::read_dir(place("package"))? {
        let entry = entry?;
        if is_packed(name, &entry.file_name().to_string_lossy()) {
            return Ok(entry.path());
        }
    }
    Err(format!("`cargo package` left no file of `{name}`").into())
}

/// Whether a file of this name is a version of the crate, and not of one whose name goes on.
fn is_packed(name: &str, file: &str) -> bool {
    let version = file.strip_suffix(".crate").and_then(|stem| stem.strip_prefix(name));
    let version = version.and_then(|version| version.strip_prefix('-'));
    version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_found_in_any_version_and_not_by_the_beginning_of_its_name() {
        assert!(is_packed("binade", "binade-0.1.0.crate"));
        assert!(is_packed("binade-core", "binade-core-10.0.0-rc.1.crate"));
        assert!(!is_packed("binade", "binade-core-0.1.0.crate"));
        assert!(!is_packed("binade-core", "binade-core-0.1.0"));
    }

    #[test]
    fn all_that_are_taken_alone_are_packaged_and_the_kit_may_bring_more() {
        let limits: Vec<_> = limits().collect();
        assert_eq!(limits.len(), TAKEN_ALONE.len() + 1);
        for (name, most) in limits {
            assert!(name == KIT || small_crates().any(|small| small == name), "{name}");
            assert_eq!(most, if name == KIT { 16 } else { 8 });
        }
    }
}
