//! Claims of the page on accumulation.

use binade_example_pages::accumulation::{INPUTS, run};

#[test]
fn a_window_is_the_sum_of_its_good_micro_batches_across_a_scale_change() {
    // A quarter of the gradient of (x·w − 1)² at w = (1, 1), in numbers that f16 has exactly.
    let mut expected = [1.0, 1.0];
    for x in [INPUTS[0], INPUTS[1], INPUTS[3]] {
        let towards_y = 2.0 * (x[0] + x[1] - 1.0) / 4.0;
        expected = [expected[0] - towards_y * x[0], expected[1] - towards_y * x[1]];
    }
    assert_eq!(run().unwrap().weight, expected);
}

#[test]
fn a_bad_micro_batch_is_named_and_backs_the_scale_off_once() {
    let window = run().unwrap();
    assert_eq!(window.dropped, ["micro-batch 2"]);
    assert_eq!((window.report.scale.before, window.report.scale.exponent), (8, 7));
    assert_eq!((window.report.scale.overflows, window.report.scale.skipped), (1, 0));
    let text = window.report.to_string();
    assert!(text.contains("micro-batch 2: weight[0] is +inf"), "{text}");
}
