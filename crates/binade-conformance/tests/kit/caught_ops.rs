//! Each subject with a wrong operation is caught, by the case that names its fault.

use crate::caught::caught;
use crate::wrong_ops::Slip::*;

#[test]
fn summing_in_f16_is_caught() {
    caught(&SumsInF16, "sum/f16/seventy_thousand_ones_are_seventy_thousand");
    caught(&SumsInF16, "sum/f16/large_values_that_alternate_leave_what_is_between_them");
}

#[test]
fn multiplying_in_f16_is_caught() {
    caught(&MultipliesInF16, "matmul/f16/4096_ones_add_up");
    caught(&MultipliesInF16, "matmul/f16/random_2x4096_by_4096x3");
}
