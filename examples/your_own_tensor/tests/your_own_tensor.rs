//! Claims of the example: the length of the join, the results of the runs, and the kit's contracts.

use binade::core::{AmpTensor, DType, Error, ErrorKind};
use binade_example_your_own_tensor::{EPOCHS, runs, subject::Subject, table, tensor::Mine};

#[test]
fn the_join_is_under_sixty_lines() {
    let lines = include_str!("../src/join.rs").lines().count();
    assert!(lines < 60, "{lines}");
}

#[test]
fn f16_fails_alone_and_trains_with_binade_as_f32_does_and_the_page_has_the_numbers() {
    // Each run with Binade is saved half-way, and fails if the resumed one ends with other bits.
    let rows = runs(EPOCHS).unwrap();
    let (page, table) = (include_str!("../../../docs/src/your-own-tensor.md"), table(&rows));
    assert!(page.contains(&table), "docs/src/your-own-tensor.md has another table than:\n{table}");
    let [single, alone, half, brain] = &rows[..] else { panic!("four runs: {rows:?}") };
    assert!(single.accuracy > 0.9, "{single:?}");
    assert!(alone.loss.is_nan() && alone.accuracy == 0.0, "{alone:?}");
    for with in [half, brain] {
        assert!((with.loss - single.loss).abs() < 0.01, "{with:?}, and {single:?}");
        assert!((with.accuracy - single.accuracy).abs() < 0.02, "{with:?}, and {single:?}");
    }
    assert!(half.scale.is_some_and(|scale| scale > 65536.0), "{half:?}");
    assert_eq!((brain.skipped, brain.scale), (Some(0), Some(1.0)));
}

#[test]
fn what_the_tensor_has_is_most_of_the_kit() {
    let report = Subject::report();
    report.assert_success();
    assert!(report.passed() > 1500, "{report}");
}

#[test]
fn a_type_that_it_does_not_have_is_refused_by_name() {
    let error = Mine::scalar(1.0).cast(DType::F64).unwrap_err();
    assert_eq!(error.to_string(), "elements are bf16, f16 or f32, and not f64: take one of these");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
