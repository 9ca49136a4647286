//! Training step that is captured once and replayed: its bits are those of the uncaptured step, and near the CPU's, across an
//! overflow and growths of the scale.

use crate::training::{BATCHES, Record, Training, assert_near, give};
use binade_cpu::Cpu;
use binade_cuda::Cuda;
use binade_example_digits::data::Images;
use binade_example_shared::agree::Line;

/// Levels, each with the relative bound on a step's loss from the CPU's.
pub(crate) const RUNS: [Line; 3] = [
    ("--level O0", 1e-4),
    ("--level O1 --dtype f16 --growth-interval 3", 2e-2),
    ("--level O2 --dtype bf16", 2e-2),
];

/// Runs the first two steps as warm-ups, the others as replays.
fn captured(cuda: &Cuda, line: &str) -> Vec<Record> {
    let mut training = Training::new(cuda, line);
    let data = give(cuda, &training.batches[0]);
    let (first, capture) = cuda.capture().warm_up(|| training.step(&data, false)).unwrap();
    let mut records = vec![training.record(first)];
    write(cuda, &data, &training.batches[1]);
    let (second, capture) = capture.warm_up(|| training.step(&data, false)).unwrap();
    records.push(training.record(second));
    let captured = capture.capture(|| training.step(&data, false)).unwrap();
    for number in 2..BATCHES {
        write(cuda, &data, &training.batches[number]);
        records.push(training.record(captured.replay().unwrap()));
    }
    records
}

fn write(cuda: &Cuda, [pixels, labels]: &[binade_cuda::Tensor; 2], batch: &Images) {
    cuda.write(pixels, &batch.pixels).unwrap();
    let bits: Vec<u8> = batch.labels.iter().flat_map(|label| label.to_le_bytes()).collect();
    cuda.write_bits(labels, &bits).unwrap();
}

pub(crate) fn agree(cuda: &Cuda, line: &str, share: f32) {
    let uncaptured = Training::new(cuda, line).train();
    assert_eq!(uncaptured, captured(cuda, line), "a replay is the step itself");
    assert_near(&Training::new(&Cpu, line).train(), &uncaptured, share);
}

/// A tape that lives through the step makes each step copy the parameters; the refusal says what to do.
pub(crate) fn refuse(cuda: &Cuda, line: &str, _: f32) {
    let mut training = Training::new(cuda, line);
    let data = give(cuda, &training.batches[0]);
    let mut step = |keeps_tape| training.step(&data, keeps_tape).map(drop);
    let ((), capture) = cuda.capture().warm_up(|| step(true)).unwrap();
    let ((), capture) = capture.warm_up(|| step(true)).unwrap();
    let refused = capture.capture(|| step(true)).unwrap_err().to_string();
    assert!(refused.contains("`copy`"), "{refused}");
    assert!(refused.contains("drop the tape that the parameters are on"), "{refused}");
    step(true).unwrap();
}
