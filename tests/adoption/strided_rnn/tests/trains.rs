//! Training in three types, and going on in the middle of a window.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade::prelude::*;
use binade_adoption_strided_rnn::Run;
use binade_checkpoint::{Checkpoint, Draft};

#[test]
fn the_net_learns_in_every_type() {
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let mut run = Run::start(dtype).unwrap();
        for _ in 0..150 {
            run.window().unwrap();
        }
        let mean = (0..20).map(|_| run.accuracy().unwrap()).sum::<f32>() / 20.0;
        println!("{dtype}: {mean}");
        assert!(mean >= 0.92, "{dtype}: {mean}");
        assert_eq!(run.optimizer.params[0].value.dtype(), dtype);
    }
}

#[test]
fn a_run_stopped_inside_a_window_goes_on_to_the_same_bits() {
    let mut run = Run::start(DType::F16).unwrap();
    for _ in 0..30 {
        run.window().unwrap();
    }
    let mut window = run.scaler.accumulate(BadMicroBatch::Drop);
    window.add(run.micro_batch().unwrap()).unwrap();
    // glue: checkpoint
    let draft = Draft::within("window", &window).unwrap().scaler("loss", &run.scaler).unwrap();
    let bytes = draft.optimizer("model", &run.optimizer).unwrap().finish().unwrap().to_bytes();
    let checkpoint = Checkpoint::from_bytes(&bytes.unwrap()).unwrap();
    // end of glue

    let mut again = Run::start(DType::F16).unwrap();
    // glue: checkpoint
    let mut restore = checkpoint.restore();
    let params = &again.optimizer.params;
    let mut reopened = restore.window("window", &again.scaler, params).unwrap();
    restore.scaler("loss", &mut again.scaler).unwrap();
    restore.optimizer("model", &mut again.optimizer).unwrap();
    restore.finish().unwrap();
    // end of glue
    again.go_on_like(&run);

    window.add(run.micro_batch().unwrap()).unwrap();
    reopened.add(again.micro_batch().unwrap()).unwrap();
    for (run, window) in [(&mut run, window), (&mut again, reopened)] {
        let step = window.finish().unwrap().unwrap().step(&mut run.optimizer).unwrap();
        assert!(run.scaler.update(step).unwrap().resolve().unwrap().is_applied());
    }
    assert_eq!(again.optimizer.save().unwrap(), run.optimizer.save().unwrap());
}
