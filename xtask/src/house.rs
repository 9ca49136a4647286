//! The house: which crate lives on which floor, and what the lower floors may import. Tidy and CI read the same table.

/// Floors from the ground; imports only go down.
pub(crate) const FLOORS: [&[&str]; 4] = [
    &["binade-core"],
    &["binade-cast-policy", "binade-autocast", "binade-grad-scaler", "binade-master-weights"],
    &[
        "binade-checkpoint",
        "binade-cpu",
        "binade-cuda",
        "binade-conformance",
        "binade-gpu",
        "binade-interchange",
        "binade-model-parallel",
        "binade-ptx",
        "binade-ranks",
        "binade-wgpu",
    ],
    &["binade", "binade-burn", "binade-candle", "binade-mpi", "binade-tape"],
];

/// The floor of what only uses: examples, tests, benchmarks. Nothing below imports it.
pub(crate) const TOP: usize = FLOORS.len();

/// Crates on [`TOP`] though their folder is a crate's.
pub(crate) const ON_TOP: [&str; 1] = ["binade-bench"];

/// Imports within one floor: the importer first.
pub(crate) const SIDEWAYS: [(&str, &str); 8] = [
    // Autocast asks a policy at every operation.
    ("binade-autocast", "binade-cast-policy"),
    // Each rank writes a file of its own.
    ("binade-checkpoint", "binade-ranks"),
    // A GPU backend is a driver and its kernels under a host that all share.
    ("binade-cuda", "binade-gpu"),
    ("binade-wgpu", "binade-gpu"),
    // Their training steps are measured.
    ("binade-bench", "binade-example-digits"),
    ("binade-bench", "binade-example-gpt"),
    // It is the same program on processes.
    ("binade-example-mpi", "binade-example-digits"),
    // Its tensor is one of the ways.
    ("binade-example-five-ways", "binade-example-your-own-tensor"),
];

/// The data and programs that all on [`TOP`] share.
pub(crate) const SHARED: &str = "binade-example-shared";

/// Folders, with all in them, of packages that are no members of the workspace.
pub(crate) const OUTSIDE: [&str; 3] = [
    // A member's features are united into everyone's build; the stage `features` checks it.
    "tests/features",
    // A user's release profile is cargo's own; the stage `vectors` builds it and looks at its instructions.
    "tests/release_build",
    // Nightly builds it with a sanitizer in everything; the stage `fuzz` runs it.
    "tests/fuzz",
];

/// Members that are no default members, since their frameworks take longer to build than the rest of the workspace: the stage
/// `adapters` builds and tests them.
pub(crate) const ADAPTERS: [&str; 4] =
    ["binade-burn", "binade-candle", "binade-example-burn", "binade-example-candle"];

/// Members that are no default members, since they build with a library that few machines have, on Linux only. Where it is installed
/// the stages `clippy`, `docs` and `tests` have them too.
pub(crate) const ENGINES: [&str; 2] = ["binade-mpi", "binade-example-mpi"];

/// Modules and folders that may hold `unsafe`; everything else denies it.
pub(crate) const UNSAFE_ALLOWED: [&str; 18] = [
    // candle's memory, which it lends only behind a lock, and programs that promise to leave it where it is.
    "crates/binade-candle/src/cuda/memory",
    "tests/features/src/candle",
    "tests/features/tests/candle",
    "crates/binade-cpu/src/simd",
    // Instructions of processors.
    "crates/binade-cpu/src/product/tile",
    // Memory that is not written yet.
    "crates/binade-cpu/src/parallel/filled",
    // Kernels take addresses, and memory comes unset.
    "crates/binade-cuda/src/launch",
    // Memory of other programs, of which an address or a C structure tells.
    "crates/binade-cuda/src/adopt/raw",
    "crates/binade-cuda/src/adopt/dlpack",
    "crates/binade-cuda/tests/device/adopt_raw",
    // C libraries, whose functions take addresses.
    "crates/binade-cuda/src/library/lt",
    "crates/binade-cuda/src/library/dnn/api",
    "crates/binade-cuda/src/library/nccl/api",
    // A stranger's kernel that fails.
    "crates/binade-cuda/tests/lost",
    // MPI's C interface.
    "crates/binade-mpi/src/raw",
    // The sum of MPI's own, with which averages are compared.
    "crates/binade-mpi/examples/exchange/allreduce",
    // The driver's C interface, and a test that calls it as C and cudarc do.
    "crates/binade-ptx/src/driver",
    "crates/binade-ptx/tests/driver",
];

/// The floor that the table gives `name`, if it has a row.
pub(crate) fn floor(name: &str) -> Option<usize> {
    let floor = FLOORS.iter().position(|names| names.contains(&name));
    floor.or_else(|| ON_TOP.contains(&name).then_some(TOP))
}

/// The crates that the stage `platforms` checks for Windows and macOS: all but [`ENGINES`], and [`ADAPTERS`], which have a slow stage.
pub(crate) fn portable() -> impl Iterator<Item = &'static str> {
    let crates = FLOORS.into_iter().flatten().copied();
    crates.filter(|name| !ENGINES.contains(name) && !ADAPTERS.contains(name))
}

/// The crates of floors 0 and 1: each must also build alone.
pub(crate) fn small_crates() -> impl Iterator<Item = &'static str> {
    FLOORS[..2].iter().copied().flatten().copied()
}
