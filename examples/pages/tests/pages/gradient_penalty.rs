//! Claims of the page on the gradient penalty.

use binade_example_pages::gradient_penalty::run;

#[test]
fn a_penalty_holds_the_slope_near_one_and_still_tells_real_from_fake() {
    let critic = run(10.0).unwrap();
    assert!(critic.measured.iter().all(|slope| (slope - 1.0).abs() < 0.1), "{critic:?}");
    assert!(critic.distance > 1.5, "{critic:?}");
}

#[test]
fn what_is_measured_and_unscaled_is_what_the_expression_says() {
    for lambda in [0.0, 10.0] {
        let critic = run(lambda).unwrap();
        assert_eq!(critic.measured.len(), 4);
        for (measured, expressed) in critic.measured.iter().zip(&critic.expressed) {
            // Both are rounded to f16 a few times on their way, 2^-11 of the value each.
            assert!((measured - expressed).abs() < 4e-3 * expressed, "{critic:?}");
        }
    }
}

#[test]
fn without_the_penalty_the_slope_runs_away() {
    let critic = run(0.0).unwrap();
    assert!(critic.measured.iter().any(|slope| *slope > 5.0), "{critic:?}");
}
