//! A copy of a program that runs kernels, the kit's or a backend's own tests, in which the text of one kernel is another.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::Device;
use crate::{
    Result,
    binaries::{Binaries, Kind},
    device, ptx,
    shell::{Call, root},
};

/// Programs that run kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The program that runs the kit.
    Kit,
    /// The backend's own tests on a device, for what is no contract of every backend's.
    Tests,
}

/// Begins the names of parts that the backend's own tests run.
const TESTS: &str = "device::";

/// The copy, and how it is started.
pub(super) struct Program {
    device: Device,
    which: Which,
    /// As it was built.
    bytes: Vec<u8>,
    /// A folder of this process's, so that several may run side by side.
    folder: PathBuf,
    copy: PathBuf,
    libraries: Option<PathBuf>,
}

/// How a run of the kit ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Well,
    /// With what it said.
    Badly(String),
    /// It was stopped.
    TooLate,
}

impl Program {
    pub(super) fn built(device: Device, which: Which) -> Result<Self> {
        let backend = if device == Device::Ptx { "binade-cuda" } else { "binade-wgpu" };
        let (command, package, kind, name) = match which {
            Which::Kit => ("build --bin", "binade-bench", Kind::Program, "conformance"),
            Which::Tests => ("test --no-run --test", backend, Kind::Tests, "device"),
        };
        let call = format!("{command} {name} --package {package} --quiet --message-format json");
        let built = Binaries::of(&Call::cargo(&call))?;
        let bytes = fs::read(built.file(package, kind, name)?)?;
        let libraries = if device == Device::Ptx { Some(ptx::folder(false)?) } else { None };
        let folder = root().join(format!("target/mutants/{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let copy = folder.join(name);
        fs::write(&copy, &bytes)?;
        executable(&copy)?;
        Ok(Self { device, which, bytes, folder, copy, libraries })
    }

    /// Returns true where the program has these cases.
    pub(super) fn runs(&self, part: &str) -> bool {
        part.starts_with(TESTS) == (self.which == Which::Tests)
    }

    /// Where coverage and copies are put.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where `text` lies in the program: nowhere if it was left out as unused, and more than once where it was compiled so.
    pub(super) fn places(&self, text: &str) -> Vec<usize> {
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(at) = find(&self.bytes[from..], text.as_bytes()) {
            places.push(from + at);
            from += at + text.len();
        }
        places
    }

    /// Writes `text` into the copy at each of `places`.
    pub(super) fn put(&self, places: &[usize], text: &str) -> Result<()> {
        let mut file = File::options().write(true).open(&self.copy)?;
        for place in places {
            file.seek(SeekFrom::Start(u64::try_from(*place)?))?;
            file.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Runs the cases whose names contain `part`, and leaves which PTX lines ran in `coverage`.
    pub(super) fn run(
        &self,
        part: &str,
        capability: Option<&str>,
        limit: Duration,
        coverage: Option<&Path>,
    ) -> Result<Ending> {
        let log = self.copy.with_extension("txt");
        let output = File::create(&log)?;
        let mut process = Command::new(&self.copy);
        let name = if self.device == Device::Ptx { "ptx" } else { "wgpu" };
        match part.strip_prefix(TESTS) {
            None => process.args(["--device", name, "--only", part]),
            Some(tests) => process.arg(tests).env("BINADE_PTX_DEVICES", "2"),
        };
        process.env("BINADE_REQUIRE", name);
        if let Some(folder) = &self.libraries {
            process.env("LD_LIBRARY_PATH", device::before(folder, "LD_LIBRARY_PATH", ':'));
        }
        capability.map(|version| process.env("BINADE_PTX_CC", version));
        coverage.map(|folder| process.env("BINADE_PTX_COVERAGE", folder));
        process.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let (start, mut child) = (Instant::now(), process.spawn()?);
        loop {
            if let Some(status) = child.try_wait()? {
                let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
                return Ok(if status.success() { Ending::Well } else { Ending::Badly(said) });
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(Ending::TooLate);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Nothing but a copy in the target folder stays behind.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn executable(_path: &Path) -> Result<()> {
    Ok(())
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let (first, rest) = (text.first()?, text.len());
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| byte == first)?;
        if bytes.get(at..at + rest)? == text {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_among_bytes_and_one_that_is_not_there_is_not() {
        assert_eq!(find(b"\0ababc\0", b"abc"), Some(3));
        assert_eq!(find(b"abab", b"abc"), None);
        assert_eq!(find(b"", b"abc"), None);
    }
}
