//! Several losses, optimizers and windows in one checkpoint, by name.

use crate::common::{Setting, Training};
use binade_checkpoint::{Checkpoint, Draft, DraftError};
use binade_core::{RawTensor, TensorSpec};
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale};
use binade_master_weights::UpdateRule;

/// Returns a generator and a discriminator, each with its own loss.
fn both(windows: [usize; 2], micro_batches: [usize; 2]) -> [Training<Cpu>; 2] {
    let mut pair = windows.map(|window| {
        let rule = UpdateRule::adamw(0.01);
        Training::new(&Cpu, &Setting { window, seed: window as u64, ..Setting::new(rule) })
    });
    pair.iter_mut().zip(micro_batches).for_each(|(run, count)| run.run(count));
    pair
}

#[test]
fn each_comes_back_under_its_own_name() {
    let [g, d] = both([3, 4], [7, 6]);
    let (of_g, of_d) = (g.window.as_ref().unwrap(), d.window.as_ref().unwrap());
    let draft = Draft::within("g", of_g).unwrap().window("d", of_d).unwrap();
    let draft = draft.scaler("g", &g.scaler).unwrap().scaler("d", &d.scaler).unwrap();
    let draft = draft.optimizer("g", &g.optimizer).unwrap();
    let draft = draft.optimizer("d", &d.optimizer).unwrap();
    let bytes = draft.finish().unwrap().to_bytes().unwrap();

    let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
    let [mut new_g, mut new_d] = both([3, 4], [0, 0]);
    let mut restore = checkpoint.restore();
    new_d.window = Some(restore.window("d", &new_d.scaler, &new_d.optimizer.params).unwrap());
    new_g.window = Some(restore.window("g", &new_g.scaler, &new_g.optimizer.params).unwrap());
    for (name, run) in [("g", &mut new_g), ("d", &mut new_d)] {
        restore.scaler(name, &mut run.scaler).unwrap();
        restore.optimizer(name, &mut run.optimizer).unwrap();
    }
    restore.finish().unwrap();
    for (old, mut new) in [(g, new_g), (d, new_d)] {
        (new.random, new.place) = (old.random.clone(), old.place);
        assert_eq!(new.checkpoint().to_bytes(), old.checkpoint().to_bytes());
    }
}

#[test]
fn a_window_that_is_left_out_is_found() {
    let [g, d] = both([3, 4], [7, 6]);
    let draft = Draft::within("g", g.window.as_ref().unwrap()).unwrap();
    let draft = draft.scaler("g", &g.scaler).unwrap().scaler("d", &d.scaler).unwrap();
    let expected = DraftError::InFlight { in_flight: 2, windows: 1 };
    let error = draft.finish().unwrap_err();
    assert_eq!(error, expected);
    assert!(error.to_string().starts_with("1 value of a scaler is still in use"), "{error}");
}

#[test]
fn a_window_that_nothing_was_added_to_is_saved_as_such() {
    let [g, _] = both([3, 4], [6, 0]);
    let window = g.scaler.accumulate(BadMicroBatch::SkipWindow);
    let draft = Draft::within("empty", &window).unwrap().scaler("loss", &g.scaler).unwrap();
    let bytes = draft.finish().unwrap().to_bytes().unwrap();
    let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
    let mut restore = checkpoint.restore();
    let again = restore.window("empty", &g.scaler, &g.optimizer.params).unwrap();
    let saved = again.save().unwrap();
    assert!(saved.len == 0 && saved.bad == BadMicroBatch::SkipWindow);
}

#[test]
fn tensors_of_every_type_come_back() {
    use binade_core::DType::{BF16, Bool, E4M3, E5M2, F16, F32, F64, I32, I64, U8};
    let mut draft = Draft::fresh();
    let types = [BF16, F16, F32, F64, E4M3, E5M2, I64, I32, U8, Bool];
    let raw = |dtype: binade_core::DType| {
        RawTensor::new(TensorSpec::new(dtype, [1, 2, 0]), Vec::new())
            .into_iter()
            .chain(RawTensor::new(TensorSpec::new(dtype, [3]), vec![1; 3 * dtype.bytes()]))
    };
    for dtype in types {
        for (number, raw) in raw(dtype).enumerate() {
            draft = draft.tensor(&format!("{dtype}/{number}"), raw);
        }
    }
    let bytes = draft.finish().unwrap().to_bytes().unwrap();
    let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
    for dtype in types {
        for (number, raw) in raw(dtype).enumerate() {
            assert_eq!(checkpoint.tensors[&format!("{dtype}/{number}")], raw);
        }
    }
}

#[test]
fn a_checkpoint_is_saved_again_before_the_first_step_since_it_was_restored() {
    let setting = Setting::new(UpdateRule::adamw(0.01));
    let mut run = Training::new(&Cpu, &setting);
    run.run(5);
    let checkpoint = run.checkpoint();
    let resumed = Training::resumed(&Cpu, &setting, &checkpoint);
    let draft = |begun: Draft| begun.scaler("loss", &resumed.scaler).unwrap().finish();
    assert!(draft(Draft::again(&checkpoint)).is_ok());
    assert_eq!(draft(Draft::fresh()).unwrap_err(), DraftError::Stale);
    assert_eq!(resumed.scaler.rule(), &checkpoint.scalers["loss"].rule);
    assert_ne!(resumed.scaler.rule(), &LossScale::dynamic());
}
