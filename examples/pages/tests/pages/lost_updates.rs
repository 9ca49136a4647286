//! Claims of the page on lost updates.

use binade::prelude::*;
use binade_example_pages::lost_updates::run;

#[test]
fn without_a_master_no_update_arrives() {
    for dtype in [DType::BF16, DType::F16] {
        assert_eq!(run(OptLevel::O3, dtype).unwrap().to_bits(), 1.0_f32.to_bits(), "{dtype}");
    }
}

#[test]
fn with_a_master_every_update_arrives() {
    for dtype in [DType::BF16, DType::F16] {
        assert_eq!(run(OptLevel::O2, dtype).unwrap().to_bits(), 2.0_f32.to_bits(), "{dtype}");
    }
}
