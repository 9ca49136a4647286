//! The promotion table, and torch's rule beside it.

use binade_core::{
    DType::{self, BF16, Bool, E4M3, E5M2, F16, F32, F64, I32, I64, U8},
    Error, ErrorKind, PromoteError, promote, promote_like_torch,
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

/// Every operand's value survives the promotion: more significant bits, wider range at both ends.
#[test]
fn a_promotion_holds_every_operand_exactly() {
    for a in CASTABLE {
        for b in CASTABLE {
            let meet = promote(&[a, b]).and_then(DType::format).unwrap();
            for operand in [a, b].map(|dtype| dtype.format().unwrap()) {
                assert!(meet.significand_bits >= operand.significand_bits, "{a} with {b}");
                assert!(meet.max >= operand.max, "{a} with {b}");
                assert!(meet.min_subnormal <= operand.min_subnormal, "{a} with {b}");
            }
        }
    }
}

#[test]
fn torchs_rule_starts_from_the_region_and_f32_wins() {
    for region in [BF16, F16] {
        assert_eq!(promote_like_torch(region, &[]), Ok(region));
        assert_eq!(promote_like_torch(region, &[region, region]), Ok(region));
        assert_eq!(promote_like_torch(region, &[region, F32]), Ok(F32));
        assert_eq!(promote_like_torch(region, &[F32]), Ok(F32));
        assert_eq!(promote_like_torch(region, &NO_SAY), Ok(region));
        assert_eq!(promote_like_torch(region, &[F64, F32, I64]), Ok(F32));
    }
}

#[test]
fn torchs_rule_refuses_a_third_type_in_any_order() {
    for (region, operand) in [(BF16, F16), (F16, BF16), (BF16, E4M3), (F16, E5M2)] {
        let refused = Err(PromoteError::Operand { region, operand });
        assert_eq!(promote_like_torch(region, &[operand]), refused);
        assert_eq!(promote_like_torch(region, &[operand, F32]), refused);
        assert_eq!(promote_like_torch(region, &[F32, operand]), refused);
        assert_eq!(promote_like_torch(region, &[region, I64, operand]), refused);
    }
}

#[test]
fn the_errors_name_both_types_and_say_what_to_do() {
    let operand = promote_like_torch(BF16, &[F32, F16]).unwrap_err();
    assert_eq!(
        operand.to_string(),
        "an f16 operand in a bf16 region: torch's rule promotes bf16 and f32 only; cast the operand to bf16 or f32, or use \
         a policy that promotes f16 with bf16"
    );
    assert_eq!(operand.kind(), ErrorKind::Mismatch);

    let region = promote_like_torch(F64, &[F64]).unwrap_err();
    assert_eq!(
        region.to_string(),
        "a region cannot cast to f64: choose bf16 or f16, or run the operation outside the region"
    );
    assert_eq!(region.kind(), ErrorKind::InvalidArgument);
}
