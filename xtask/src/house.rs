//! The house: which crate lives on which floor, and what the lower floors may import. Tidy and CI read the same table.

/// Floors from the ground; imports only go down.
pub(crate) const FLOORS: [&[&str]; 4] = [
    &["binade-core"],
    &[
        "binade-cast-policy",
        "binade-autocast",
        "binade-grad-scaler",
        "binade-master-weights",
        "binade-ops",
    ],
    &[
        "binade-checkpoint",
        "binade-cpu",
        "binade-deferred",
        "binade-cuda",
        "binade-conformance",
        "binade-interchange",
        "binade-ptx",
        "binade-wgpu",
    ],
    &["binade", "binade-burn", "binade-candle", "binade-tape"],
];

/// The floor of what only uses: examples, tests, benchmarks. Nothing below imports it.
pub(crate) const TOP: usize = FLOORS.len();

/// What stands on [`TOP`] though its folder is a crate's.
pub(crate) const ON_TOP: [&str; 1] = ["binade-bench"];

/// Imports within one floor: the importer first.
pub(crate) const SIDEWAYS: [(&str, &str); 8] = [
    // Autocast asks a policy at every operation.
    ("binade-autocast", "binade-cast-policy"),
    // The late device is the CPU device behind a queue.
    ("binade-deferred", "binade-cpu"),
    // The same digits, learned in several places.
    ("binade-example-digits", "binade-example-shared"),
    ("binade-example-five-ways", "binade-example-shared"),
    ("binade-example-your-own-tensor", "binade-example-shared"),
    ("binade-example-candle", "binade-example-shared"),
    ("binade-example-burn", "binade-example-shared"),
    // Its tensor is one of the ways.
    ("binade-example-five-ways", "binade-example-your-own-tensor"),
];

/// Why newcomers' crates are no members.
const NEWCOMERS: &str =
    "newcomers' crates have no dev feature of a neighbour's; the stage `adoption` tests them";

/// Packages that are no members of the workspace, and why.
pub(crate) const OUTSIDE: [(&str, &str); 10] = [
    (
        "tests/features",
        "a member's features are united into everyone's build; the stage `features` checks it",
    ),
    (
        "tests/own_tensor",
        "a stranger's crate has no dev feature of a neighbour's; `cargo xtask packages` tests it",
    ),
    (
        "tests/release_build",
        "a user's release profile is cargo's own; the stage `vectors` builds it and looks at its instructions",
    ),
    ("tests/adoption", NEWCOMERS),
    ("tests/adoption/burn_transformer", NEWCOMERS),
    ("tests/adoption/candle_gpt", NEWCOMERS),
    ("tests/adoption/mistakes", NEWCOMERS),
    ("tests/adoption/scaler_alone", NEWCOMERS),
    ("tests/adoption/strided_rnn", NEWCOMERS),
    ("tests/fuzz", "nightly builds it with a sanitizer in everything; the stage `fuzz` runs it"),
];

/// Members that are no default members, since their frameworks take longer to build than the rest of the workspace: the stage
/// `adapters` builds and tests them.
pub(crate) const ADAPTERS: [&str; 4] =
    ["binade-burn", "binade-candle", "binade-example-burn", "binade-example-candle"];

/// What floors 0 and 1 may import from outside, so that one of them can be taken alone.
pub(crate) const SMALL_IMPORTS: [&str; 4] = ["half", "serde", "thiserror", "toml"];

/// Those of [`SMALL_IMPORTS`] that they may have only as an option.
pub(crate) const ONLY_OPTIONAL: [&str; 2] = ["serde", "toml"];

/// What the kit must not import: it compares bytes, and knows no backend's tensor.
pub(crate) const KIT_NEVER_IMPORTS: [&str; 2] = ["ndarray", "rayon"];

/// Crates that people take one at a time, and so the ones whose dependencies are counted.
pub(crate) const TAKEN_ALONE: [&str; 5] = [
    "binade-autocast",
    "binade-cast-policy",
    "binade-grad-scaler",
    "binade-interchange",
    "binade-master-weights",
];

/// The most crates that one of [`TAKEN_ALONE`] may bring, itself included; procedural macros and what they import are not counted.
pub(crate) const MOST_CRATES: usize = 8;

/// The kit, which people take alone too.
pub(crate) const KIT: &str = "binade-conformance";

/// The most crates that [`KIT`] may bring, counted likewise.
pub(crate) const MOST_CRATES_OF_KIT: usize = 16;

/// Crates that may hold `unsafe`, and where; everything else forbids it.
pub(crate) const UNSAFE_ALLOWED: [(&str, &str); 7] = [
    ("binade-cpu", "crates/binade-cpu/src/simd"),
    // Kernels take addresses, and memory comes unset.
    ("binade-cuda", "crates/binade-cuda/src/launch"),
    // C libraries, whose functions take addresses.
    ("binade-cuda", "crates/binade-cuda/src/library/lt"),
    ("binade-cuda", "crates/binade-cuda/src/library/dnn/api"),
    // A stranger's kernel that fails.
    ("binade-cuda", "crates/binade-cuda/tests/lost"),
    // The driver's C interface, and a test that calls it as C and cudarc do.
    ("binade-ptx", "crates/binade-ptx/src/driver"),
    ("binade-ptx", "crates/binade-ptx/tests/driver"),
];

/// The floor that the table gives `name`, if it has a row.
pub(crate) fn floor(name: &str) -> Option<usize> {
    let floor = FLOORS.iter().position(|names| names.contains(&name));
    floor.or_else(|| ON_TOP.contains(&name).then_some(TOP))
}

/// The crates of floors 0 and 1: each must also build alone.
pub(crate) fn small_crates() -> impl Iterator<Item = &'static str> {
    FLOORS[..2].iter().copied().flatten().copied()
}
