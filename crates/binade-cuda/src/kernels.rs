//! The kernels: their PTX, and the parameters of each entry, as the PTX declares them.

mod added;

pub use added::add_rule;

use crate::{
    CudaError,
    launch::Param::{self, Bytes, F32, U32, U64},
    probe::Capability,
};
use binade_master_weights::UpdateRule;
use std::{
    collections::{BTreeMap, HashMap},
    env, fs,
    path::Path,
    sync::LazyLock,
};

/// Declaration of an entry.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// Name of the file in `kernels/`.
    pub(crate) module: &'static str,
    /// Parameters in order; an address is a `U64`, as PTX does not tell it from a length.
    pub(crate) params: Vec<Param>,
}

/// Texts of modules by their names.
type Modules = HashMap<&'static str, &'static str>;

/// Declarations by the names of the entries.
type Entries = BTreeMap<&'static str, Declaration>;

const PACKED: &[u8] = include_bytes!("../ptx/kernels.ptx.lzma");

/// Environment variable with the name of a file of other kernels, such as those of an older commit, to compare the two. They are as trusted as those
/// of this build. Modules missing from the file are those of this build.
const OTHER: &str = "BINADE_CUDA_PTX";

/// All modules, unpacked once a process, when the first is loaded.
static MODULES: LazyLock<Result<Modules, CudaError>> = LazyLock::new(|| match env::var_os(OTHER) {
    Some(file) => other(file.as_ref()),
    None => Ok(binade_gpu::unpack_kernels(PACKED)),
});

static ENTRIES: LazyLock<Entries> =
    LazyLock::new(|| MODULES.as_ref().map(entries).unwrap_or_default());

/// Checks that the file that [`OTHER`] names, if it does, replaces the kernels of this build.
///
/// # Errors
///
/// [`CudaError::Kernels`] where the file is unreadable, holds no kernels, or has one with other parameters.
pub(crate) fn check() -> Result<(), CudaError> {
    if env::var_os(OTHER).is_none() {
        return Ok(());
    }
    MODULES.as_ref().map(drop).map_err(CudaError::clone)
}

/// Returns this build's modules, replaced by those of a file; each entry must have the same parameters.
fn other(file: &Path) -> Result<Modules, CudaError> {
    let failed = |cause| CudaError::Kernels { file: file.display().to_string(), cause };
    let packed = fs::read(file).map_err(|error| failed(error.to_string()))?;
    let theirs = binade_gpu::unpack_kernels(packed.leak());
    let mut modules = binade_gpu::unpack_kernels(PACKED);
    let ours = entries(&modules);
    if theirs.is_empty() {
        return Err(failed("it holds no kernels".to_owned()));
    }
    modules.extend(theirs);
    match lacking(&ours, &entries(&modules)) {
        Some(kernel) => {
            Err(failed(format!("no kernel `{kernel}` with the parameters of this build's")))
        }
        None => Ok(modules),
    }
}

/// Returns the first of our entries that is missing from theirs, or has different parameters there.
fn lacking(ours: &Entries, theirs: &Entries) -> Option<&'static str> {
    let differs = |(name, entry): &(&&str, &Declaration)| {
        theirs.get(**name).is_none_or(|it| it.params != entry.params)
    };
    ours.iter().find(differs).map(|(name, _)| *name)
}

/// Returns the declarations of all entries of these modules, whose texts may live shorter than the process.
fn entries<'p>(modules: &HashMap<&'static str, &'p str>) -> BTreeMap<&'p str, Declaration> {
    let entries = |(module, ptx): (&&'static str, &&'p str)| {
        let (module, ptx) = (*module, *ptx);
        let entries = ptx.split(".visible .entry ").skip(1);
        entries.filter_map(move |entry| {
            let (name, rest) = entry.split_once('(')?;
            let (params, _) = rest.split_once(')')?;
            Some((name, Declaration { module, params: parameters(params)? }))
        })
    };
    modules.iter().flat_map(entries).collect()
}

/// Returns the declaration of a kernel, or `None` if there is no such entry.
pub(crate) fn declaration(kernel: &str) -> Option<&'static Declaration> {
    ENTRIES.get(kernel).or_else(|| added::entry(kernel).map(|entry| &entry.declared))
}

/// Returns true if `rule` is of the program's own and the program has added its kernel.
pub(crate) fn is_added(rule: &UpdateRule) -> bool {
    matches!(rule, UpdateRule::Custom(_)) && added::entry(rule.name()).is_some()
}

/// Returns the text of a kernel's module; empty, which no driver loads, if there is no such entry.
pub(crate) fn ptx(kernel: &str) -> &'static str {
    let text = |entry: &Declaration| MODULES.as_ref().ok()?.get(entry.module).copied();
    let added = || added::entry(kernel).map(|entry| entry.ptx);
    ENTRIES.get(kernel).and_then(text).or_else(added).unwrap_or_default()
}

/// Returns the least GPU that runs a kernel, from its PTX.
pub(crate) fn least(kernel: &str) -> Capability {
    let target = ptx(kernel).lines().find_map(|line| line.strip_prefix(".target sm_"));
    let number: i32 = target.and_then(|number| number.trim().parse().ok()).unwrap_or_default();
    (number / 10, number % 10)
}

/// Returns the names of all kernels of this crate, in alphabetical order.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    ENTRIES.keys().copied()
}

/// Reads an entry's parameters: `.param .u64 …`, `.param .align 8 .b8 name[24]`.
fn parameters(list: &str) -> Option<Vec<Param>> {
    list.split(',').map(str::trim).filter(|param| !param.is_empty()).map(parameter).collect()
}

fn parameter(param: &str) -> Option<Param> {
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

/// Elements that a thread processes at a time; equals the kernels' `GROUP`.
pub(crate) const GROUP: usize = 8;

/// Maximum number of found-inf results for one launch of `scale_update`; equals its `MOST`.
pub(crate) const FINDINGS: usize = 64;

/// Bytes of its `UpdateInputs`.
pub(crate) const SEEN: usize = 12;

pub(crate) const ACCUMULATE: &str = "accumulate";
pub(crate) const ACCUMULATE_MARK: &str = "accumulate_mark";
pub(crate) const AVERAGE: &str = "average";
pub(crate) const AXPBY: &str = "axpby";
pub(crate) const CAST: &str = "cast";
pub(crate) const CAST_STOCHASTIC: &str = "cast_stochastic";
pub(crate) const CAST_SET: &str = "cast_set";
pub(crate) const CLIP: &str = "clip";
pub(crate) const CLIP_GROUPS: &str = "clip_groups";
pub(crate) const IN_PLACE: &str = "in_place";
pub(crate) const JOIN_SIZES: &str = "join_sizes";
pub(crate) const MATERIALISE: &str = "materialise";
pub(crate) const MERGE: &str = "merge";
pub(crate) const NORMS: &str = "norms";
pub(crate) const NOTHING: &str = "nothing";
pub(crate) const PACK: &str = "pack";
pub(crate) const PREPARE: &str = "prepare";
pub(crate) const RANK_HEADER: &str = "rank_header";
pub(crate) const RANK_JOIN: &str = "rank_join";
pub(crate) const RANK_PRESENCE: &str = "rank_presence";
pub(crate) const READ_ONLY: &str = "read_only";
pub(crate) const SCALE: &str = "scale";
pub(crate) const SCALED_F16_LARGEST: &str = "scaled_f16_largest";
pub(crate) const SCALED_F16_OPEN: &str = "scaled_f16_open";
pub(crate) const SCALED_F16_PACK: &str = "scaled_f16_pack";
pub(crate) const SCALE_UPDATE: &str = "scale_update";
pub(crate) const UNSCALE: &str = "unscale";
pub(crate) const WHOLE_TENSORS: &str = "whole_tensors";
pub(crate) const WHOLE_TENSORS_MEASURE: &str = "whole_tensors_measure";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_read_with_its_parameters() {
        let entries: usize =
            MODULES.as_ref().unwrap().values().map(|ptx| ptx.matches(".entry ").count()).sum();
        assert_eq!(all().count(), entries);
        assert!(entries > 80, "{entries}");
        let params = |name| declaration(name).map(|entry| entry.params.clone());
        assert_eq!(params("merge"), Some(vec![U64, U64, U64, U32]));
        assert_eq!(params("cast_set"), Some(vec![U64, U32, U64]));
        assert_eq!(params("nothing"), Some(vec![]));
        assert!(params("scale_update").is_some_and(|all| all.contains(&Bytes(52))));
        assert_eq!(params("clip").and_then(|all| all.last().copied()), Some(F32));
    }

    #[test]
    fn a_file_replaces_the_kernels_that_it_has() {
        let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx");
        assert_eq!(&other(&ptx.join("kernels.ptx.lzma")).unwrap(), MODULES.as_ref().unwrap());
        let failed = |name| other(&ptx.join(name)).unwrap_err().to_string();
        let (gone, wrong) = (failed("gone.lzma"), failed("MANIFEST"));
        assert!(gone.contains("gone.lzma: No such file"), "{gone}");
        assert!(wrong.contains("MANIFEST: it holds no kernels"), "{wrong}");
        let mut theirs = entries(MODULES.as_ref().unwrap());
        assert_eq!(lacking(&ENTRIES, &theirs), None);
        theirs.get_mut("merge").unwrap().params.pop();
        assert_eq!(lacking(&ENTRIES, &theirs), Some("merge"));
    }

    #[test]
    fn every_entry_is_launched() {
        let never = binade_gpu::testing::never_launched(env!("CARGO_MANIFEST_DIR"), all());
        assert_eq!(never.unwrap(), Vec::<&str>::new());
    }
}
