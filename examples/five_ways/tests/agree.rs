//! Agreement of the ways: all learn the same.

use binade::core::DType;
use binade_example_five_ways::{own_tensor, slices, tape};
use binade_example_shared::five_ways::{Row, Task};
use std::sync::LazyLock;

/// Rows of the three ways, trained once for all tests.
type Rows = LazyLock<[Row; 3]>;

static F32: Rows = LazyLock::new(|| train(DType::F32));
static BF16: Rows = LazyLock::new(|| train(DType::BF16));
static F16: Rows = LazyLock::new(|| train(DType::F16));

fn train(precision: DType) -> [Row; 3] {
    let task = Task::new(3).unwrap().with_epochs(4);
    [tape::row, own_tensor::row, slices::row].map(|way| way(&task, precision).unwrap())
}

/// Returns the largest difference of a loss from the tape's, as a share.
fn apart(rows: &[Row; 3]) -> f32 {
    let [tape, own, slices] = rows.each_ref().map(|row| row.loss.unwrap());
    (tape - slices).abs().max((tape - own).abs()) / tape
}

#[test]
fn in_f32_all_ways_end_alike() {
    let rows = &*F32;
    assert!(apart(rows) < 1e-4, "{rows:?}");
    assert!(rows.iter().all(|row| row.accuracy > 0.5 && row.moved > 0.8), "{rows:?}");
}

#[test]
fn in_sixteen_bits_with_masters_all_stay_near_f32_and_every_weight_still_moves() {
    let wide = F32[0].loss.unwrap();
    for rows in [&*BF16, &*F16] {
        assert!(apart(rows) < 1e-2, "{rows:?}");
        assert!(rows.iter().all(|row| (row.loss.unwrap() - wide).abs() / wide < 2e-2), "{rows:?}");
        assert!(rows.iter().all(|row| row.moved > 0.8), "{rows:?}");
    }
}

#[test]
fn in_f16_all_skip_the_same_steps() {
    let [tape, own, slices] = F16.each_ref().map(|row| row.scaling);
    assert_eq!((tape, tape), (own, slices));
    assert!(tape.is_some_and(|scaling| scaling.skipped < 10), "{tape:?}");
}
