//! A raised finding changes no bit.

use crate::common::{
    all_rules, bits, config, fine, grads, of_one, raised, stores_and_types, values,
};
use binade_core::{DType, Optimizer as _};

#[test]
fn where_found_is_raised_every_bit_of_parameters_masters_moments_and_step_count_is_kept() {
    for rule in all_rules() {
        for (store, dtype) in stores_and_types() {
            let mut optimizer = of_one(dtype, &values(40, 3), config(rule).with_store(store));
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
