//! From one `.cu` to the PTX that is committed: the same bytes on every machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Result,
    files::Files,
    kernels::{header::Header, on_every_core, portable, set::Set, toolkit::Toolkit, version},
    shell::heard,
};

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

/// Where compiled files lie, from the root, below it as they lie in the repository.
pub(super) const SCRATCH: &str = "target/kernels";

/// A compiler for the repository at `root`.
pub(super) struct Compiler<'a> {
    pub(super) toolkit: &'a Toolkit,
    pub(super) root: &'a Path,
}

impl Compiler<'_> {
    /// The PTX of each of `names`, in their order, or what the compiler has to say.
    pub(super) fn all<'n>(
        &self,
        files: &Files,
        set: &Set,
        names: &[&'n str],
    ) -> Vec<(&'n str, Result<String, String>)> {
        on_every_core(names, |name| {
            (*name, self.one(files, set, name).map_err(|error| error.to_string()))
        })
    }

    /// The PTX of one kernel, which is also left in [`SCRATCH`].
    fn one(&self, files: &Files, set: &Set, name: &str) -> Result<String> {
        let Header { arch, .. } = Header::read(files.text(&set.source(name)).unwrap_or_default())?;
        let file = self.root.join(SCRATCH).join(set.compiled(name));
        fs::create_dir_all(file.with_file_name(""))?;
        self.nvcc(set, name, arch, &file)?;
        let ptx = portable::portable(&fs::read_to_string(&file)?);
        self.lowered(&ptx, arch, &file)
    }

    fn nvcc(&self, set: &Set, name: &str, arch: u32, file: &Path) -> Result<()> {
        let source = format!("{name}.cu");
        let mut nvcc = self.toolkit.program("nvcc");
        // Names of the source's own, in symbols of what is internal, have a hash of this path in them.
        nvcc.args(FLAGS).args(["-Xcicc", "--orig_src_path_name", "-Xcicc", &source]);
        nvcc.arg(format!("-arch=compute_{arch}")).arg("-o").arg(file).arg(&source);
        print!("{}", heard(nvcc.current_dir(self.root.join(set.sources)))?);
        Ok(())
    }

    fn lowered(&self, ptx: &str, arch: u32, file: &Path) -> Result<String> {
        let mut complaint = String::new();
        let accepts = |candidate: &str| {
            fs::write(file, candidate)?;
            let answer = self.assemble(file, arch, &file.with_extension("cubin"));
            complaint = answer.as_ref().err().map(ToString::to_string).unwrap_or_default();
            Ok(answer.is_ok())
        };
        let lowered = version::lowered(ptx, arch, accepts);
        lowered.map_err(|error| format!("{error}\n{complaint}").into())
    }

    /// Has ptxas turn the PTX in `file` into machine code in `to`, and returns what it says of it.
    pub(super) fn assemble(&self, file: &Path, arch: u32, to: &Path) -> Result<String> {
        let mut ptxas = self.toolkit.program("ptxas");
        heard(ptxas.arg("-v").arg(format!("-arch=sm_{arch}")).arg("-o").arg(to).arg(file))
    }

    /// Where a compiled file lies, for who wants to look at it.
    pub(super) fn scratch(set: &Set, name: &str) -> PathBuf {
        Path::new(SCRATCH).join(set.compiled(name))
    }
}
