//! The kernels: where their PTX is, and what each entry takes. A test compares this with the PTX.

use crate::{
    launch::Param::{self, Address, Bytes, F32, U32, U64},
    ops,
    probe::Capability,
};

/// An entry of a PTX module.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    pub(crate) ptx: &'static str,
    pub(crate) params: &'static [Param],
}

impl Kernel {
    /// The least GPU that runs it, from its PTX.
    pub(crate) fn least(&self) -> Capability {
        let target = self.ptx.lines().find_map(|line| line.strip_prefix(".target sm_"));
        let number: i32 = target.and_then(|number| number.trim().parse().ok()).unwrap_or_default();
        (number / 10, number % 10)
    }
}

macro_rules! ptx {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/ptx/", $name, ".ptx"))
    };
}
pub(crate) use ptx;

/// Threads of a block, as the kernels' `THREADS`.
pub(crate) const THREADS: u32 = 256;

/// Elements that a thread takes at a time, as the kernels' `GROUP`.
pub(crate) const GROUP: usize = 8;

/// Findings that one launch of `scale_update` takes, as its `MOST`.
pub(crate) const FINDINGS: usize = 64;

/// Bytes of its `Seen`.
pub(crate) const SEEN: usize = 12;

/// Rows, their count, the first chunk, elements of a chunk, constants, the verdict, what is owed.
const STEP: &[Param] = &[Address, U32, U64, U64, Address, Address, Address];

/// The same, and the counts of lost updates.
const STEP_COUNTED: &[Param] = &[Address, U32, U64, U64, Address, Address, Address, Address];

/// Rows, their count, elements of a chunk, the verdict.
const SCALED_F16: &[Param] = &[Address, U32, U64, Address];

pub(crate) const ACCUMULATE: Kernel = Kernel {
    name: "accumulate",
    ptx: ptx!("accumulate"),
    params: &[Address, U32, U64, Address, Address],
};
pub(crate) const ACCUMULATE_MARK: Kernel =
    Kernel { name: "accumulate_mark", ptx: ptx!("accumulate"), params: &[Address, U32, Address] };
pub(crate) const ADAM: Kernel = Kernel { name: "adam", ptx: ptx!("adam"), params: STEP };
pub(crate) const ADAM_COUNTED: Kernel =
    Kernel { name: "adam_counted", ptx: ptx!("counted"), params: STEP_COUNTED };
pub(crate) const AVERAGE: Kernel = Kernel {
    name: "average",
    ptx: ptx!("average"),
    params: &[Address, Address, U32, U32, U64, U64],
};
pub(crate) const CAST: Kernel =
    Kernel { name: "cast", ptx: ptx!("cast"), params: &[Address, U32, Address, U32, U64, U32] };
pub(crate) const CAST_STOCHASTIC: Kernel = Kernel {
    name: "cast_stochastic",
    ptx: ptx!("cast"),
    params: &[Address, U32, Address, U32, U64, U32, U64, U32, U32],
};
pub(crate) const CAST_SET: Kernel =
    Kernel { name: "cast_set", ptx: ptx!("cast"), params: &[Address, U32, U64] };
pub(crate) const CLIP: Kernel = Kernel {
    name: "clip",
    ptx: ptx!("clip"),
    params: &[Address, Address, Address, Address, U32, F32],
};
pub(crate) const CLIP_GROUPS: Kernel = Kernel {
    name: "clip_groups",
    ptx: ptx!("clip_groups"),
    params: &[Address, U32, U64, U64, Address, U32, Address, Address, Address, Address, Address],
};
pub(crate) const IN_PLACE: Kernel =
    Kernel { name: "in_place", ptx: ptx!("ceiling"), params: &[Address, U32] };
pub(crate) const L2NORM: Kernel = Kernel {
    name: "l2norm",
    ptx: ptx!("l2norm"),
    params: &[Address, U32, U64, U64, Address, Address, Address],
};
pub(crate) const MATERIALISE: Kernel = Kernel {
    name: "materialise",
    ptx: ptx!("materialise"),
    params: &[Address, U32, U64, Address, Address, F32],
};
pub(crate) const MERGE: Kernel =
    Kernel { name: "merge", ptx: ptx!("merge"), params: &[Address, Address, Address, U32] };
pub(crate) const NOTHING: Kernel = Kernel { name: "nothing", ptx: ptx!("ceiling"), params: &[] };
pub(crate) const PREPARE: Kernel = Kernel {
    name: "prepare",
    ptx: ptx!("prepare"),
    params: &[Address, U32, Address, Address, Address, Address, Address],
};
pub(crate) const READ_ONLY: Kernel =
    Kernel { name: "read_only", ptx: ptx!("ceiling"), params: &[Address, Address, U32] };
pub(crate) const SCALE: Kernel =
    Kernel { name: "scale", ptx: ptx!("scale"), params: &[Address, U32, Address, U64, Address] };
pub(crate) const SCALED_F16_LARGEST: Kernel =
    Kernel { name: "scaled_f16_largest", ptx: ptx!("scaled_f16"), params: SCALED_F16 };
pub(crate) const SCALED_F16_OPEN: Kernel =
    Kernel { name: "scaled_f16_open", ptx: ptx!("scaled_f16"), params: SCALED_F16 };
pub(crate) const SCALED_F16_PACK: Kernel = Kernel {
    name: "scaled_f16_pack",
    ptx: ptx!("scaled_f16"),
    params: &[Address, U32, U64, Address, Address, Address, Address],
};
pub(crate) const SCALE_UPDATE: Kernel = Kernel {
    name: "scale_update",
    ptx: ptx!("scale_update"),
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
pub(crate) const SGD: Kernel = Kernel { name: "sgd", ptx: ptx!("sgd"), params: STEP };
pub(crate) const SGD_COUNTED: Kernel =
    Kernel { name: "sgd_counted", ptx: ptx!("counted"), params: STEP_COUNTED };
pub(crate) const UNSCALE: Kernel = Kernel {
    name: "unscale",
    ptx: ptx!("unscale"),
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
    &ADAM_COUNTED,
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
    &SGD_COUNTED,
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
            let declared = declared(kernel.ptx, kernel.name);
            let passed = kernel.params.iter().map(as_declared).collect();
            assert_eq!(declared, Some(passed), "{}", kernel.name);
        }
    }

    #[test]
    fn every_entry_has_a_launcher() {
        for kernel in all() {
            let entries = kernel.ptx.matches(".entry ").count();
            let launchers = all().filter(|other| other.ptx == kernel.ptx).count();
            assert_eq!(entries, launchers, "the PTX of {}", kernel.name);
        }
    }
}
