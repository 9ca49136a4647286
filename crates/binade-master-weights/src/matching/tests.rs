//! Parameters found for gradients in any order.

use super::*;
use crate::{OptimizerConfig, UpdateRule};

/// Returns the place and the id of each gradient's parameter, among masters of `a`, `b` and `c`.
fn found(params: &[&str], grads: &[&str]) -> Vec<Option<(usize, usize)>> {
    let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
    let (params, grads): (Vec<Arc<str>>, Vec<Arc<str>>) = (names(params), names(grads));
    let config = OptimizerConfig::new(UpdateRule::sgd(0.1)).unwrap();
    let mut masters = HostMasters::new(&config, ["a", "b", "c"].into_iter()).unwrap();
    for name in ["a", "b", "c"] {
        masters.declare(&name.into(), 1, DType::F32).unwrap();
    }
    let places = places(&masters, params.iter(), grads.iter());
    places.into_iter().map(|place| place.map(|Place { param, id }| (param, id.unwrap()))).collect()
}

#[test]
fn gradients_are_found_in_any_order_of_theirs_and_of_the_parameters() {
    let abc = &["a", "b", "c"];
    let [a, b, c] = [0, 1, 2].map(|place| Some((place, place)));
    assert_eq!(found(abc, abc), [a, b, c]);
    assert_eq!(found(abc, &["b"]), [b]);
    assert_eq!(found(abc, &["a", "c"]), [a, c]);
    assert_eq!(found(abc, &["c", "a", "b"]), [c, a, b]);
    assert_eq!(found(&["b", "a"], &["a", "b"]), [Some((1, 0)), Some((0, 1))]);
}

#[test]
fn a_stranger_and_a_second_of_a_name_are_told_and_the_others_found() {
    let abc = &["a", "b", "c"];
    let [a, b, c] = [0, 1, 2].map(|place| Some((place, place)));
    assert_eq!(found(abc, &["a", "d", "c"]), [a, None, c]);
    assert_eq!(found(abc, &["a", "b", "c", "d"]), [a, b, c, None]);
    assert_eq!(found(abc, &["a", "b", "b"]), [a, b, None]);
    // A parameter that comes twice waits once.
    assert_eq!(found(&["a", "b", "b"], &["b", "b"]), [Some((2, 1)), None]);
}

#[test]
fn a_parameter_that_no_master_was_made_for_has_no_id() {
    let config = OptimizerConfig::new(UpdateRule::sgd(0.1)).unwrap();
    let masters = HostMasters::new(&config, [].into_iter()).unwrap();
    let late: Arc<str> = "late".into();
    let places = places(&masters, [&late].into_iter(), [&late].into_iter());
    assert_eq!(places, [Some(Place { param: 0, id: None })]);
}
