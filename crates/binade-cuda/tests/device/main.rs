//! Tests of the backend on a device: a GPU, or the interpreter in a GPU's place. Without either the tests are ignored, and say
//! so; if `BINADE_REQUIRE` names `cuda` or `ptx` they fail.
#![expect(
    clippy::unnecessary_wraps,
    reason = "one shape for all tests, those without a `?` among them"
)]

mod added_rules;
mod adopt;
mod adopt_raw;
mod adopt_training;
mod bf16_state;
mod captures;
mod captures_beside;
mod captures_clones;
mod casts;
mod ceilings;
mod convolutions;
mod counted;
mod edges;
mod engines;
mod engines_kit;
mod engines_refusals;
mod engines_steps;
mod faults;
mod graphs;
mod graphs_joins;
mod handles;
mod library;
mod library_fastest;
mod library_no_tf32;
mod library_tf32;
mod model;
mod model_parallel;
mod multi_tensor;
#[cfg(feature = "nccl")]
mod nccl;
mod ops_products;
mod peers;
mod products;
#[path = "../../../../tests/device/mod.rs"]
mod shared;
mod sparse;
mod support;
#[path = "../../../binade-model-parallel/tests/training.rs"]
mod training;
mod uploads;
mod windows;

use binade_cuda::Cuda;
use libtest_mimic::{Arguments, Trial};
use shared::{Module, trials};

/// Tests of a device.
const ALL: [Module; 25] = [
    ("added_rules", added_rules::TESTS),
    ("adopt", adopt::TESTS),
    ("adopt_raw", adopt_raw::TESTS),
    ("adopt_training", adopt_training::TESTS),
    ("bf16_state", bf16_state::TESTS),
    ("captures", captures::TESTS),
    ("captures_beside", captures_beside::TESTS),
    ("captures_clones", captures_clones::TESTS),
    ("casts", casts::TESTS),
    ("ceilings", ceilings::TESTS),
    ("convolutions_or_products", convolutions::EITHER),
    ("counted", counted::TESTS),
    ("edges", edges::TESTS),
    ("faults", faults::TESTS),
    ("graphs", graphs::TESTS),
    ("graphs_joins", graphs_joins::TESTS),
    ("handles", handles::TESTS),
    ("library_or_kernels", library::EITHER),
    ("library_no_tf32", library_no_tf32::TESTS),
    ("model_parallel", model_parallel::TESTS),
    ("multi_tensor", multi_tensor::TESTS),
    ("ops_products", ops_products::TESTS),
    ("sparse", sparse::TESTS),
    ("uploads", uploads::TESTS),
    ("windows", windows::TESTS),
];

/// Tests of ranks that copy from each other's devices.
const PEERS: [Module; 5] = [
    ("peers", engines_steps::PEERS),
    ("peers_alone", engines_kit::ALONE),
    ("peers_kit", engines_kit::PEERS),
    ("peers_refusals", engines_refusals::PEERS),
    ("peers_copies", peers::TESTS),
];

/// Tests of cuBLASLt.
const LIBRARY: [Module; 3] = [
    ("library", library::TESTS),
    ("library_fastest", library_fastest::TESTS),
    ("library_tf32", library_tf32::TESTS),
];

/// Tests of cuDNN, if it is built in.
#[cfg(feature = "cudnn")]
const CUDNN: [Module; 1] = [("convolutions", convolutions::TESTS)];
#[cfg(not(feature = "cudnn"))]
const CUDNN: [Module; 0] = [];

/// Tests of NCCL, if it is built in: with the library, and without it.
#[cfg(feature = "nccl")]
fn nccl(skip: Option<&str>) -> Vec<Trial> {
    const NCCL: [Module; 4] = [
        ("nccl", engines_steps::NCCL),
        ("nccl_kit", engines_kit::NCCL),
        ("nccl_refusals", engines_refusals::NCCL),
        ("nccl_only", nccl::TESTS),
    ];
    let missing = binade_cuda::Communicator::nccl_id().err().map(|error| error.to_string());
    let is_there = missing.is_none().then_some("NCCL is installed");
    let skip = skip.map(ToOwned::to_owned);
    let missing = missing.filter(|_| !support::is_required(&["nccl"]));
    let absent = trials(&[("nccl_absent", nccl::ABSENT)], is_there);
    [trials(&NCCL, skip.or(missing).as_deref()), absent].into_iter().flatten().collect()
}
#[cfg(not(feature = "nccl"))]
fn nccl(_skip: Option<&str>) -> Vec<Trial> {
    Vec::new()
}

fn main() {
    let mut arguments = Arguments::from_args();
    // Tests share a device, and some count the host's work on it.
    arguments.test_threads = Some(1);
    let skip = support::absent();
    let unused = |name, by| skip.clone().or_else(|| support::absent_library(name, by));
    let all = [&ALL[..], &PEERS, &shared::TESTS].concat();
    let by_products = trials(&LIBRARY, unused("cublaslt", Cuda::products).as_deref());
    let by_convolutions = trials(&CUDNN, unused("cudnn", Cuda::convolutions).as_deref());
    let too_early = (!uploads::is_behind()).then(|| "BINADE_PTX_LAG is not above 1000".into());
    let in_time = skip.clone().or(too_early);
    let behind = trials(&[("uploads_behind", uploads::BEHIND)], in_time.as_deref());
    let trials = [
        trials(&all, skip.as_deref()),
        by_products,
        by_convolutions,
        behind,
        nccl(skip.as_deref()),
    ];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit();
}
