//! Dropout: the same mask on every device, bit for bit.
//!
//! The oracle decides each element by the word that the key and its index give.

use super::cast::rounded;
use super::prelude::*;
use super::training::narrow;
use crate::OpInvocation::{Dropout, DropoutBackward};
use binade_core::{
    DType::F32,
    stochastic::{Key, bits},
};

const KEY: [u64; 2] = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210];

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        cases.lengths(dtype, SHORT, move |run, length| {
            let x = uniform(length, dtype, &[length], [0.5, 2.0]);
            [0.5, 0.1].into_iter().try_for_each(|p| both(run, &x, KEY, p))
        });
        cases.starts(dtype, move |run, _, length| {
            let x = uniform(length, dtype, &[length], [0.5, 2.0]);
            both(run, &x, KEY, 0.3)
        });
        cases.add(dtype, "the_mask_is_a_function_of_the_key", move |run| {
            let x = ones(dtype, &[257]);
            let keys = [[1, 1], [1, 2], [2, 1], [1, 1 | 1 << 32], [1 | 1 << 32, 1], [u64::MAX; 2]];
            keys.into_iter().try_for_each(|key| both(run, &x, key, 0.5))?;
            // An element whose word equals the threshold is kept. A word whose last eight bits are 0 is an f32's.
            let of = Key { seed: 1, parameter: !0, step: 2 };
            let words: Vec<u32> = (0..2048).map(|index| bits(of, index)).collect();
            let edge = words.iter().position(|word| word.trailing_zeros() >= 8);
            let (edge, word) = edge.map_or((0, 0), |at| (at, words[at]));
            let p = rounded(f64::from(word) / 2.0_f64.powi(32), F32);
            both(run, &ones(dtype, &[edge + 1]), [1, 2], narrow(p))
        });
        cases.add(dtype, "what_stays_is_multiplied_in_f32", move |run| {
            let x = uniform(5, dtype, &[257], [-2.0, 2.0]);
            [0.1, 0.2, 0.75, 0.9, 0.99].into_iter().try_for_each(|p| both(run, &x, KEY, p))?;
            // Many of these products lie just beyond the middle of two f16.
            let x = (0..1024).map(|i| 1.0 + f64::from(i) / 1024.0);
            both(run, &Stored::vector(dtype, x), KEY, 0.04)
        });
        cases.add(dtype, "a_nan_and_an_infinity_drop_to_plus_zero", move |run| {
            let codes: Vec<u64> = awkward(dtype).repeat(4);
            let x = Stored::code_vector(dtype, codes);
            [0.5, 0.3].into_iter().try_for_each(|p| both(run, &x, KEY, p))
        });
        cases.add(dtype, "p_of_zero_is_the_identity", move |run| {
            let codes = awkward(dtype);
            both(run, &Stored::code_vector(dtype, codes), KEY, 0.0)
        });
        cases.add(dtype, "p_of_one_drops_everything", move |run| {
            let codes = awkward(dtype);
            let x = Stored::code_vector(dtype, codes);
            let key = key(KEY);
            let wanted = [(dtype, vec![0.0; x.len()])];
            run.exact(Dropout { p: 1.0 }, &[&x, &key], wanted.clone())?;
            run.exact(DropoutBackward { p: 1.0 }, &[&x, &key], wanted)
        });
    }
    let sentence = "a_p_outside_zero_to_one_is_an_invalid_argument";
    let outside = [-0.1, 1.5, f32::NAN, f32::INFINITY].map(|p| (Dropout { p }, "2 i64:2"));
    refusals(cases, sentence, ErrorKind::InvalidArgument, outside);
    mismatches(cases, [(Dropout { p: 0.5 }, "2 i64:3, 2 2, i64:2 i64:2")]);
}

fn key(words: [u64; 2]) -> Stored {
    i64s(&[2], words.map(u64::cast_signed))
}

/// Forward, and backward of other values by the same mask.
fn both(run: &mut OpRun<'_>, x: &Stored, words: [u64; 2], p: f32) -> Verdict {
    let key = key(words);
    let wanted = dropout(&values(x), words, f64::from(p));
    run.exact(Dropout { p }, &[x, &key], [(x.dtype, wanted)])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = dropout(&values(&g), words, f64::from(p));
    run.exact(DropoutBackward { p }, &[&g, &key], [(x.dtype, wanted)])
}

// The oracle.

/// Returns +0 for element `i` if its word is below `⌊p·2³²⌋`; else the element times `1 / (1 − p)`, in `f32`.
///
/// The word is that of the seed, with the counter's lower half as `step` and the complement of its upper half as `parameter`.
fn dropout(x: &[f64], [seed, counter]: [u64; 2], p: f64) -> Vec<f64> {
    let half = |word: u64| u32::try_from(word & 0xffff_ffff).unwrap_or_default();
    let key = Key { seed, parameter: !half(counter >> 32), step: half(counter) };
    let threshold = (p * 2.0_f64.powi(32)).floor();
    let factor = rounded(1.0 / rounded(1.0 - p, F32), F32);
    let one = |(x, index): (&f64, u64)| {
        let stays = f64::from(bits(key, index)) >= threshold;
        if stays { rounded(x * factor, F32) } else { 0.0 }
    };
    x.iter().zip(0..).map(one).collect()
}
