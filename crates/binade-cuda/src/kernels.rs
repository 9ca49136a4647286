//! The kernels: where their PTX is, and what each entry takes. A test compares this with the PTX.

use crate::{
    launch::Param::{self, Address, Bytes, F32, U32, U64},
    ops,
    probe::Capability,
};
use lzma_rust2::LzmaReader;
use std::{
    collections::HashMap,
    io::{self, Read},
    sync::LazyLock,
};

/// An entry of a PTX module.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// The name of the file in `kernels/`.
    pub(crate) module: &'static str,
    pub(crate) params: &'static [Param],
}

impl Kernel {
    /// The module's text; empty, which no driver loads, where there is no such module.
    pub(crate) fn ptx(&self) -> &'static str {
        MODULES.get(self.module).copied().unwrap_or_default()
    }

    /// The least GPU that runs it, from its PTX.
    pub(crate) fn least(&self) -> Capability {
        let target = self.ptx().lines().find_map(|line| line.strip_prefix(".target sm_"));
        let number: i32 = target.and_then(|number| number.trim().parse().ok()).unwrap_or_default();
        (number / 10, number % 10)
    }
}

/// All modules by their names, unpacked once a process, when the first is loaded.
static MODULES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    // Empty only where the file is not what `cargo xtask kernels` has packed; a test reads every module.
    let text = unpacked(include_bytes!("../ptx/kernels.ptx.lzma")).unwrap_or_default().leak();
    text.split("//// ").filter_map(|module| module.split_once('\n')).collect()
});

/// The text of a packed file.
fn unpacked(packed: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    LzmaReader::new_mem_limit(packed, u32::MAX, None)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Threads of a block, as the kernels' `THREADS`.
pub(crate) const THREADS: u32 = 256;

/// Elements that a thread takes at a time, as the kernels' `GROUP`.
pub(crate) const GROUP: usize = 8;

/// Findings that one launch of `scale_update` takes, as its `MOST`.
pub(crate) const FINDINGS: usize = 64;

/// Bytes of its `Seen`.
pub(crate) const SEEN: usize = 12;

/// Rows, their count, the first chunk, elements of a chunk, constants, the verdict, what is owed, the counts of lost updates.
const STEP: &[Param] = &[Address, U32, U64, U64, Address, Address, Address, Address];

/// Rows, their count, elements of a chunk, the verdict.
const SCALED_F16: &[Param] = &[Address, U32, U64, Address];

pub(crate) const ACCUMULATE: Kernel = Kernel {
    name: "accumulate",
    module: "accumulate",
    params: &[Address, U32, U64, Address, Address],
};
pub(crate) const ACCUMULATE_MARK: Kernel =
    Kernel { name: "accumulate_mark", module: "accumulate", params: &[Address, U32, Address] };
pub(crate) const ADAM: Kernel = Kernel { name: "adam", module: "adam", params: STEP };
pub(crate) const AVERAGE: Kernel =
    Kernel { name: "average", module: "average", params: &[Address, Address, U32, U32, U64, U64] };
pub(crate) const CAST: Kernel =
    Kernel { name: "cast", module: "cast", params: &[Address, U32, Address, U32, U64, U32] };
pub(crate) const CAST_STOCHASTIC: Kernel = Kernel {
    name: "cast_stochastic",
    module: "cast",
    params: &[Address, U32, Address, U32, U64, U32, U64, U32, U32],
};
pub(crate) const CAST_SET: Kernel =
    Kernel { name: "cast_set", module: "cast", params: &[Address, U32, U64] };
pub(crate) const CLIP: Kernel = Kernel {
    name: "clip",
    module: "clip",
    params: &[Address, Address, Address, Address, U32, F32],
};
pub(crate) const CLIP_GROUPS: Kernel = Kernel {
    name: "clip_groups",
    module: "clip_groups",
    params: &[Address, U32, U64, U64, Address, U32, Address, Address, Address, Address, Address],
};
pub(crate) const IN_PLACE: Kernel =
    Kernel { name: "in_place", module: "ceiling", params: &[Address, U32] };
pub(crate) const L2NORM: Kernel = Kernel {
    name: "l2norm",
    module: "l2norm",
    params: &[Address, U32, U64, U64, Address, Address, Address],
};
pub(crate) const MATERIALISE: Kernel = Kernel {
    name: "materialise",
    module: "materialise",
    params: &[Address, U32, U64, Address, Address, F32],
};
pub(crate) const MERGE: Kernel =
    Kernel { name: "merge", module: "merge", params: &[Address, Address, Address, U32] };
pub(crate) const NOTHING: Kernel = Kernel { name: "nothing", module: "ceiling", params: &[] };
pub(crate) const PREPARE: Kernel = Kernel {
    name: "prepare",
    module: "prepare",
    params: &[Address, U32, Address, Address, Address, Address, Address],
};
pub(crate) const READ_ONLY: Kernel =
    Kernel { name: "read_only", module: "ceiling", params: &[Address, Address, U32] };
pub(crate) const SCALE: Kernel =
    Kernel { name: "scale", module: "scale", params: &[Address, U32, Address, U64, Address] };
pub(crate) const SCALED_F16_LARGEST: Kernel =
    Kernel { name: "scaled_f16_largest", module: "scaled_f16", params: SCALED_F16 };
pub(crate) const SCALED_F16_OPEN: Kernel =
    Kernel { name: "scaled_f16_open", module: "scaled_f16", params: SCALED_F16 };
pub(crate) const SCALED_F16_PACK: Kernel = Kernel {
    name: "scaled_f16_pack",
    module: "scaled_f16",
    params: &[Address, U32, U64, Address, Address, Address, Address],
};
pub(crate) const SCALE_UPDATE: Kernel = Kernel {
    name: "scale_update",
    module: "scale_update",
    params: &[
        Address,
        Address,
        Bytes(52),
        Bytes(8 * FINDINGS),
        U32,
        U32,
        Address,
        U32,
        Address,
        Address,
    ],
};
pub(crate) const SGD: Kernel = Kernel { name: "sgd", module: "sgd", params: STEP };
pub(crate) const UNSCALE: Kernel = Kernel {
    name: "unscale",
    module: "unscale",
    params: &[Address, U32, U64, U64, U64, Address, Address, Address, Address, Address],
};

/// Every kernel of this crate: those of training, and the operations' own.
pub(crate) fn all() -> impl Iterator<Item = &'static Kernel> {
    ops::KERNELS.iter().copied().flatten().chain(ALL).copied()
}

/// Those of training.
const ALL: &[&Kernel] = &[
    &ACCUMULATE,
    &ACCUMULATE_MARK,
    &ADAM,
    &AVERAGE,
    &CAST,
    &CAST_SET,
    &CAST_STOCHASTIC,
    &CLIP,
    &CLIP_GROUPS,
    &IN_PLACE,
    &L2NORM,
    &MATERIALISE,
    &MERGE,
    &NOTHING,
    &PREPARE,
    &READ_ONLY,
    &SCALE,
    &SCALE_UPDATE,
    &SCALED_F16_LARGEST,
    &SCALED_F16_OPEN,
    &SCALED_F16_PACK,
    &SGD,
    &UNSCALE,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of `entry`, from the PTX: `.param .u64 …`, `.param .align 8 .b8 name[24]`.
    fn declared(ptx: &str, entry: &str) -> Option<Vec<Param>> {
        let (_, rest) = ptx.split_once(&format!(".entry {entry}("))?;
        let (list, _) = rest.split_once(')')?;
        let params = list.split(',').map(str::trim).filter(|param| !param.is_empty());
        params.map(one).collect()
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

    /// PTX does not tell an address from a length.
    fn as_declared(param: &Param) -> Param {
        if *param == Address { U64 } else { *param }
    }

    #[test]
    fn every_launcher_passes_what_its_entry_takes() {
        for kernel in all() {
            let declared = declared(kernel.ptx(), kernel.name);
            let passed = kernel.params.iter().map(as_declared).collect();
            assert_eq!(declared, Some(passed), "{}", kernel.name);
        }
    }

    #[test]
    fn every_entry_has_a_launcher() {
        for kernel in all() {
            let entries = kernel.ptx().matches(".entry ").count();
            let launchers = all().filter(|other| other.module == kernel.module).count();
            assert_eq!(entries, launchers, "the PTX of {}", kernel.module);
        }
    }
}
