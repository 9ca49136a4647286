//! Claims of the page on clipping.

use binade_example_pages::clipping;

#[test]
fn a_limit_is_in_the_losss_own_units_whatever_the_scale() {
    let applied = clipping::run().unwrap().map(|clipped| clipped.applied);
    let expected = [[6.0, 8.0, 24.0], [3.0, 4.0, 12.0], [1.5, 2.0, 6.0], [6.0, 7.0, 7.0]];
    assert_eq!(applied, expected.map(Vec::from));
}

#[test]
fn the_report_has_the_norm_from_before_clipping_where_one_was_measured() {
    let norms = clipping::run().unwrap().map(|clipped| clipped.norm);
    assert_eq!(norms, [Some(26.0), Some(26.0), Some(24.0), None]);
}
