//! Folders of kernels, and headers of their sources.

use crate::{files::Files, packed::Texts};

/// A folder of kernels, and the folder that its PTX is committed in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    /// The folder of the `.cu` files, from the root.
    pub(super) sources: &'static str,
    /// The folder of the PTX and the manifest, from the root.
    pub(super) ptx: &'static str,
    /// True if the PTX is shipped: packed into one file and free of what the kernels' agreement classes forbid. It lies in files of
    /// its own otherwise.
    pub(super) shipped: bool,
}

/// The backend's kernels, and planted bugs, which are wrong on purpose.
pub(super) const SETS: [Set; 2] = [
    Set { sources: "kernels", ptx: "crates/binade-cuda/ptx", shipped: true },
    Set { sources: "kernels/faults", ptx: "crates/binade-ptx/tests/fixtures", shipped: false },
];

impl Set {
    /// The kernels' names, sorted.
    pub(super) fn names<'a>(&self, files: &'a Files) -> Vec<&'a str> {
        files.stems(self.sources, ".cu").collect()
    }

    /// The PTX of every kernel.
    pub(super) fn texts(&self, files: &Files) -> Texts {
        let text = |name: &str| Some((name.to_owned(), files.text(&self.compiled(name))?.into()));
        self.names(files).into_iter().filter_map(text).collect()
    }

    pub(super) fn source(&self, name: &str) -> String {
        format!("{}/{name}.cu", self.sources)
    }

    /// The path of the PTX of `name`, packed or not.
    pub(super) fn compiled(&self, name: &str) -> String {
        format!("{}/{name}.ptx", self.ptx)
    }

    pub(super) fn manifest(&self) -> String {
        format!("{}/MANIFEST", self.ptx)
    }
}

/// The architecture that a kernel is compiled for unless it says otherwise: the oldest that CUDA 13 knows.
const LEAST: u32 = 75;

/// The facts that the header comment of one `.cu` file tells the build.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// `// requires: compute_80` gives 80. Letters behind the number would make PTX that no later GPU loads.
    pub(super) arch: u32,
    /// True where a line `// lowers: REASON` lowers the agreement class.
    pub(super) lowers: bool,
}

impl Header {
    /// Reads the comment lines at the top of `source`; the error says what is wrong with one of them.
    pub(super) fn read(source: &str) -> Result<Self, String> {
        let comments = || source.lines().map_while(|line| line.strip_prefix("//")).map(str::trim);
        let told = |key| comments().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let arch = told("requires:").map_or(Ok(LEAST), |told| {
            let number = told.strip_prefix("compute_").and_then(|number| number.parse().ok());
            number.filter(|arch| *arch >= LEAST).ok_or_else(|| {
                format!("`// requires: {told}`: write `compute_NN`, a number from {LEAST} up and nothing more")
            })
        })?;
        match told("lowers:") {
            Some("") => Err("`// lowers:` wants a reason: what is computed otherwise".into()),
            reason => Ok(Self { arch, lowers: reason.is_some() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_tells_the_architecture_and_a_lowered_class_above_the_code() {
        let of = |text: &str| Header::read(&format!("// Casts.\n{text}")).unwrap();
        assert_eq!(of("int x;\n// requires: compute_80\n"), Header { arch: 75, lowers: false });
        let both = of("//\n// requires: compute_80\n// lowers: exp is approximate\nint x;\n");
        assert_eq!(both, Header { arch: 80, lowers: true });
    }

    #[test]
    fn what_ptx_cannot_carry_forward_and_a_lowering_without_a_reason_are_refused() {
        for bad in ["compute_90a", "compute_70", "sm_80", "", "compute_80 for bf16"] {
            let error = Header::read(&format!("// requires: {bad}\n")).unwrap_err();
            assert!(error.contains("compute_NN"), "{error}");
        }
        assert!(Header::read("// lowers:\n").unwrap_err().contains("reason"));
    }
}
