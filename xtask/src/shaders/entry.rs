//! What one entry takes, as a line that the backend's tests compare with what it passes.

use std::{collections::BTreeMap, fmt};

/// An entry of a shader, overrides resolved.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) file: String,
    pub(super) name: String,
    /// Invocations of a group.
    pub(super) threads: u32,
    /// Bytes of the uniform at group 0 binding 0.
    pub(super) params: u32,
    /// Storage buffers that it uses, by binding, and whether it writes to them.
    pub(super) bindings: BTreeMap<u32, bool>,
    pub(super) overrides: Vec<(String, f64)>,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, name, threads, params, .. } = self;
        write!(f, "{file} {name} threads={threads} params={params}")?;
        for (binding, writes) in &self.bindings {
            write!(f, " {binding}:{}", if *writes { "write" } else { "read" })?;
        }
        self.overrides.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_bindings_in_order_and_then_overrides() {
        let entry = Entry {
            file: "matmul".into(),
            name: "matmul_f32".into(),
            threads: 256,
            params: 48,
            bindings: [(3, true), (1, false)].into(),
            overrides: vec![("TILE".into(), 16.0)],
        };
        let line = "matmul matmul_f32 threads=256 params=48 1:read 3:write TILE=16";
        assert_eq!(entry.to_string(), line);
    }
}
