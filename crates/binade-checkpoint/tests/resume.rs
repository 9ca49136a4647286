//! Resumed runs: a run that is stopped anywhere, written, read and resumed equals an uninterrupted run bit for bit.

use crate::common::device::{Host, Trains};
use crate::common::{Setting, Training, all_rules, loss_scales, rules, stores};
use binade_checkpoint::Checkpoint;
use binade_conformance::counting::Counting;
use binade_core::{DType, HostDevice};
use binade_cpu::Cpu;
use binade_grad_scaler::BadMicroBatch;
use binade_master_weights::UpdateRule;
use proptest::{prelude::*, sample::select};

/// End of a run: its checkpoint's bytes, and the report of its last step, part by part.
type End = (Vec<u8>, String);

fn end<D: Trains>(run: &Training<D>) -> End {
    let told = run.last.as_ref().map(|step| &step.report().steps);
    (run.checkpoint().to_bytes().unwrap(), format!("{told:?}"))
}

/// Returns the end of a run of `micro_batches`.
fn whole<D: Trains>(device: &D, setting: &Setting, micro_batches: usize) -> End {
    let mut run = Training::new(device, setting);
    run.run(micro_batches);
    end(&run)
}

/// Returns the end of a run that was stopped at each of `stops`, in order.
fn stopped<D: Trains>(device: &D, setting: &Setting, micro_batches: usize, stops: &[usize]) -> End {
    let mut run = Training::new(device, setting);
    for &stop in stops {
        run.run(stop - run.place);
        let bytes = run.checkpoint().to_bytes().unwrap();
        run = Training::resumed(device, setting, &Checkpoint::from_bytes(&bytes).unwrap());
    }
    run.run(micro_batches - run.place);
    end(&run)
}

fn settings() -> impl Strategy<Value = Setting> {
    let storage = select(vec![DType::BF16, DType::F16, DType::F32]);
    let stored = storage.prop_flat_map(|storage| (Just(storage), select(stores(storage))));
    let bad = select(vec![BadMicroBatch::Drop, BadMicroBatch::SkipWindow]);
    let scale = select(vec![None, Some(3000.1), Some(1.5e-3)]);
    let rule = select(all_rules());
    let rest = (1_usize..4, bad, scale, any::<u64>());
    (rule, stored, select(loss_scales()), rest).prop_map(|(rule, stored, loss_scale, rest)| {
        let ((storage, store), (window, bad, scale, seed)) = (stored, rest);
        Setting { rule, storage, store, loss_scale, window, bad, scale, seed }
    })
}

fn stops() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::btree_set(0_usize..23, 1..4).prop_map(|stops| stops.into_iter().collect())
}

fn equals<D: Trains>(device: &D, setting: &Setting, stops: &[usize]) -> Result<(), TestCaseError> {
    let (whole, stopped) = (whole(device, setting, 24), stopped(device, setting, 24, stops));
    prop_assert_eq!(whole, stopped, "{:?} stopped at {:?}", setting, stops);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_the_cpu(setting in settings(), stops in stops()) {
        equals(&Cpu, &setting, &stops)?;
    }

    #[test]
    fn behind_a_wrapper(setting in settings(), stops in stops()) {
        equals(&Counting::new(Cpu), &setting, &stops)?;
    }

    #[test]
    fn with_a_tensor_of_ones_own(setting in settings(), stops in stops()) {
        equals(&HostDevice::<Host>::new(), &setting, &stops)?;
    }
}

#[test]
fn at_every_micro_batch_with_every_optimizer_and_storage() {
    for rule in all_rules() {
        for storage in [DType::BF16, DType::F16, DType::F32] {
            let setting = Setting { storage, window: 3, ..Setting::new(rule) };
            let whole = whole(&Cpu, &setting, 13);
            for stop in 0..13 {
                let stopped = stopped(&Cpu, &setting, 13, &[stop]);
                assert_eq!(whole.0, stopped.0, "{rule:?} in {storage} at {stop}");
            }
        }
    }
}

#[test]
fn at_every_micro_batch_with_every_store_and_every_rule_of_the_scale() {
    for (number, loss_scale) in loss_scales().into_iter().enumerate() {
        for storage in [DType::BF16, DType::F16] {
            for store in stores(storage) {
                let rule = rules()[number % 5];
                let setting =
                    Setting { storage, store, loss_scale, window: 2, ..Setting::new(rule) };
                let whole = whole(&Cpu, &setting, 9);
                for stop in 0..9 {
                    let stopped = stopped(&Cpu, &setting, 9, &[stop]);
                    assert_eq!(whole.0, stopped.0, "{setting:?} at {stop}");
                }
            }
        }
    }
}

#[test]
fn runs_that_the_tests_stop_skip_some_steps_and_apply_some() {
    let (mut applied, mut skipped) = (0, 0);
    for seed in 0..20 {
        let setting = Setting { window: 2, seed, ..Setting::new(UpdateRule::adamw(0.01)) };
        let mut run = Training::new(&Cpu, &setting);
        run.run(24);
        let state = run.scaler.state().unwrap();
        (applied, skipped) = (applied + state.applied(), skipped + state.skipped);
    }
    assert!(applied > 40 && skipped > 10, "{applied} applied, {skipped} skipped");
}

#[test]
fn a_checkpoint_of_one_device_is_resumed_on_another() {
    let setting = Setting { window: 2, ..Setting::new(UpdateRule::adamw(0.01)) };
    let device = Counting::new(Cpu);
    for stop in [7, 8] {
        let mut run = Training::new(&device, &setting);
        run.run(stop);
        let mut run = Training::resumed(&Cpu, &setting, &run.checkpoint());
        run.run(24 - stop);
        assert_eq!(end(&run), whole(&device, &setting, 24));
    }
}

#[test]
fn the_same_checkpoint_has_the_same_bytes() {
    let setting = Setting { window: 3, ..Setting::new(UpdateRule::adamw(0.01)) };
    assert_eq!(whole(&Cpu, &setting, 13), whole(&Cpu, &setting, 13));
    let (bytes, _) = whole(&Cpu, &setting, 13);
    assert_eq!(Checkpoint::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
}
