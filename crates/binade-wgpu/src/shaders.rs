//! The shaders: their texts, and the parameters and bindings of each entry, as `cargo xtask shaders` found them in the text.

use std::{collections::HashMap, sync::LazyLock};

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

/// Use of a buffer by a shader.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Access {
    Read,
    /// And read.
    Write,
}

/// The composed texts by their files, unpacked once a process, when the first is compiled.
static TEXTS: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| binade_gpu::unpack_kernels(include_bytes!("../wgsl/shaders.wgsl.lzma")));

/// All entries by their names.
static ENTRIES: LazyLock<HashMap<&str, Shader>> = LazyLock::new(|| {
    let lines = include_str!("../wgsl/ENTRIES").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(Shader::parse).map(|shader| (shader.name, shader)).collect()
});

impl Shader {
    /// The composed text.
    pub(crate) fn wgsl(&self) -> &'static str {
        TEXTS.get(self.file).copied().unwrap_or_default()
    }

    /// Reads a line: `relu relu_backward threads=256 params=16 1:read 2:read 3:write`.
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let (file, name) = (words.next()?, words.next()?);
        let params = words.find_map(|word| word.strip_prefix("params="))?.parse().ok()?;
        let bindings: Option<Vec<_>> = words.map(binding).collect();
        Some(Self { name, file, params, bindings: bindings?.leak() })
    }
}

/// Reads a binding: `3:write`.
fn binding(word: &str) -> Option<(u32, Access)> {
    let (number, access) = word.split_once(':')?;
    let access = if access == "read" { Access::Read } else { Access::Write };
    Some((number.parse().ok()?, access))
}

impl From<&str> for &'static Shader {
    /// Finds an entry by its name.
    fn from(name: &str) -> Self {
        static MISSING: Shader =
            Shader { name: "no such shader", file: "", params: 0, bindings: &[] };
        ENTRIES.get(name).unwrap_or(&MISSING)
    }
}

/// Every entry of this crate.
pub(crate) fn all() -> impl Iterator<Item = &'static Shader> {
    ENTRIES.values()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_the_text_of_its_file() {
        assert!(all().count() >= 60);
        for shader in all() {
            let entry = format!("fn {}(", shader.name);
            assert!(shader.wgsl().contains(&entry), "{} of {}", shader.name, shader.file);
        }
    }

    #[test]
    fn every_entry_is_dispatched() {
        let names = all().map(|shader| shader.name);
        let never = binade_gpu::testing::never_launched(env!("CARGO_MANIFEST_DIR"), names);
        assert_eq!(never.unwrap(), Vec::<&str>::new());
    }
}
