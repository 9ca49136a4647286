//! The shaders: where their text is, and what each entry takes. A test compares this with what `cargo xtask shaders` found in
//! the text.

use crate::{autocast, masters, ops, scaler};
use lzma_rust2::LzmaReader;
use std::{collections::HashMap, io::Read, sync::LazyLock};

/// An entry of a composed shader.
#[derive(Debug)]
pub(crate) struct Shader {
    /// The entry's name.
    pub(crate) name: &'static str,
    /// The file's, in `shaders/`.
    pub(crate) file: &'static str,
    /// Bytes of its parameters, the uniform at group 0 binding 0.
    pub(crate) params: usize,
    /// The storage buffers that it uses, in rising order.
    pub(crate) bindings: &'static [(u32, Access)],
}

/// What a shader does with a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Access {
    Read,
    /// And read.
    Write,
}

/// The composed texts by their files, unpacked once a process, when the first is compiled.
static TEXTS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let packed: &[u8] = include_bytes!("../wgsl/shaders.wgsl.lzma");
    let mut all = String::new();
    let reader = LzmaReader::new_mem_limit(packed, u32::MAX, None);
    // Whatever lacks is an empty shader, which has no entry; a test reads every one.
    let _ = reader.and_then(|mut reader| reader.read_to_string(&mut all));
    all.leak().split("//// ").filter_map(|text| text.split_once('\n')).collect()
});

impl Shader {
    /// The composed text.
    pub(crate) fn wgsl(&self) -> &'static str {
        TEXTS.get(self.file).copied().unwrap_or_default()
    }
}

/// Every entry of this crate: those of training, and the operations' own.
pub(crate) fn all() -> impl Iterator<Item = &'static Shader> {
    ops::SHADERS
        .iter()
        .copied()
        .flatten()
        .chain(CASTS)
        .chain(scaler::SHADERS)
        .chain(masters::SHADERS)
        .copied()
}

/// The shaders of casts.
const CASTS: &[&Shader] = &[&autocast::CAST, &autocast::CAST_STOCHASTIC];

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fmt::Write};

    const ENTRIES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/wgsl/ENTRIES"));

    /// As `cargo xtask shaders` writes it.
    fn line(shader: &Shader) -> String {
        let mut line = format!("{} {} params={}", shader.file, shader.name, shader.params);
        for (binding, access) in shader.bindings {
            let access = if *access == Access::Read { "read" } else { "write" };
            let _ = write!(line, " {binding}:{access}");
        }
        line
    }

    /// Without the size of its groups, which is not asked for at a dispatch.
    fn without_threads(line: &str) -> String {
        let words = line.split(' ').filter(|word| !word.starts_with("threads="));
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_dispatch_passes_what_its_entry_takes_and_every_entry_is_dispatched() {
        let found: BTreeSet<_> =
            ENTRIES.lines().filter(|line| !line.starts_with('#')).map(without_threads).collect();
        let passed: BTreeSet<_> = all().map(line).collect();
        assert_eq!(passed, found);
        assert_eq!(passed.len(), all().count(), "an entry is listed twice");
    }

    #[test]
    fn every_entry_is_in_the_text_of_its_file() {
        for shader in all() {
            let entry = format!("fn {}(", shader.name);
            assert!(shader.wgsl().contains(&entry), "{} of {}", shader.name, shader.file);
        }
    }
}
