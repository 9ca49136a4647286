//! A raised finding changes no bit.

use crate::common::{bits, fine, grads, of_one, plan, raised, rules, stores_and_types, values};
use binade_core::{DType, Optimizer as _};

#[test]
fn where_found_is_raised_every_bit_of_parameters_masters_moments_and_step_count_is_kept() {
    for rule in rules() {
        for (store, dtype) in stores_and_types() {
            let mut optimizer = of_one(dtype, &values(40, 3), plan(rule).with_store(store));
            // Moments and counts that a skip could disturb.
            optimizer.step(grads(DType::F32, [("w", &values(40, 4)[..])]), &fine()).unwrap();
            let before = bits(&optimizer);
            for found in raised() {
                for grad in [0.0, 1.0, f32::INFINITY, f32::NAN] {
                    let grads = grads(DType::F32, [("w", &[grad; 40][..])]);
                    optimizer.step(grads, &found).unwrap();
                    assert_eq!(bits(&optimizer), before, "{rule:?} {dtype} {store:?} {grad}");
                }
            }
        }
    }
}

#[test]
fn decay_rests_while_steps_are_skipped() {
    let mut decaying = rules()[3].with_lr(0.5);
    if let binade_master_weights::UpdateRule::Adam(adam) = &mut decaying {
        adam.weight_decay = 1.0;
    }
    let mut optimizer = of_one(DType::F16, &[2.0], plan(decaying));
    optimizer.step(grads(DType::F32, [("w", &[0.0][..])]), &raised()[0]).unwrap();
    assert_eq!(optimizer.params[0].value.data, [2.0]);
    optimizer.step(grads(DType::F32, [("w", &[0.0][..])]), &fine()).unwrap();
    assert_eq!(optimizer.params[0].value.data, [1.0]);
}

#[test]
fn fifty_steps_with_some_skipped_are_those_without_them() {
    let pairs = stores_and_types().flat_map(|pair| rules().map(|rule| (rule, pair)));
    for (rule, (store, dtype)) in pairs {
        let stored = || plan(rule).with_store(store);
        let mut optimizer = of_one(dtype, &values(30, 5), stored());
        let mut mirror = of_one(dtype, &values(30, 5), stored());
        let mut skipped = 0;
        for seed in 0..50 {
            let grads = grads(dtype, [("w", &values(30, 1000 + seed)[..])]);
            if values(1, seed)[0] > 1.0 {
                skipped += 1;
                optimizer.step(grads, &raised()[skipped % 2]).unwrap();
            } else {
                optimizer.step(grads.clone(), &fine()).unwrap();
                mirror.step(grads, &fine()).unwrap();
            }
        }
        assert!((5..45).contains(&skipped), "{skipped}");
        assert_eq!(bits(&optimizer), bits(&mirror), "{rule:?} {dtype} {store:?}");
    }
}
