//! Claims of the page on a custom operation.

use binade::prelude::*;
use binade_example_pages::custom_op::run;

#[test]
fn recomputing_in_the_region_given_back_has_the_bits_of_keeping() {
    for region in [Region::f16().off(), Region::bf16(), Region::f16()] {
        let (kept, recomputed) = (run(&region, false).unwrap(), run(&region, true).unwrap());
        assert_eq!(recomputed.loss, kept.loss, "{region:?}");
        assert_eq!(recomputed.gradients, kept.gradients, "{region:?}");
    }
}

#[test]
fn the_region_decides_what_those_bits_are() {
    let [off, bf16, f16] = [Region::f16().off(), Region::bf16(), Region::f16()]
        .map(|region| run(&region, true).unwrap().gradients);
    assert!(off != bf16 && bf16 != f16 && off != f16);
}

#[test]
fn the_tape_keeps_less_in_sixteen_bits() {
    let (kept, recomputed) =
        (run(&Region::f16(), false).unwrap(), run(&Region::f16(), true).unwrap());
    assert!(recomputed.kept < kept.kept, "{} and {}", recomputed.kept, kept.kept);
}
