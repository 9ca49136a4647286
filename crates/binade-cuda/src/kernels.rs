//! The kernels: their PTX, and the parameters of each entry, as the PTX declares them.

use crate::{
    Error,
    launch::{
        Grid,
        Param::{self, Bytes, F32, U32, U64},
    },
    probe::Capability,
};
use binade_core::DType;
use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

/// Name of an entry of a PTX module.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
}

/// Declaration of an entry.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// Name of the file in `kernels/`.
    pub(crate) module: &'static str,
    /// Parameters in order; an address is a `U64`, as PTX does not tell it from a length.
    pub(crate) params: Vec<Param>,
}

/// All modules by their names, unpacked once a process, when the first is loaded.
static MODULES: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| binade_gpu::unpack_kernels(include_bytes!("../ptx/kernels.ptx.lzma")));

/// All entries by their names.
static ENTRIES: LazyLock<BTreeMap<&str, Declaration>> = LazyLock::new(|| {
    let entries = |(module, ptx): (&&'static str, &&'static str)| {
        let module = *module;
        let entries = ptx.split(".visible .entry ").skip(1);
        entries.filter_map(move |entry| {
            let (name, rest) = entry.split_once('(')?;
            let (params, _) = rest.split_once(')')?;
            Some((name, Declaration { module, params: declared(params)? }))
        })
    };
    MODULES.iter().flat_map(entries).collect()
});

impl Kernel {
    pub(crate) const fn of(name: &'static str) -> Self {
        Self { name }
    }

    /// Returns the declaration, or `None` if there is no such entry.
    pub(crate) fn declared(self) -> Option<&'static Declaration> {
        ENTRIES.get(self.name)
    }

    /// Returns the module's text; empty, which no driver loads, if there is no such entry.
    pub(crate) fn ptx(self) -> &'static str {
        self.declared().and_then(|entry| MODULES.get(entry.module).copied()).unwrap_or_default()
    }

    /// Returns the least GPU that runs it, from its PTX.
    pub(crate) fn least(self) -> Capability {
        let target = self.ptx().lines().find_map(|line| line.strip_prefix(".target sm_"));
        let number: i32 = target.and_then(|number| number.trim().parse().ok()).unwrap_or_default();
        (number / 10, number % 10)
    }
}

impl From<&Kernel> for Kernel {
    fn from(kernel: &Kernel) -> Self {
        *kernel
    }
}

impl From<&'static str> for Kernel {
    fn from(name: &'static str) -> Self {
        Self::of(name)
    }
}

/// Every kernel of this crate, in the order of their names.
pub(crate) fn all() -> impl Iterator<Item = Kernel> {
    ENTRIES.keys().copied().map(Kernel::of)
}

/// Reads an entry's parameters: `.param .u64 …`, `.param .align 8 .b8 name[24]`.
fn declared(params: &str) -> Option<Vec<Param>> {
    params.split(',').map(str::trim).filter(|param| !param.is_empty()).map(one).collect()
}

fn one(param: &str) -> Option<Param> {
    let words: Vec<&str> = param.split_whitespace().collect();
    let of = |kind: &str| words.contains(&kind);
    if of(".b8") {
        let (_, bytes) = words.last()?.split_once('[')?;
        return Some(Bytes(bytes.trim_end_matches(']').parse().ok()?));
    }
    match (of(".u64"), of(".u32"), of(".f32")) {
        (true, ..) => Some(U64),
        (_, true, _) => Some(U32),
        (.., true) => Some(F32),
        _ => None,
    }
}

/// Threads of a block, as the kernels' `THREADS`.
pub(crate) const THREADS: u32 = 256;

/// Elements that a thread takes at a time, as the kernels' `GROUP`.
pub(crate) const GROUP: usize = 8;

/// Findings that one launch of `scale_update` takes, as its `MOST`.
pub(crate) const FINDINGS: usize = 64;

/// Bytes of its `UpdateInputs`.
pub(crate) const SEEN: usize = 12;

/// Blocks beyond which a grid strides: enough to fill any GPU several times over.
const MOST_BLOCKS: u64 = 4096;

/// A grid that strides over groups of so many elements.
pub(crate) fn elementwise(elements: usize) -> Grid {
    let blocks = (elements.div_ceil(GROUP) as u64).div_ceil(THREADS.into());
    let blocks = u32::try_from(blocks.clamp(1, MOST_BLOCKS)).unwrap_or(1);
    Grid { blocks, threads: THREADS }
}

/// The number that kernels know an element type by; `what` cannot be done with any other.
pub(crate) fn code(what: &'static str, dtype: DType) -> Result<u32, Error> {
    match dtype {
        DType::BF16 => Ok(0),
        DType::F16 => Ok(1),
        DType::F32 => Ok(2),
        DType::E4M3 => Ok(3),
        DType::E5M2 => Ok(4),
        _ => Err(Error::Unsupported { what, dtype }),
    }
}

pub(crate) const ACCUMULATE: Kernel = Kernel::of("accumulate");
pub(crate) const ACCUMULATE_MARK: Kernel = Kernel::of("accumulate_mark");
pub(crate) const AVERAGE: Kernel = Kernel::of("average");
pub(crate) const CAST: Kernel = Kernel::of("cast");
pub(crate) const CAST_STOCHASTIC: Kernel = Kernel::of("cast_stochastic");
pub(crate) const CAST_SET: Kernel = Kernel::of("cast_set");
pub(crate) const CLIP: Kernel = Kernel::of("clip");
pub(crate) const CLIP_GROUPS: Kernel = Kernel::of("clip_groups");
pub(crate) const IN_PLACE: Kernel = Kernel::of("in_place");
pub(crate) const L2NORM: Kernel = Kernel::of("l2norm");
pub(crate) const MATERIALISE: Kernel = Kernel::of("materialise");
pub(crate) const MERGE: Kernel = Kernel::of("merge");
pub(crate) const NOTHING: Kernel = Kernel::of("nothing");
pub(crate) const PREPARE: Kernel = Kernel::of("prepare");
pub(crate) const READ_ONLY: Kernel = Kernel::of("read_only");
pub(crate) const SCALE: Kernel = Kernel::of("scale");
pub(crate) const SCALED_F16_LARGEST: Kernel = Kernel::of("scaled_f16_largest");
pub(crate) const SCALED_F16_OPEN: Kernel = Kernel::of("scaled_f16_open");
pub(crate) const SCALED_F16_PACK: Kernel = Kernel::of("scaled_f16_pack");
pub(crate) const SCALE_UPDATE: Kernel = Kernel::of("scale_update");
pub(crate) const UNSCALE: Kernel = Kernel::of("unscale");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_read_with_its_parameters() {
        let entries: usize = MODULES.values().map(|ptx| ptx.matches(".entry ").count()).sum();
        assert_eq!(all().count(), entries);
        assert!(entries > 80, "{entries}");
        let params = |name| Kernel::of(name).declared().map(|entry| entry.params.clone());
        assert_eq!(params("merge"), Some(vec![U64, U64, U64, U32]));
        assert_eq!(params("cast_set"), Some(vec![U64, U32, U64]));
        assert_eq!(params("nothing"), Some(vec![]));
        assert!(params("scale_update").is_some_and(|all| all.contains(&Bytes(52))));
        assert_eq!(params("clip").and_then(|all| all.last().copied()), Some(F32));
    }

    #[test]
    fn every_entry_is_launched() {
        let names = all().map(|kernel| kernel.name);
        let never = binade_gpu::testing::never_launched(env!("CARGO_MANIFEST_DIR"), names);
        assert_eq!(never.unwrap(), Vec::<&str>::new());
    }
}
