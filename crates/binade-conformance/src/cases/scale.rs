//! Scaling: a loss times the scale, and a tensor of no optimizer divided by it, in `f32` whatever the storage type.

use super::cast::{round, rounded, value};
use super::prelude::*;
use super::unscale;
use super::unscale::factor;
use binade_grad_scaler::ScaleState;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        factors(cases, dtype);
        imported(cases, dtype);
        lengths(cases, dtype);
        losses(cases, dtype);
    }
    for dtype in EIGHT_BITS {
        eight_bits(cases, dtype);
    }
}

/// Returns the tensor times the scale.
fn scaled<S: Backend>(s: &S, of: &Tensor<S>, by: ScaleState, like: &Stored) -> Read {
    get(s, &s.scale(of, by)?, DType::F32, &like.shape)
}

/// Returns the tensor divided by the scale.
fn unscaled<S: Backend>(s: &S, of: &Tensor<S>, by: ScaleState, like: &Stored) -> Read {
    get(s, &s.unscale_tensor(of, by)?, DType::F32, &like.shape)
}

type Read = Result<Stored, CaseError>;

fn each(input: &Stored, state: ScaleState, way: fn(f64, f64) -> f64) -> Vec<f64> {
    input.values().map(|x| way(x, factor(&state))).collect()
}

/// Compares scaling and unscaling of `input` with the oracle, bit by bit.
fn both<S: Backend>(s: &S, check: &mut Check, input: &Stored, state: ScaleState) -> Verdict {
    let tensor = &put(s, input)?;
    check.exact(&[input], &scaled(s, tensor, state, input)?, &each(input, state, up))?;
    check.exact(&[input], &unscaled(s, tensor, state, input)?, &each(input, state, down))
}

fn factors<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let smallest =
        if cases.arithmetic().keeps_subnormals { 0.0 } else { value(1 << 23, DType::F32) };
    for exponent in [-126, -20, -1, 0, 1, 15, 16, 24, 126] {
        let sentence = format!("multiplies_and_divides_exactly_by_2^{exponent}");
        cases.add(dtype, sentence, move |s: &S, check| {
            let state = ScaleState::from_exponent(exponent);
            let more = finite(12, 257, dtype, [-14.0, 15.0]).into_iter().map(|x| round(x, dtype));
            // A subject that flushes subnormals may do so here, in operands and results.
            let kept = |code: &u64| {
                let x = value(*code, dtype);
                let all = [x, x * factor(&state), x / factor(&state)];
                all.into_iter().all(|x| x.is_nan() || x == 0.0 || x.abs() >= smallest)
            };
            let codes: Vec<u64> = awkward(dtype).into_iter().chain(more).filter(kept).collect();
            let input = Stored::code_vector(dtype, codes);
            both(s, check, &input, state)
        });
    }
}

/// Adds cases of another library's scale: the product is rounded once, and the quotient is the product with the reciprocal.
fn imported<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "an_imported_scale_multiplies_in_f32_and_divides_within_two_ulps";
    cases.add(dtype, sentence, move |s: &S, check| {
        let input = Stored::vector(dtype, finite(13, 257, dtype, [-4.0, 4.0]));
        let tensor = put(s, &input)?;
        for state in [3.0, 1000.0, 0.7].into_iter().filter_map(ScaleState::import) {
            let got = scaled(s, &tensor, state, &input)?;
            check.exact(&[&input], &got, &each(&input, state, up))?;
            let (got, wanted) = (unscaled(s, &tensor, state, &input)?, each(&input, state, down));
            check.values(&[&input], &got, &wanted, Some(Agreement::Ulps(2)))?;
        }
        Ok(())
    });
}

/// Adds cases of every eight-bit code, NaN and subnormals included, in whole vectors, unaligned vectors, and ends of vectors.
fn eight_bits<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.add(dtype, "every_code_of_eight_bits_is_multiplied_in_f32", move |s: &S, check| {
        let codes = in_every_lane((0..256).collect());
        let lengths = (1..8).chain([codes.len()]);
        lengths.zip((0..2).cycle()).chain([(codes.len(), 0)]).try_for_each(|(length, offset)| {
            let codes = codes[codes.len() - length..].iter().copied();
            let input = Stored::code_vector(dtype, codes).view(Layout::Offset(offset));
            both(s, check, &input, ScaleState::from_exponent(16))
        })
    });
}

fn lengths<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let state = ScaleState::from_exponent(16);
    let input = move |length| Stored::vector(dtype, finite(length, length, dtype, [-10.0, 10.0]));
    cases.lengths(dtype, LENGTHS.into_iter().chain([LONG[2]]), move |s: &S, check, length| {
        let input = input(length);
        both(s, check, &input, state)
    });
    cases.views(dtype, move |s: &S, check, layout, length| {
        both(s, check, &input(length).view(layout), state)
    });
    cases.add(dtype, "what_is_scaled_keeps_its_own_bits", move |s: &S, check| {
        let input = input(33);
        let tensor = put(s, &input)?;
        scaled(s, &tensor, state, &input)?;
        unscaled(s, &tensor, state, &input)?;
        let values: Vec<f64> = input.values().collect();
        check.exact(&[&input], &get(s, &tensor, dtype, &input.shape)?, &values)
    });
}

/// Adds cases of scalars, whose type may be too small for the scale.
fn losses<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.add(dtype, "a_loss_of_two_is_scaled_beyond_65504", move |s: &S, check| {
        let loss = Stored::from_values(dtype, &[], [2.0]);
        both(s, check, &loss, ScaleState::from_exponent(16))
    });
}

// The oracle.

/// One element times `scale`, rounded once to `f32`.
fn up(x: f64, scale: f64) -> f64 {
    rounded(x * scale, DType::F32)
}

/// Returns one element divided by `scale`, rounded once to `f32`.
fn down(x: f64, scale: f64) -> f64 {
    unscale::element(x, scale)
}
