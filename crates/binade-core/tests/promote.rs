//! Table of promotions.

use binade_core::{
    DType::{self, BF16, Bool, E4M3, E5M2, F16, F32, F64, I32, I64, U8},
    promote,
};

const CASTABLE: [DType; 5] = [BF16, F16, F32, E4M3, E5M2];
const NO_SAY: [DType; 5] = [F64, I64, I32, U8, Bool];

#[test]
fn the_table_is_this_one() {
    let table = [
        [BF16, F32, F32, BF16, BF16],
        [F32, F16, F32, F16, F16],
        [F32, F32, F32, F32, F32],
        [BF16, F16, F32, E4M3, F32],
        [BF16, F16, F32, F32, E5M2],
    ];
    for (row, a) in table.into_iter().zip(CASTABLE) {
        for (expected, b) in row.into_iter().zip(CASTABLE) {
            assert_eq!(promote(&[a, b]), Some(expected), "{a} with {b}");
        }
    }
}

#[test]
fn what_autocast_never_casts_has_no_say() {
    for silent in NO_SAY {
        for dtype in CASTABLE {
            assert_eq!(promote(&[silent, dtype, silent]), Some(dtype), "{silent} with {dtype}");
        }
        assert_eq!(promote(&[silent]), None, "{silent}");
    }
    assert_eq!(promote(&[]), None);
}

#[test]
fn neither_order_nor_number_matters() {
    for a in CASTABLE {
        for b in CASTABLE {
            for c in CASTABLE {
                let expected = promote(&[a, b, c]);
                for other in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
                    assert_eq!(promote(&other), expected, "{other:?}");
                }
                assert_eq!(promote(&[a, a, b, c, c]), expected);
            }
        }
    }
    assert_eq!(promote(&[E4M3, E5M2, BF16]), Some(BF16));
}
