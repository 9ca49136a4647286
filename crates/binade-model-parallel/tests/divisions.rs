//! Tests that a model divided among devices trains with the same bits as on one device.

use crate::training::{Alone, Divided, LEVELS, STEPS, Setting, State, train};
use binade::prelude::*;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::BadMicroBatch;
use binade_model_parallel::ModelParallel;

/// Single device: the CPU, which never waits.
const ALONE: Alone<Cpu> = Alone(Cpu, |_| 0);

fn divided(devices: usize, layers: [usize; 3]) -> Divided<Cpu> {
    Divided { devices: ModelParallel::new(vec![Cpu; devices]).unwrap(), layers, waits: |_| 0 }
}

/// Divisions of three layers with different moves: on two devices, on three, the second device before the first, and there and back.
const LAYERS: [(usize, [usize; 3]); 5] =
    [(1, [0, 0, 0]), (2, [0, 0, 1]), (3, [0, 1, 2]), (2, [1, 0, 0]), (2, [0, 1, 0])];

/// Checks that every division of the model ends in the same state as the CPU alone.
fn agrees(setting: Setting) -> State {
    let alone = train(&ALONE, setting, 0..STEPS, None);
    for (devices, layers) in LAYERS {
        let many = train(&divided(devices, layers), setting, 0..STEPS, None);
        assert_eq!(many.reports, alone.reports, "{layers:?}");
        assert!(many == alone, "{layers:?}, {:?} {}", setting.level, setting.dtype);
    }
    alone
}

#[test]
fn a_model_divided_among_devices_trains_with_the_bits_of_one() {
    for (level, dtype) in LEVELS {
        agrees(Setting::new(level, dtype));
    }
}

#[test]
fn an_overflow_on_any_device_skips_everywhere_halves_the_scale_once_and_names_the_parameter() {
    for (level, dtype) in LEVELS.into_iter().filter(|(_, dtype)| *dtype == DType::F16) {
        let start = level.with(dtype).loss_scale.start().factor();
        for name in ["0.weight", "1.bias", "2.weight"] {
            let setting = Setting { overflow: Some((2, 0, name)), ..Setting::new(level, dtype) };
            let state = agrees(setting);
            assert_eq!((state.scale.skipped, state.scale.overflows), (1, 1));
            assert_eq!(state.scale.factor(), start / 2.0);
            let report = &state.reports[2];
            assert!(report.contains(&format!("{name}[2] is +inf (1 infinite, 0 NaN")), "{report}");
        }
    }
}

#[test]
fn windows_and_the_norm_of_all_devices_give_the_bits_of_one_device() {
    for (level, dtype) in LEVELS {
        for (bad, overflow) in [
            (BadMicroBatch::SkipWindow, None),
            (BadMicroBatch::SkipWindow, Some((1, 1, "1.weight"))),
            (BadMicroBatch::Drop, Some((1, 0, "2.bias"))),
        ] {
            let setting = Setting::new(level, dtype);
            let (clip, micro_batches) = (Some(0.05), 3);
            let state = agrees(Setting { clip, micro_batches, overflow, bad, ..setting });
            let clipped = state.norms.iter().flatten().filter(|norm| f32::from_bits(**norm) > 0.05);
            assert!(clipped.count() > 2, "{:?}", state.norms);
        }
    }
}

#[test]
fn a_device_without_gradients_stays_as_it_is_and_the_report_lists_its_parameters() {
    let setting = Setting::new(OptLevel::O2, DType::F16);
    let setting = Setting { frozen: true, clip: Some(0.05), micro_batches: 2, ..setting };
    let state = agrees(setting);
    let report = &state.reports[0];
    assert!(report.contains("1.weight") && report.contains("1.bias"), "{report}");
}

#[test]
fn a_checkpoint_of_any_division_resumes_on_any_other() {
    let setting = Setting::new(OptLevel::O2, DType::F16);
    let setting = Setting { overflow: Some((4, 0, "2.weight")), ..setting };
    let whole = train(&ALONE, setting, 0..STEPS, None);
    let two = divided(2, [0, 0, 1]);
    let (half, half_of_two) =
        (train(&ALONE, setting, 0..3, None), train(&two, setting, 0..3, None));
    assert!(half.checkpoint == half_of_two.checkpoint);
    for from in [&half, &half_of_two] {
        let file = |state: State| state.checkpoint;
        let whole = file(train(&ALONE, setting, 0..STEPS, None));
        assert!(file(train(&ALONE, setting, 3..STEPS, Some(from))) == whole);
        assert!(file(train(&two, setting, 3..STEPS, Some(from))) == whole);
        let three = divided(3, [2, 0, 1]);
        assert!(file(train(&three, setting, 3..STEPS, Some(from))) == whole);
    }
    assert_eq!(whole.scale.skipped, 1);
}
