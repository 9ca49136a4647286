//! The benchmark binary without a GPU: it fails, and says why.

use std::process::{Command, Output};

fn speed(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_speed")).args(args).output().unwrap()
}

/// Returns true if there is a GPU, on which the binary would measure.
fn has_gpu() -> bool {
    binade_cuda::Cuda::open(0)
        .and_then(|cuda| cuda.name())
        .is_ok_and(|name| !name.contains("PTX interpreter"))
}

#[test]
fn without_a_gpu_nothing_is_measured_and_the_reason_is_told() {
    if has_gpu() {
        return;
    }
    let run = speed(&[]);
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && run.stdout.is_empty());
    assert!(told.contains("PTX interpreter") || told.contains("CUDA"), "{told}");
}
