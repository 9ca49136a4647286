//! The CUDA toolchain: where it is looked for, and the one version that is taken.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Result,
    shell::{heard, on_path, root},
};

/// The version of nvcc that compiles what is committed: that of CUDA 13.0.2.
///
/// A later one writes PTX that drivers of CUDA 13.0 refuse, and other instructions than those that are reviewed.
pub(super) const PINNED: &str = "13.0.88";

/// Names the folder of the toolchain where it is not `target/cuda`.
const FOLDER: &str = "BINADE_CUDA_TOOLKIT";

/// What to do where there is no toolchain, or another one.
const INSTALL: &str = "`cargo xtask kernels --install` installs it";

/// A CUDA toolchain of the pinned version.
#[derive(Debug)]
pub(super) struct Toolkit {
    bin: PathBuf,
}

impl Toolkit {
    /// The first toolchain that is there; the error says what is missing, or which version is wrong, and what to do.
    pub(super) fn find() -> Result<Self> {
        let folder = folder();
        let places = [
            (folder.display().to_string(), bin(&folder)),
            ("CUDA_HOME".into(), env::var_os("CUDA_HOME").and_then(|home| bin(Path::new(&home)))),
            ("PATH".into(), on_path("nvcc").and_then(|nvcc| parent(&nvcc))),
        ];
        let found = places.into_iter().find_map(|(place, bin)| Some((place, bin?)));
        let (place, bin) =
            found.ok_or_else(|| format!("CUDA {PINNED} is not installed: {INSTALL}"))?;
        Self::judged(&place, bin)
    }

    /// That of the folder `bin`, found in `place`, if it is the pinned one and can run.
    pub(super) fn judged(place: &str, bin: PathBuf) -> Result<Self> {
        let toolkit = Self { bin };
        judge(place, &heard(toolkit.program("nvcc").arg("--version"))?)?;
        host_compiler()?;
        Ok(toolkit)
    }

    /// `nvcc` or `ptxas`, in an environment that adds no flags.
    pub(super) fn program(&self, name: &str) -> Command {
        let mut program = Command::new(self.bin.join(name));
        for variable in ["NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN"] {
            program.env_remove(variable);
        }
        program
    }
}

/// Where `--install` puts the toolchain, and where it is looked for first.
pub(super) fn folder() -> PathBuf {
    env::var_os(FOLDER).map_or_else(|| root().join("target/cuda"), PathBuf::from)
}

/// The folder of `nvcc` in `folder`, which is a toolkit or a virtual environment of python with one in it.
pub(super) fn bin(folder: &Path) -> Option<PathBuf> {
    let pythons = fs::read_dir(folder.join("lib")).ok().into_iter().flatten().flatten();
    let packages = pythons.map(|python| python.path().join("site-packages/nvidia/cu13"));
    let mut places = [folder.to_owned()].into_iter().chain(packages);
    places.find_map(|place| place.join("bin/nvcc").is_file().then(|| place.join("bin")))
}

/// The folder that a program lies in, links followed, so that its neighbours are found.
fn parent(program: &Path) -> Option<PathBuf> {
    Some(program.canonicalize().ok()?.parent()?.to_owned())
}

/// nvcc has the host's compiler read `#include` and `#if`.
pub(super) fn host_compiler() -> Result<()> {
    on_path("g++").map(drop).ok_or_else(|| "nvcc needs g++: apt-get install g++".into())
}

/// An error unless `told`, what `nvcc --version` prints, has the pinned version.
fn judge(place: &str, told: &str) -> Result<()> {
    match version(told) {
        Some(PINNED) => Ok(()),
        other => Err(format!(
            "the CUDA toolchain of {place} is {}, and what is committed comes from {PINNED}: {INSTALL}",
            other.unwrap_or("of no version that it tells")
        )
        .into()),
    }
}

/// `13.0.88` in `Cuda compilation tools, release 13.0, V13.0.88`.
fn version(told: &str) -> Option<&str> {
    let line = told.lines().find(|line| line.contains("compilation tools"))?;
    Some(line.rsplit_once(", V")?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n\
        Built on Wed_Aug_20_01:58:59_PM_PDT_2025\nCuda compilation tools, release 13.0, V13.0.88\n\
        Build cuda_13.0.r13.0/compiler.36424714_0\n";

    #[test]
    fn the_pinned_version_is_taken() {
        assert_eq!(version(TOLD), Some(PINNED));
        assert!(judge("PATH", TOLD).is_ok());
    }

    #[test]
    fn another_version_is_refused_by_name_with_what_to_do() {
        let error = judge("CUDA_HOME", &TOLD.replace("V13.0.88", "V12.4.131")).unwrap_err();
        let error = error.to_string();
        for part in ["CUDA_HOME", "12.4.131", PINNED, "--install"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn a_program_that_tells_no_version_is_refused() {
        assert!(judge("PATH", "Hello.\n").is_err());
    }

    #[test]
    fn a_folder_without_nvcc_is_no_toolkit() {
        assert_eq!(bin(&root().join("xtask")), None);
        assert_eq!(bin(Path::new("no/such/folder")), None);
    }
}
