//! `cargo xtask packages`: each crate that people take alone, as it would be published, used by a stranger's program: the first
//! one of its README.
//!
//! The subject is what `cargo package` makes, unpacked, not the sources beside it: a file left out, a path that leads out of
//! the crate, or a README that leans on a neighbour is found here. Last, the tests of `tests/own_tensor`, a stranger's crate with a
//! tensor of its own.

use std::{collections::BTreeSet, fs, path::PathBuf};

use clap::Args;

use crate::{
    Result,
    house::{TAKEN_ALONE, small_crates},
    shell::{Call, root},
};

/// The folder of everything that is made here, from the root.
const FOLDER: &str = "target/packages";

#[derive(Args)]
pub(crate) struct Packages {
    /// Packages what is not committed too.
    #[arg(long)]
    allow_dirty: bool,
}

impl Packages {
    pub(crate) fn run(self) -> Result<()> {
        let names: BTreeSet<_> = small_crates().chain(TAKEN_ALONE.map(|(name, _)| name)).collect();
        package(&names, self.allow_dirty)?;
        println!("{:<24} {:>6} {:>5}", "crate", "brings", "most");
        for (name, most) in TAKEN_ALONE {
            let brings = used(name, &names)?;
            println!("{name:<24} {:>6} {most:>5}", brings.len());
            limit(name, &brings, most)?;
        }
        let test = "cargo test --quiet --locked --manifest-path tests/own_tensor/Cargo.toml";
        Call::line(test).args(["--target-dir", &format!("{FOLDER}/target")]).run()
    }
}

fn place(name: &str) -> PathBuf {
    root().join(FOLDER).join(name)
}

/// Packages all in one call, so that they find each other before a registry has them, and unpacks them. Nothing is built: the strangers
/// do that. The lock file stays out: it would name test dependencies, which a stranger does not have.
fn package(names: &BTreeSet<&str>, allow_dirty: bool) -> Result<()> {
    // An earlier version's package must not be unpacked.
    for old in ["package", "unpacked"].map(place) {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    let call = Call::cargo("package --quiet --no-verify --exclude-lockfile --target-dir");
    let call = call.args([FOLDER]).args(allow_dirty.then_some("--allow-dirty"));
    call.args(names.iter().flat_map(|name| ["--package", name])).run()?;
    for name in names {
        let folder = format!("{FOLDER}/unpacked/{name}");
        fs::create_dir_all(root().join(&folder))?;
        // `m`: every packaged file has the same age, by which cargo would not see that it changed.
        let tar = format!(
            "tar -xzmf {FOLDER}/package/{name}-[0-9]*.crate --strip-components 1 -C {folder}"
        );
        Call::of("sh").args(["-c", &tar]).run()?;
    }
    Ok(())
}

/// Runs the program of the README of `name` outside any workspace, and returns the crates that come along; `packaged` are found beside it.
fn used(name: &str, packaged: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
    let readme = fs::read_to_string(place("unpacked").join(name).join("README.md"))?;
    let program =
        snippet(&readme).ok_or_else(|| format!("README.md of `{name}` has no ```rust"))?;
    let folder = place("strangers").join(name);
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/main.rs"), program)?;
    let tree = Call::cargo("tree --edges normal --prefix none --package").args([name]).read()?;
    let is_needed = |it: &&str| tree.lines().any(|line| line.starts_with(&format!("{it} ")));
    let needs = packaged.iter().copied().filter(is_needed);
    fs::write(folder.join("Cargo.toml"), manifest(name, needs))?;
    // The versions that the house is tested with, so that nothing is looked up anywhere.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let manifest = folder.join("Cargo.toml").to_string_lossy().into_owned();
    let with = |line| Call::line(line).args(["--manifest-path", &manifest]);
    // One folder of builds for all of them: what they share is built once.
    with("cargo run --quiet").args(["--target-dir", &format!("{FOLDER}/target")]).run()?;
    Ok(listed(&with("cargo tree --edges normal,no-proc-macro --prefix none").read()?))
}

/// The first Rust program of a page, as whoever pastes it has it: with lines that documentation hides it does not compile.
fn snippet(page: &str) -> Option<&str> {
    let (_, begun) = page.split_once("```rust\n")?;
    begun.split_once("\n```").map(|(program, _)| program)
}

/// A manifest with one dependency; the crates of the house that it needs, which no registry has yet, are found beside it.
fn manifest<'n>(name: &'n str, needs: impl Iterator<Item = &'n str>) -> String {
    let found = |name: &str| format!("{name} = {{ path = \"../../unpacked/{name}\" }}\n");
    let patches: String = needs.map(found).collect();
    format!(
        "[package]\nname = \"uses-{name}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{}\n[patch.crates-io]\n{patches}",
        found(name)
    )
}

/// The crates that `cargo tree --prefix none` lists below its first line, which is the program that asks. A crate that appears again
/// is marked `(*)` and counts once.
fn listed(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().skip(1).map(|line| line.trim_end_matches(" (*)").trim());
    lines.filter(|line| !line.is_empty()).map(String::from).collect()
}

/// An error where it brings more than it may, or nothing, which is not even itself.
fn limit(name: &str, brings: &BTreeSet<String>, most: usize) -> Result<()> {
    if (1..=most).contains(&brings.len()) {
        return Ok(());
    }
    let list = brings.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    let count = brings.len();
    Err(format!(
        "`{name}` brings {count} crates and must bring 1 to {most}, itself included\n{list}"
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_brings_too_many_or_not_even_itself_is_an_error() {
        let brings =
            listed("uses v0.0.0\na v0.1.0\nhalf v2.7.1\ncfg-if v1.0.0\nhalf v2.7.1 (*)\n\n");
        assert!(limit("a", &brings, 3).is_ok());
        let error = limit("a", &brings, 2).unwrap_err().to_string();
        assert!(
            error.starts_with("`a` brings 3 crates") && error.ends_with("half v2.7.1"),
            "{error}"
        );
        assert!(limit("a", &listed("uses v0.0.0\n"), 2).is_err());
    }
}
