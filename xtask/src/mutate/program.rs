//! A copy of a program that runs kernels, the kit's or a backend's own tests, in which the packed text of one kernel is another.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use super::{kernels::Kernel, trial::Outcome};
use crate::{
    Result,
    binaries::Binaries,
    device,
    issue::regex,
    kernels::PACKED,
    packed::{self, Texts},
    shell::root,
};

/// Programs that run kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The program that runs the kit.
    Kit,
    /// The backend's own tests on a device, for what is no contract of every backend's.
    Tests,
    /// The unit tests of its library, for what a case cannot ask for, such as a tile for a shape that would take another.
    Units,
}

impl Which {
    pub(super) const ALL: [Self; 3] = [Self::Kit, Self::Tests, Self::Units];

    /// The program that runs a part of the names of cases, which its beginning names, and the rest of the part.
    fn split(part: &str) -> (Self, &str) {
        match part.split_once("::") {
            Some(("device", rest)) => (Self::Tests, rest),
            Some(("units", rest)) => (Self::Units, rest),
            _ => (Self::Kit, part),
        }
    }

    /// Returns true if the program runs this part.
    pub(super) fn runs(self, part: &str) -> bool {
        Self::split(part).0 == self
    }
}

/// The copy, and how it is started.
pub(super) struct Program {
    pub(super) which: Which,
    /// The texts that are committed, packed, and where these bytes lie in the program.
    packed: Vec<u8>,
    places: Vec<usize>,
    /// The texts, less the lines that nothing runs: what a change makes longer still fits into the bytes.
    bare: Texts,
    /// A folder of this process's, so that several may run side by side.
    pub(super) folder: PathBuf,
    copy: PathBuf,
    libraries: PathBuf,
}

impl Program {
    pub(super) fn built(which: Which) -> Result<Self> {
        let (command, package, name) = match which {
            Which::Kit => ("build --bin conformance", "binade-bench", "bin/conformance"),
            Which::Tests => ("test --no-run --test device", "binade-cuda", "tests/device"),
            Which::Units => ("test --no-run --lib", "binade-cuda", "units/binade_cuda"),
        };
        let built = Binaries::of(&format!("cargo {command} --package {package} --quiet"))?;
        let program = built.file(&format!("{package}/{name}"))?;
        let packed = fs::read(root().join(PACKED))?;
        let places = places(&fs::read(program)?, &packed);
        let bare = packed::unpack(&packed)?;
        let bare = bare.into_iter().map(|(name, text)| (name, without_comments(&text))).collect();
        let libraries = device::folder(false)?;
        let folder = root().join(format!("target/mutants/{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let copy = folder.join(name.replace('/', "-"));
        fs::copy(program, &copy)?;
        Ok(Self { which, packed, places, bare, folder, copy, libraries })
    }

    /// Returns the packed texts, of which one is another.
    ///
    /// # Errors
    ///
    /// Where the program does not hold the packed texts, or these no longer fit into their place.
    pub(super) fn packed(&self, name: &str, changed: &str) -> Result<Vec<u8>> {
        let mut texts = self.bare.clone();
        texts.insert(name.to_owned(), without_comments(changed));
        let mut packed = packed::pack(&texts)?;
        if packed.len() > self.packed.len() || self.places.is_empty() {
            return Err(format!("{} has no place for a change", self.copy.display()).into());
        }
        packed.resize(self.packed.len(), 0);
        Ok(packed)
    }

    /// Runs the cases whose names contain `part`, the kit's until one fails, with these packed texts or those that are committed, leaves
    /// which PTX lines ran in `coverage`, and returns what became of the kernel.
    ///
    /// # Errors
    ///
    /// If the program cannot be run, or none of its tests has `part` in its name.
    pub(super) fn run(
        &self,
        part: &str,
        packed: Option<&[u8]>,
        kernel: &Kernel,
        limit: Duration,
        coverage: Option<&Path>,
    ) -> Result<Outcome> {
        let mut copy = File::options().write(true).open(&self.copy)?;
        for place in &self.places {
            copy.seek(SeekFrom::Start(u64::try_from(*place)?))?;
            copy.write_all(packed.unwrap_or(&self.packed))?;
        }
        drop(copy);
        let mut process = Command::new("timeout");
        process.arg(format!("{}", limit.as_secs())).arg(&self.copy).stdin(Stdio::null());
        match Which::split(part) {
            (Which::Kit, part) => process.args(["--device", "ptx", "--only", part]),
            (_, part) => process.arg(part).env("BINADE_PTX_DEVICES", "2"),
        };
        process.env("BINADE_REQUIRE", "ptx").env("BINADE_FAIL_FAST", "1");
        process.env("LD_LIBRARY_PATH", device::before(&self.libraries, "LD_LIBRARY_PATH", ':'));
        kernel.capability.map(|version| process.env("BINADE_PTX_CC", version));
        coverage.map(|folder| process.env("BINADE_PTX_COVERAGE", folder));
        let output = process.output()?;
        let said = [output.stdout, output.stderr];
        let said = said.map(|it| String::from_utf8_lossy(&it).into_owned()).concat();
        // The kit itself fails where no case ran.
        if said.lines().any(|line| line == "running 0 tests") {
            return Err(format!("no test is called {part}").into());
        }
        Ok(match output.status.code() {
            Some(0) => Outcome::Survived,
            Some(124) => Outcome::Caught("a run without an end".into()),
            _ if said.contains("CUDA_ERROR_INVALID_PTX") => Outcome::Refused,
            _ => Outcome::Caught(first_failure(&said)),
        })
    }
}

fn first_failure(said: &str) -> String {
    let is_failed = regex(r"^(FAILED|failed)|\.\.\. FAILED$");
    let failed = said.lines().map(str::trim).find(|line| is_failed.is_match(line));
    failed.unwrap_or("a run that ended badly").chars().take(100).collect()
}

impl Drop for Program {
    fn drop(&mut self) {
        // Nothing but a copy in the target folder stays behind.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Where `part` lies in `bytes`.
fn places(bytes: &[u8], part: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(part.len().max(1)).enumerate();
    windows.filter(|(_, window)| *window == part).map(|(at, _)| at).collect()
}

/// The text with its lines, those empty that only say where they come from.
fn without_comments(text: &str) -> String {
    let said = |line: &str| [".loc", "//"].iter().any(|start| line.trim_start().starts_with(start));
    text.lines()
        .map(|line| if said(line) { "\n".to_owned() } else { format!("{line}\n") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_run_by_the_program_that_its_beginning_names() {
        assert_eq!(Which::split("sgd/"), (Which::Kit, "sgd/"));
        assert_eq!(Which::split("device::windows::"), (Which::Tests, "windows::"));
        assert_eq!(Which::split("units::ops::gemm::"), (Which::Units, "ops::gemm::"));
    }

    #[test]
    fn bytes_are_found_wherever_they_lie() {
        assert_eq!(places(b"\0ababc\0abc", b"abc"), [3, 7]);
        assert!(places(b"abab", b"abc").is_empty() && places(b"", b"abc").is_empty());
    }

    #[test]
    fn lines_keep_their_numbers_without_comments() {
        let text = "// A.\n\t.loc\t1 59 3\n\tret; // B.\n";
        assert_eq!(without_comments(text), "\n\n\tret; // B.\n");
    }
}
