//! Tests of the backend on a device: a GPU, or the interpreter in a GPU's place. Without either the tests are ignored, and say
//! so; if `BINADE_REQUIRE` names `cuda` or `ptx` they fail.
#![expect(
    clippy::unnecessary_wraps,
    reason = "one shape for all tests, those without a `?` among them"
)]

mod captures;
mod captures_beside;
mod captures_clones;
mod casts;
mod ceilings;
mod convolutions;
mod counted;
mod edges;
mod faults;
mod graphs;
mod graphs_joins;
mod handles;
mod library;
mod library_fastest;
mod library_no_tf32;
mod library_tf32;
mod model;
mod ops_products;
mod products;
mod replicas;
mod replicas_refusals;
mod replicas_steps;
#[path = "../../../../tests/device/mod.rs"]
mod shared;
mod support;
mod uploads;
mod windows;

use binade_cuda::Cuda;
use libtest_mimic::Arguments;
use shared::{Module, trials};

/// Tests of a device.
const ALL: [Module; 17] = [
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
    ("ops_products", ops_products::TESTS),
    ("uploads", uploads::TESTS),
    ("windows", windows::TESTS),
];

/// Tests of several devices.
const REPLICAS: [Module; 3] = [
    ("replicas", replicas::TESTS),
    ("replicas_refusals", replicas_refusals::TESTS),
    ("replicas_steps", replicas_steps::TESTS),
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

fn main() {
    let mut arguments = Arguments::from_args();
    // Tests share a device, and some count the host's work on it.
    arguments.test_threads = Some(1);
    let skip = support::absent();
    let unused = |name, by| skip.clone().or_else(|| support::absent_library(name, by));
    let all = [&ALL[..], &REPLICAS, &shared::TESTS].concat();
    let by_products = trials(&LIBRARY, unused("cublaslt", Cuda::products).as_deref());
    let by_convolutions = trials(&CUDNN, unused("cudnn", Cuda::convolutions).as_deref());
    let too_early = (!uploads::is_behind()).then(|| "BINADE_PTX_LAG is not above 1000".into());
    let in_time = skip.clone().or(too_early);
    let behind = trials(&[("uploads_behind", uploads::BEHIND)], in_time.as_deref());
    let trials = [trials(&all, skip.as_deref()), by_products, by_convolutions, behind];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit();
}
