//! An open window with a sparse sum, saved and resumed.

use binade_checkpoint::{Checkpoint, Draft};
use binade_core::ops::{SparseEmbedding, Upload};
use binade_core::{DType, Gradient, LoadError, Named, SparseGrads};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{Accumulation, BadMicroBatch, LossScale, SavedWindow, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};

/// Returns a scaler, and an optimizer that does not update rows without a gradient.
fn start() -> (Scaler<Cpu>, MasterOptimizer<Cpu>) {
    let table = Cpu.upload(&[0.5; 12], &[6, 2], DType::F16).unwrap();
    let config = OptimizerConfig::new(UpdateRule::sparse_adam(0.1)).unwrap();
    let optimizer = MasterOptimizer::new(Cpu, vec![Named::new("table", table)], config).unwrap();
    (Scaler::new(Cpu, LossScale::fixed(4.0).unwrap()).unwrap(), optimizer)
}

/// Adds a micro-batch that looks up these rows.
fn add(scaler: &Scaler<Cpu>, window: &mut Accumulation<Cpu>, rows: &[i64], grad: f32) {
    let grad = Cpu.upload(&vec![grad; 2 * rows.len()], &[rows.len(), 2], DType::F16).unwrap();
    let rows = Cpu.upload_i64(rows, &[rows.len()]).unwrap();
    let gradient = Cpu.sparse_embedding_backward(&[(&grad, &rows)], 6).unwrap();
    let set = SparseGrads(vec![Named::new("table", Some(Gradient::Sparse(gradient)))]);
    let loss = Tensor::scalar(1.0_f32);
    let grads = scaler.scale(&loss).unwrap().backward(|_| Ok(Gradients::from(set))).unwrap();
    window.add(grads.unscale().unwrap()).unwrap();
}

/// Returns the table and its state after two steps, the second by a window that is saved and resumed in between if asked.
fn train(resumes: bool) -> (Vec<u8>, String) {
    let (mut scaler, mut optimizer) = start();
    for rows in [[1, 4], [0, 4]] {
        let mut window = scaler.accumulate(BadMicroBatch::Drop);
        add(&scaler, &mut window, &rows, 2.0);
        if resumes {
            let draft = Draft::within("window", &window).unwrap().scaler("loss", &scaler).unwrap();
            let draft = draft.optimizer("model", &optimizer).unwrap();
            let saved = draft.finish().unwrap().to_bytes().unwrap();
            (scaler, optimizer) = start();
            let checkpoint = Checkpoint::from_bytes(&saved).unwrap();
            let mut restore = checkpoint.restore();
            window = restore.window("window", &scaler, &optimizer.params).unwrap();
            restore.scaler("loss", &mut scaler).unwrap();
            restore.optimizer("model", &mut optimizer).unwrap();
            restore.finish().unwrap();
        }
        add(&scaler, &mut window, &[4, 5], -6.0);
        let step = window.finish().unwrap().unwrap().step(&mut optimizer).unwrap();
        scaler.update(step).unwrap().resolve().unwrap().into_applied().unwrap();
    }
    (optimizer.params[0].value.to_bits(), format!("{:?}", optimizer.masters()))
}

#[test]
fn a_window_with_a_sparse_sum_is_resumed_to_the_same_bits() {
    assert_eq!(train(true), train(false));
}

#[test]
fn rows_that_are_no_rows_of_a_sum_are_refused() {
    let (scaler, optimizer) = start();
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    add(&scaler, &mut window, &[1, 4], 2.0);
    let saved = window.save().unwrap();
    assert_eq!(saved.rows, [Named::new("table", vec![1, 4])]);
    for (name, rows) in
        [("table", vec![4, 1]), ("table", vec![1, 1]), ("table", vec![6]), ("other", vec![1])]
    {
        let spoilt = SavedWindow { rows: vec![Named::new(name, rows)], ..saved.clone() };
        let refused = scaler.reopen(&optimizer.params, &spoilt).map(drop);
        assert!(matches!(refused, Err(LoadError::SpecMismatch(_))), "{:?}", spoilt.rows);
    }
    assert!(window.finish().unwrap().is_some());
}

#[test]
fn a_parameter_without_axes_has_no_rows() {
    let scaler = Scaler::new(Cpu, LossScale::fixed(4.0).unwrap()).unwrap();
    let params = vec![Named::new("scale", Tensor::scalar(1.0_f32))];
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    let set = vec![Named::new("scale", Some(Tensor::scalar(2.0_f32)))];
    let grads = scaler.scale(&params[0].value).unwrap().backward(|_| Ok(Gradients::from(set)));
    window.add(grads.unwrap().unscale().unwrap()).unwrap();
    let saved = window.save().unwrap();
    assert!(scaler.reopen(&params, &saved).is_ok());
    let spoilt = SavedWindow { rows: vec![Named::new("scale", vec![])], ..saved };
    let refused = scaler.reopen(&params, &spoilt).map(drop);
    assert!(matches!(refused, Err(LoadError::SpecMismatch(_))), "{refused:?}");
}
