//! Subjects that are wrong in one way each in an operation that goes through elements one by one, or moves them.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Plain, Tensors, Toy};
use super::toy_ops::{map, zip};
use crate::backend::Backend as _;
use crate::{OpInvocation, Result, SubjectError};
use binade_core::ErrorKind;

/// The fault of this name.
struct Wrong(&'static str);

impl Fault for Wrong {
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Tensors> {
        let mut results = match (Toy.compute(op, operands), operands) {
            (Err(SubjectError::Rejected(ErrorKind::InvalidArgument, _)), [x, _])
                if self.0 == "fills_with_infinity" =>
            {
                vec![map(x, |_| f32::INFINITY)]
            }
            (results, _) => results?,
        };
        if let Some(one) = first(self.0, op, operands, &results[0]) {
            results[0] = one;
        }
        if let Some(one) = second(self.0, op, operands, &results[0]) {
            results[1] = one;
        }
        Ok(results)
    }
}

/// The first result of a fault, made of operands or of the right result.
fn first(fault: &str, op: &OpInvocation, t: &[&Plain], right: &Plain) -> Option<Plain> {
    use OpInvocation as C;
    let again =
        |op: OpInvocation, t: &[&Plain]| Toy.compute(&op, t).map(|mut all| all.remove(0)).ok();
    Some(match (fault, op, t) {
        ("makes_gelu_tanh_exact", C::GeluTanh, [x]) => again(C::Gelu, &[x])?,
        ("takes_one_off_in_the_tail", C::GeluTanh, [x]) => map(x, |x| {
            let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }),
        ("keeps_exponentials_finite", C::Exp, _) => map(right, |y| y.min(65504.0)),
        ("flushes_exponentials", C::Exp, _) => {
            map(right, |y| if y < f32::MIN_POSITIVE { 0.0 } else { y })
        }
        ("takes_roots_of_magnitudes", C::Sqrt, [x]) => map(x, |x| x.abs().sqrt()),
        ("flushes_small_operands", C::Sqrt, [x]) => {
            zip(x, right, |x, y| if x < f32::MIN_POSITIVE { 0.0 } else { y })
        }
        ("subtracts_the_other_way", C::Sub, [a, b]) => zip(b, a, |b, a| b - a),
        ("multiplies_by_reciprocals", C::Div, [a, b]) => zip(a, b, |a, b| a * (1.0 / b)),
        ("begins_at_the_first_place", C::Narrow { axis, len, .. }, _) => {
            again(C::Narrow { axis: *axis, start: 0, len: *len }, t)?
        }
        ("leaves_ones_beside_the_part", C::NarrowBackward { .. }, _) => {
            map(right, |g| if g.to_bits() == 0 { 1.0 } else { g })
        }
        ("joins_backwards", C::Cat { .. }, _) => {
            again(op.clone(), &t.iter().rev().copied().collect::<Vec<_>>())?
        }
        ("takes_masks_for_weights", C::MaskedFill { value }, [x, mask])
            if x.len() == mask.len() =>
        {
            zip(x, mask, |x, mask| x * (1.0 - mask) + value * mask)
        }
        _ => return None,
    })
}

/// The second result of a fault in a gradient.
fn second(fault: &str, op: &OpInvocation, t: &[&Plain], first: &Plain) -> Option<Plain> {
    use OpInvocation as C;
    match (fault, op, t) {
        ("forgets_the_opposite", C::SubBackward, _) => Some(first.clone()),
        ("divides_once", C::DivBackward, [_, a, _]) => {
            Some(zip(first, a, |of_dividend, a| -of_dividend * a))
        }
        _ => None,
    }
}

caught! {
    fn makes_gelu_tanh_exact() by "gelu_tanh/f32/it_is_the_form_by_tanh_and_not_the_exact_one";
    fn takes_one_off_in_the_tail() by "gelu_tanh/f32/the_lower_tail_keeps_its_digits";
    fn keeps_exponentials_finite() by "exp/f16/results_beyond_the_range_are_infinite_or_zero";
    fn flushes_exponentials() by "exp/f32/small_results_keep_their_digits";
    fn takes_roots_of_magnitudes() by
        "sqrt/f16/zeros_keep_their_sign_and_other_negative_numbers_have_no_root";
    fn flushes_small_operands() by "sqrt/f32/every_magnitude_keeps_its_digits";
    fn subtracts_the_other_way() by "sub/bf16/all_of_3_elements";
    fn forgets_the_opposite() by "sub/f16/all_of_3_elements";
    fn multiplies_by_reciprocals() by "div/f32/any_two_patterns_nan_and_infinity_among_them";
    fn divides_once() by "div/bf16/all_of_8_elements";
    fn begins_at_the_first_place() by "narrow/f16/part_1x1x2_of_5x3" "narrow/bf16/part_2x16x16_of_3x2x48";
    fn leaves_ones_beside_the_part() by "narrow/f32/part_1x1x2_of_5x3";
    fn joins_backwards() by "cat/f32/2x3_with_3x4_on_axis_1" "cat/f16/2x3x8_with_8x8_on_axis_2";
    fn takes_masks_for_weights() by
        "masked_fill/f16/7_by_a_mask_of_7" "masked_fill/f32/any_element_but_a_zero_fills";
    fn fills_with_infinity() by_only "masked_fill/-/a_finite_value_beyond_the_range_is_an_invalid_argument";
}
