//! WebGPU's default limits, which every device keeps. wgpu does not hold overrides and shared memory to them, so it is done here.

use crate::shaders::entry::Entry;

/// Invocations of a group (WebGPU, "Limits": `maxComputeInvocationsPerWorkgroup`).
const MOST_THREADS: u32 = 256;

/// Bytes that a group shares (`maxComputeWorkgroupStorageSize`).
const MOST_SHARED: u32 = 16 << 10;

/// Storage buffers of an entry (`maxStorageBuffersPerShaderStage`).
const MOST_BUFFERS: u32 = 8;

/// Bytes of parameters: what lies between those of two dispatches of one batch.
const MOST_PARAMS: u32 = 256;

/// The limits that an entry, whose groups share so many bytes, breaks.
pub(super) fn broken(entry: &Entry, shared: u32) -> Vec<String> {
    let buffers = u32::try_from(entry.bindings.len()).unwrap_or(u32::MAX);
    let all = [
        ("invocations in a group", entry.threads, MOST_THREADS),
        ("bytes shared by a group", shared, MOST_SHARED),
        ("storage buffers", buffers, MOST_BUFFERS),
        ("bytes of parameters", entry.params, MOST_PARAMS),
    ];
    let over = all.into_iter().filter(|(_, count, most)| count > most);
    over.map(|(what, count, most)| format!("`{}`: {count} {what}, {most} at most", entry.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(threads: u32, params: u32, buffers: u32) -> Entry {
        let bindings = (1..=buffers).map(|binding| (binding, false)).collect();
        let (file, name) = ("k".into(), "main".into());
        Entry { file, name, threads, params, bindings, overrides: Vec::new() }
    }

    #[test]
    fn what_lies_on_a_limit_passes_and_what_is_over_is_told() {
        assert!(broken(&entry(256, 256, 8), 16 << 10).is_empty());
        let told = broken(&entry(257, 260, 9), (16 << 10) + 4);
        assert_eq!(told.len(), 4, "{told:?}");
        assert_eq!(told[0], "`main`: 257 invocations in a group, 256 at most");
    }
}
