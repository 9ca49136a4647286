//! Readers of bytes from anywhere, and what must hold then: no panic, and what was read is what was written.
//!
//! libFuzzer drives these from `tests/fuzz`, where the inputs that it found worth keeping are; the tests replay all of
//! them wherever they run.

mod checkpoint;
mod policy;
mod recording;
mod report;
mod shape;
mod state;

/// Something that reads bytes from anywhere.
pub type Target = fn(&[u8]);

/// Every target, by the name of its folder in `tests/fuzz/corpus`.
pub const TARGETS: [(&str, Target); 6] = [
    ("checkpoint", checkpoint::read),
    ("policy", policy::read),
    ("recording", recording::read),
    ("report", report::read),
    ("shape", shape::read),
    ("state", state::read),
];

/// Runs the target of this name on `bytes`.
///
/// # Panics
///
/// Where what must hold does not, or there is no such target.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = target.unwrap_or_else(|| panic!("no fuzz target is called `{name}`"));
    target(bytes);
}
