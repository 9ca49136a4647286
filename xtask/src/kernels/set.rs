//! Which sources become which PTX.

use crate::{files::Files, packed::Texts};

/// A folder of kernels, and the folder that its PTX is committed in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    /// Where the `.cu` files lie, from the root.
    pub(super) sources: &'static str,
    /// Where the PTX and the manifest lie, from the root.
    pub(super) ptx: &'static str,
    /// Whether the PTX is shipped: packed into one file and free of what the kernels' agreement classes forbid. It lies in files of
    /// its own otherwise.
    pub(super) shipped: bool,
}

/// What the CUDA backend ships.
pub(super) const BACKEND: Set =
    Set { sources: "kernels", ptx: "crates/binade-cuda/ptx", shipped: true };

/// All of them. Planted bugs are wrong on purpose, and are few.
pub(super) const SETS: [Set; 2] = [
    BACKEND,
    Set { sources: "kernels/faults", ptx: "crates/binade-ptx/tests/fixtures", shipped: false },
];

impl Set {
    /// The kernels' names, sorted.
    pub(super) fn names<'a>(&self, files: &'a Files) -> Vec<&'a str> {
        files.stems(self.sources, ".cu").collect()
    }

    /// The PTX of every kernel.
    pub(super) fn texts(&self, files: &Files) -> Texts {
        let text =
            |name: &str| Some((name.to_owned(), files.text(&self.compiled(name))?.to_owned()));
        self.names(files).into_iter().filter_map(text).collect()
    }

    pub(super) fn source(&self, name: &str) -> String {
        format!("{}/{name}.cu", self.sources)
    }

    /// What the PTX of `name` is called, packed or not.
    pub(super) fn compiled(&self, name: &str) -> String {
        format!("{}/{name}.ptx", self.ptx)
    }

    pub(super) fn manifest(&self) -> String {
        format!("{}/MANIFEST", self.ptx)
    }
}
