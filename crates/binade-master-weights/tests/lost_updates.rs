//! Masters keep updates smaller than sixteen bits can hold.

use crate::common::{
    ALL, Host, LOW, Optimizer, bits, config, fine, grads, of_one, round, stores_and_types,
};
use binade_core::{DType, Error as _, ErrorKind, Optimizer as _};
use binade_master_weights::{MasterStore, UpdateRule};

fn descend(optimizer: &mut Optimizer, steps: usize, made: DType, grad: f32) {
    for _ in 0..steps {
        optimizer.step(grads(made, [("w", &[grad][..])]), &fine()).unwrap();
    }
}

fn weight(optimizer: &Optimizer) -> f32 {
    optimizer.params[0].value.data[0]
}

#[test]
fn four_thousand_updates_of_2_to_the_minus_12_reach_2_with_masters_and_stay_at_1_without() {
    let step = 2.0_f32.powi(-12);
    for dtype in LOW {
        let reached = [
            (MasterStore::Copy, 2.0),
            (MasterStore::NoMaster, 1.0),
            (MasterStore::Remainder, 2.0),
            (MasterStore::Kahan, 2.0),
        ];
        for (store, reached) in reached.into_iter().filter(|(store, _)| store.takes(dtype)) {
            let config = config(UpdateRule::sgd(1.0)).with_store(store);
            let mut optimizer = of_one(dtype, &[1.0], config);
            descend(&mut optimizer, 4096, dtype, -step);
            assert_eq!(weight(&optimizer), reached, "{dtype} {store:?}");
        }
    }
}

#[test]
fn a_hundred_steps_of_1e_4_move_1_to_99_hundredths_in_every_type() {
    for rule in [UpdateRule::sgd(1e-4), UpdateRule::adam(1e-4)] {
        for dtype in ALL {
            let mut optimizer = of_one(dtype, &[1.0], config(rule));
            descend(&mut optimizer, 100, dtype, 1.0);
            let slot = optimizer.masters().get("w").unwrap();
            let master = slot.master.copy().map_or(weight(&optimizer), |master| master[0]);
            // A hundred roundings of at most 2^-25 each.
            assert!((master - 0.99).abs() < 3e-6, "{rule:?} {dtype}: {master}");
            assert_eq!(weight(&optimizer), round(dtype, master), "{rule:?} {dtype}");
        }
    }
}

#[test]
fn a_zero_gradient_with_an_epsilon_of_1e_8_gives_no_nan_in_any_type() {
    for rule in [UpdateRule::adam(1e-3), UpdateRule::adamw(1e-3)] {
        for (store, dtype) in stores_and_types() {
            let mut optimizer = of_one(dtype, &[1.0], config(rule).with_store(store));
            descend(&mut optimizer, 3, dtype, 0.0);
            // Decay, and by chance a unit of bf16.
            let moved = (weight(&optimizer) - 1.0).abs();
            assert!(moved <= 2.0_f32.powi(-7), "{rule:?} {dtype} {store:?}: {moved}");
        }
    }
}

#[test]
fn a_gradient_whose_square_f16_cannot_hold_still_moves_by_the_learning_rate() {
    for dtype in ALL {
        let mut optimizer = of_one(dtype, &[0.0], config(UpdateRule::adam(1e-3)));
        descend(&mut optimizer, 1, dtype, 1e-4);
        // lr · g / (|g| + eps): 1e-8 of 1e-4 short of the learning rate, and the rounding of the stored type.
        assert!((weight(&optimizer) + 1e-3).abs() < 5e-6, "{dtype}: {}", weight(&optimizer));
    }
}

#[test]
fn a_parameter_lowered_after_its_optimizer_was_made_is_refused_rather_than_lost() {
    for dtype in LOW {
        let mut optimizer = of_one(DType::F32, &[1.0], config(UpdateRule::sgd(1e-5)));
        optimizer.params[0].value = Host::new(dtype, &[1.0]);
        let before = bits(&optimizer);
        let error = optimizer.step(grads(dtype, [("w", &[1.0][..])]), &fine()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().starts_with("`w`: it was lowered after"), "{error}");
        assert_eq!(bits(&optimizer), before, "{dtype}");
    }
}
