//! Updates that are lost, counted.

use crate::common::{
    all_rules, bits, config, fine, grads, of_one, raised, rules, stores_and_types, values,
};
use binade_core::{DType, Optimizer as _};
use binade_master_weights::{LostUpdates, MasterStore, Sgd, UpdateRule};

/// Returns the updates that a step of SGD with a rate of 1 loses.
fn lost(dtype: DType, store: MasterStore, param: &[f32], grad: &[f32]) -> LostUpdates {
    let config = config(UpdateRule::sgd(1.0)).with_store(store).with_lost_updates(true);
    let mut optimizer = of_one(dtype, param, config);
    optimizer.step(grads(DType::F32, [("w", grad)]), &fine()).unwrap();
    optimizer.masters().lost_updates().unwrap()
}

#[test]
fn an_update_that_leaves_its_weight_is_lost_and_one_of_zero_is_none() {
    let param = [1.0, 1.0, 1.0, 0.0];
    let grad = [2.0_f32.powi(-12), 0.5, 0.0, 2.0_f32.powi(-30)];
    for (store, expected) in [
        (MasterStore::NoMaster, [1, 2]),
        (MasterStore::Copy, [0, 3]),
        (MasterStore::Remainder, [0, 3]),
        (MasterStore::Kahan, [0, 3]),
        // 2^-12 is half a unit of f16 below 1, and a tie goes back to it.
        (MasterStore::ScaledF16, [1, 2]),
    ] {
        let LostUpdates { lost, moved } = lost(DType::BF16, store, &param, &grad);
        assert_eq!([lost, moved], expected, "{store:?}");
    }
}

#[test]
fn a_master_in_f32_loses_updates_too() {
    let tiny = [2.0_f32.powi(-26)];
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let LostUpdates { lost, moved } = lost(dtype, MasterStore::Copy, &[1.0], &tiny);
        assert_eq!([lost, moved], [1, 0], "{dtype}");
    }
}

#[test]
fn stochastic_rounding_moves_some_weights_and_not_most() {
    let LostUpdates { lost, moved } = lost(
        DType::BF16,
        MasterStore::Stochastic { seed: 3 },
        &[1.5; 4096],
        &[2.0_f32.powi(-10); 4096],
    );
    assert_eq!(lost + moved, 4096);
    // An eighth, 512, within six standard deviations of 21.
    assert!((384..640).contains(&moved), "{moved}");
}

#[test]
fn the_share_is_of_updates_that_were_not_zero() {
    assert_eq!(LostUpdates { lost: 1, moved: 3 }.share(), 0.25);
    assert_eq!(LostUpdates::default().share(), 0.0);
    assert_eq!(lost(DType::BF16, MasterStore::NoMaster, &[1.0; 4], &[1e-9; 4]).share(), 1.0);
}

#[test]
fn decay_and_momentum_are_updates_though_the_gradient_is_zero() {
    for rule in [rules()[1], rules()[3]] {
        let config = config(rule).with_lost_updates(true);
        let mut optimizer = of_one(DType::F32, &[1.0, 0.0], config);
        for _ in 0..2 {
            optimizer.step(grads(DType::F32, [("w", &[0.0, 0.0][..])]), &fine()).unwrap();
        }
        let LostUpdates { lost, moved } = optimizer.masters().lost_updates().unwrap();
        assert_eq!([lost, moved], [0, 1], "{rule:?}: what is 0 does not decay");
    }
}

#[test]
fn counting_changes_no_bit_and_skips_count_nothing() {
    for (store, dtype) in stores_and_types() {
        for rule in all_rules() {
            let counted = config(rule).with_store(store).with_lost_updates(true);
            let mut counted = of_one(dtype, &values(40, 1), counted);
            let mut plain = of_one(dtype, &values(40, 1), config(rule).with_store(store));
            for seed in 0..3 {
                let grad = grads(DType::F16, [("w", &values(40, 50 + seed)[..])]);
                counted.step(grad.clone(), &fine()).unwrap();
                plain.step(grad, &fine()).unwrap();
            }
            let before = counted.masters().lost_updates().unwrap();
            assert_eq!(before.lost + before.moved, 40, "{rule:?} {store:?} {dtype}");
            let grad = grads(DType::F16, [("w", &[f32::NAN; 40][..])]);
            counted.step(grad, &raised()[0]).unwrap();
            assert_eq!(counted.masters().lost_updates(), Some(before));
            assert_eq!(bits(&counted), bits(&plain), "{rule:?} {store:?} {dtype}");
            assert_eq!(plain.masters().lost_updates(), None);
        }
    }
}

#[test]
fn counting_is_switched_in_a_running_optimizer() {
    let config = || config(UpdateRule::sgd(1.0)).with_store(MasterStore::NoMaster);
    let mut optimizer = of_one(DType::BF16, &[1.0], config());
    optimizer.set_config(config().with_lost_updates(true)).unwrap();
    assert_eq!(optimizer.masters().lost_updates(), Some(LostUpdates::default()));
    optimizer.step(grads(DType::F32, [("w", &[1e-4][..])]), &fine()).unwrap();
    assert_eq!(optimizer.masters().lost_updates(), Some(LostUpdates { lost: 1, moved: 0 }));
    optimizer.set_config(config()).unwrap();
    assert_eq!(optimizer.masters().lost_updates(), None);
}

#[test]
fn an_update_is_what_the_rule_adds_and_not_the_gradient() {
    let sgd = |momentum, weight_decay, nesterov| {
        UpdateRule::Sgd(Sgd { lr: 1e-9, momentum, dampening: 0.0, weight_decay, nesterov })
    };
    for (rule, grad, lost) in [
        (sgd(0.0, 0.0, false), [1.0, 0.0], [1, 0]),
        (sgd(0.0, 0.1, false), [0.0, 0.0], [1, 1]),
        (sgd(0.5, 0.0, false), [1.0, 0.0], [1, 1]),
        // The gradient undoes what is left of the momentum, which Nesterov's step looks beyond.
        (sgd(0.5, 0.0, false), [1.0, -0.5], [1, 0]),
        (sgd(0.5, 0.0, true), [1.0, -0.5], [1, 1]),
        (UpdateRule::sgd(0.0), [1.0, 1.0], [0, 0]),
        (UpdateRule::adamw(1e-3), [0.0, 0.0], [1, 1]),
        (UpdateRule::adam(1e-3), [0.0, 0.0], [0, 0]),
    ] {
        let config = config(rule).with_store(MasterStore::NoMaster).with_lost_updates(true);
        let mut optimizer = of_one(DType::BF16, &[1.0], config);
        let counted = grad.map(|grad| {
            optimizer.step(grads(DType::F32, [("w", &[grad][..])]), &fine()).unwrap();
            let LostUpdates { lost, moved } = optimizer.masters().lost_updates().unwrap();
            assert_eq!(moved, 0, "{rule:?}");
            lost
        });
        assert_eq!(counted, lost, "{rule:?} of {grad:?}");
    }
}
