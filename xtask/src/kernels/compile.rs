//! Compilation of one `.cu` to the PTX that is committed: the same bytes on every machine.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use rayon::prelude::*;

use crate::{
    Result,
    files::Files,
    kernels::{
        portable,
        set::{Header, Set},
    },
    shell::heard,
};

/// The version of nvcc that compiles what is committed: that of CUDA 13.0.2.
///
/// A later one writes PTX that drivers of CUDA 13.0 refuse, and other instructions than those that are reviewed.
pub(super) const PINNED: &str = "13.0.88";

/// Every rounding is one that the source asks for: nothing contracted, nothing flushed, nothing approximated.
/// Line numbers stay, for the interpreter's reports and for debuggers; ptxas optimises with them as without.
pub(super) const FLAGS: [&str; 8] = [
    "-std=c++17",
    "-O3",
    "-fmad=false",
    "-ftz=false",
    "-prec-div=true",
    "-prec-sqrt=true",
    "-lineinfo",
    "-ptx",
];

/// Raised whenever something else than before is made of what nvcc writes, so that all PTX is stale.
pub(super) const RECIPE: u32 = 2;

/// A toolchain of the pinned version for the repository at `root`.
pub(super) struct Compiler<'a> {
    bin: PathBuf,
    root: &'a Path,
}

impl<'a> Compiler<'a> {
    /// Finds the toolchain in the folder that `BINADE_CUDA_TOOLKIT` names, or where `.ci/cuda` installs it: a toolkit, or a virtual
    /// environment of Python with one in it. The error says what is missing, or which version is wrong.
    pub(super) fn find(root: &'a Path) -> Result<Self> {
        let folder = env::var_os("BINADE_CUDA_TOOLKIT");
        let folder = folder.map_or_else(|| root.join("target/cuda"), PathBuf::from);
        let pythons = fs::read_dir(folder.join("lib")).ok().into_iter().flatten().flatten();
        let packages = pythons.map(|python| python.path().join("site-packages/nvidia/cu13"));
        let mut places = [folder.clone()].into_iter().chain(packages).map(|it| it.join("bin"));
        let bin = places.find(|bin| bin.join("nvcc").is_file());
        let advice = format!("nvcc {PINNED} is wanted, which `.ci/cuda` installs");
        let bin = bin.ok_or_else(|| format!("no nvcc in {}: {advice}", folder.display()))?;
        let compiler = Self { bin, root };
        let told = heard(compiler.program("nvcc").arg("--version"))?;
        if told.contains(&format!(", V{PINNED}\n")) {
            return Ok(compiler);
        }
        Err(format!("another nvcc in {}: {advice}\n{told}", folder.display()).into())
    }

    /// `nvcc` or `ptxas`, in an environment that adds no flags.
    fn program(&self, name: &str) -> Command {
        let mut program = Command::new(self.bin.join(name));
        for variable in ["NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN"] {
            program.env_remove(variable);
        }
        program
    }

    /// The PTX of each of `names`, in their order, or what the compiler has to say.
    pub(super) fn all<'n>(
        &self,
        files: &Files,
        set: &Set,
        names: &[&'n str],
    ) -> Vec<(&'n str, Result<String, String>)> {
        let one = |&name| (name, self.one(files, set, name).map_err(|error| error.to_string()));
        names.par_iter().map(one).collect()
    }

    /// The PTX of one kernel, which is also left in `target/kernels`, below it as it lies in the repository.
    fn one(&self, files: &Files, set: &Set, name: &str) -> Result<String> {
        let Header { arch, .. } = Header::read(files.text(&set.source(name)).unwrap_or_default())?;
        let file = self.root.join("target/kernels").join(set.compiled(name));
        fs::create_dir_all(file.with_file_name(""))?;
        let source = format!("{name}.cu");
        let mut nvcc = self.program("nvcc");
        // Names of the source's own, in symbols of what is internal, have a hash of this path in them.
        nvcc.args(FLAGS).args(["-Xcicc", "--orig_src_path_name", "-Xcicc", &source]);
        nvcc.arg(format!("-arch=compute_{arch}")).arg("-o").arg(&file).arg(&source);
        print!("{}", heard(nvcc.current_dir(self.root.join(set.sources)))?);
        let ptx = portable::portable(&fs::read_to_string(&file)?);
        let mut complaint = String::new();
        for candidate in portable::versions(&ptx, arch)? {
            fs::write(&file, &candidate)?;
            let mut ptxas = self.program("ptxas");
            ptxas.arg(format!("-arch=sm_{arch}")).arg("-o").arg(file.with_extension("cubin"));
            match heard(ptxas.arg(&file)) {
                Ok(_) => return Ok(candidate),
                Err(error) => complaint = error.to_string(),
            }
        }
        Err(format!("ptxas accepts the PTX in no version\n{complaint}").into())
    }
}
