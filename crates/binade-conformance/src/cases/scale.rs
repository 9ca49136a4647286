//! Scaling: a loss times the scale, and a tensor of no optimizer over it, in `f32` whatever the storage.

use super::cast::{round, rounded, value};
use super::prelude::*;
use super::unscale;
use super::unscale::factor;
use binade_grad_scaler::ScaleState;

/// Direction of the scaling.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Up,
    Down,
}
use Way::{Down, Up};

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

impl Way {
    fn of(self, x: f64, scale: f64) -> f64 {
        match self {
            Up => up(x, scale),
            Down => down(x, scale),
        }
    }

    fn ask<S: Backend>(
        self,
        s: &S,
        tensor: &Tensor<S>,
        state: ScaleState,
        shape: &[usize],
    ) -> Result<Stored, CaseError> {
        let scaled = match self {
            Up => s.scale(tensor, state)?,
            Down => s.unscale_tensor(tensor, state)?,
        };
        get(s, &scaled, DType::F32, shape)
    }
}

/// Both ways, bit by bit.
fn both<S: Backend>(s: &S, check: &mut Check, input: &Stored, state: ScaleState) -> Verdict {
    let tensor = &put(s, input)?;
    [Up, Down].into_iter().try_for_each(|way| {
        let got = way.ask(s, tensor, state, &input.shape)?;
        let wanted: Vec<f64> = input.values().map(|x| way.of(x, factor(&state))).collect();
        check.exact(&[input], &got, &wanted)
    })
}

fn factors<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let smallest =
        if cases.arithmetic().keeps_subnormals { 0.0 } else { value(1 << 23, DType::F32) };
    for exponent in [-126, -20, -1, 0, 1, 15, 16, 24, 126] {
        let sentence = format!("multiplies_and_divides_exactly_by_2^{exponent}");
        cases.add(dtype, sentence, move |s: &S, check| {
            let state = ScaleState::from_exponent(exponent);
            let more = finite(12, 257, dtype, [-14.0, 15.0]).into_iter().map(|x| round(x, dtype));
            // What flushes subnormals may do so here, going in and coming out.
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

/// Of another library's scale: a product rounded once; the quotient by way of the reciprocal.
fn imported<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "an_imported_scale_multiplies_in_f32_and_divides_within_two_ulps";
    cases.add(dtype, sentence, move |s: &S, check| {
        let input = Stored::vector(dtype, finite(13, 257, dtype, [-4.0, 4.0]));
        let tensor = put(s, &input)?;
        for state in [3.0, 1000.0, 0.7].into_iter().filter_map(ScaleState::import) {
            let exact = |way: Way| input.values().map(move |x| way.of(x, factor(&state)));
            let got = Up.ask(s, &tensor, state, &input.shape)?;
            check.exact(&[&input], &got, &exact(Up).collect::<Vec<_>>())?;
            let got = Down.ask(s, &tensor, state, &input.shape)?;
            let wanted: Vec<f64> = exact(Down).collect();
            check.values(&[&input], &got, &wanted, Some(Agreement::Ulps(2)))?;
        }
        Ok(())
    });
}

/// Every code that eight bits have, NaN and subnormals among them, in whole vectors, in vectors that are not aligned, and in the ends
/// of vectors.
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
        for way in [Up, Down] {
            way.ask(s, &tensor, state, &input.shape)?;
        }
        let values: Vec<f64> = input.values().collect();
        check.exact(&[&input], &get(s, &tensor, dtype, &input.shape)?, &values)
    });
}

/// Scalars, whose type may end below the scale.
fn losses<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.add(dtype, "a_loss_of_two_is_scaled_beyond_65504", move |s: &S, check| {
        let loss = Stored::from_values(dtype, &[], [2.0]);
        both(s, check, &loss, ScaleState::from_exponent(16))
    });
}

/// Agreement: bits. Each element is one product or one quotient, rounded to `f32`.
pub(super) const AGREEMENT: Agrees = |_| Agreement::Bits;

// The oracle.

/// One element times `scale`, rounded once to `f32`.
fn up(x: f64, scale: f64) -> f64 {
    rounded(x * scale, DType::F32)
}

/// One element over `scale`, rounded once to `f32`.
fn down(x: f64, scale: f64) -> f64 {
    unscale::element(x, scale)
}
