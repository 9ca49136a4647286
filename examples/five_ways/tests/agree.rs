//! The two ways learn the same.

use binade_example_five_ways::{slices, tape};
use binade_example_shared::five_ways::{Precision, Row, Task};

fn both(precision: Precision) -> [Row; 2] {
    let task = Task::new(3).unwrap().with_epochs(4);
    [tape::row(&task, precision).unwrap(), slices::row(&task, precision).unwrap()]
}

/// By how much the losses differ, as a share.
fn apart([tape, slices]: &[Row; 2]) -> f32 {
    let (tape, slices) = (tape.loss.unwrap(), slices.loss.unwrap());
    (tape - slices).abs() / tape
}

#[test]
fn in_f32_the_two_ways_end_alike() {
    let rows = both(Precision::F32);
    assert!(apart(&rows) < 1e-4, "{rows:?}");
    assert!(rows.iter().all(|row| row.accuracy > 0.5 && row.moved > 0.8), "{rows:?}");
}

#[test]
fn in_sixteen_bits_with_masters_both_stay_near_f32_and_every_weight_still_moves() {
    let wide = both(Precision::F32)[0].loss.unwrap();
    for precision in [Precision::Bf16, Precision::F16] {
        let rows = both(precision);
        assert!(apart(&rows) < 1e-2, "{rows:?}");
        assert!(rows.iter().all(|row| (row.loss.unwrap() - wide).abs() / wide < 2e-2), "{rows:?}");
        assert!(rows.iter().all(|row| row.moved > 0.8), "{rows:?}");
    }
}

#[test]
fn in_f16_both_skip_the_same_steps() {
    let [tape, slices] = both(Precision::F16);
    assert_eq!(tape.scaling, slices.scaling);
    assert!(tape.scaling.is_some());
}
