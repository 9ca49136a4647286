//! Normalisation over the last axis: statistics that hold beside a large mean, and parameters of either type.

#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

use super::FLOATS;
use super::ask::{Ask, Asks, Computes, ones, refusals, uniform, values};
use super::bias_add::name;
use super::values::{offsets, wide_rows};
use crate::oracle::layer_norm::{backward, layer_norm};
use crate::{Check, Compute, Operation::LayerNorm, Stored, Verdict};
use binade_core::{DType, ErrorKind};

const EPS: f32 = 1e-5;

const SHAPES: [&[usize]; 19] = [
    &[2],
    &[3, 1],
    &[3, 7],
    &[2, 8],
    &[9, 9],
    &[2, 3, 31],
    &[3, 32],
    &[5, 33],
    &[2, 255],
    &[3, 257],
    &[65, 5],
    &[4099, 3],
    &[3, 4],
    &[2, 6],
    &[3, 10],
    &[2, 1031],
    &[2, 8203],
    &[0, 4],
    &[3, 0],
];

pub(super) fn add(cases: &mut Asks) {
    for dtype in FLOATS {
        for shape in SHAPES {
            cases.add(LayerNorm, dtype, format!("random_{}", name(shape)), move |s, check| {
                let x = uniform(1, dtype, shape, [-2.0, 3.0]);
                both(s, check, &x, dtype, EPS, 0)
            });
        }
        cases.add(LayerNorm, dtype, "parameters_may_be_of_f32", move |s, check| {
            both(s, check, &uniform(1, dtype, &[5, 33], [-2.0, 3.0]), DType::F32, EPS, 0)
        });
        cases.add(LayerNorm, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets().try_for_each(|(offset, _)| {
                let x = uniform(offset, dtype, &[3, 33], [-2.0, 3.0]);
                both(s, check, &x, dtype, EPS, offset)
            })
        });
        let sentence = "a_wide_row_may_hang_on_its_last_elements";
        cases.add(LayerNorm, dtype, sentence, move |s, check| {
            wide_rows(0.0).zip((0..2).cycle()).try_for_each(|(row, offset)| {
                let x = Stored::from_values(dtype, &[1, row.len()], row);
                both(s, check, &x, dtype, EPS, offset)
            })
        });
        cases.add(LayerNorm, dtype, "a_large_mean_leaves_the_variance_alone", move |s, check| {
            let mean = if dtype == DType::F32 { 16384.0 } else { 128.0 };
            let row = (0..64).map(|i| mean + f64::from(i * 7 % 5) - 2.0);
            both(s, check, &Stored::from_values(dtype, &[1, 64], row), dtype, EPS, 0)
        });
        cases.add(
            LayerNorm,
            dtype,
            "squares_beyond_the_format_have_a_variance",
            move |s, check| {
                let row = (0..32).map(|i| if i % 2 == 0 { 30000.0 } else { -30000.0 });
                both(s, check, &Stored::from_values(dtype, &[1, 32], row), dtype, EPS, 0)
            },
        );
        cases.add(LayerNorm, dtype, "eps_is_added_to_the_variance", move |s, check| {
            let x = Stored::from_values(dtype, &[2, 4], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.001]);
            [1e-5, 1e-3, 1.0].into_iter().try_for_each(|eps| both(s, check, &x, dtype, eps, 0))
        });
        cases.add(LayerNorm, dtype, "a_nan_stays_in_its_row", move |s, check| {
            let x = Stored::from_values(dtype, &[2, 3], [1.0, f64::NAN, 3.0, 4.0, 5.0, 7.0]);
            both(s, check, &x, dtype, EPS, 0)?;
            let wide = (0..34).map(|i| if i == 20 { f64::NAN } else { f64::from(i % 5) });
            both(s, check, &Stored::from_values(dtype, &[2, 17], wide), dtype, EPS, 0)
        });
        cases.add(LayerNorm, dtype, "gradients_of_parameters_are_summed_wide", move |s, check| {
            // x̂ is ±1 within eps: the sum over 2050 rows has that many terms of one sign.
            let x = Stored::from_values(dtype, &[2050, 2], (0..4100).map(|i| f64::from(i % 2)));
            let (g, w) = (ones(dtype, &[2050, 2]), ones(dtype, &[2]));
            let wanted = backward(&values(&g), &values(&x), &[1.0; 2], f64::from(EPS));
            Ask::new(Compute::LayerNormBackward { eps: EPS }, &[&g, &x, &w]).near(
                s,
                check,
                wanted.map(|wanted| (dtype, wanted)),
            )
        });
    }
    let (x, w) = (ones(DType::F16, &[4, 3]), ones(DType::F16, &[3]));
    let forward = |operands: Vec<Stored>| (Compute::LayerNorm { eps: EPS }, operands);
    let narrow = ones(DType::BF16, &[3]);
    let all = vec![
        forward(vec![x.clone(), ones(DType::F16, &[4]), ones(DType::F16, &[4])]),
        forward(vec![x.clone(), narrow.clone(), narrow]),
        forward(vec![x.clone(), ones(DType::F32, &[3]), w.clone()]),
        (Compute::LayerNormBackward { eps: EPS }, vec![ones(DType::F32, &[4, 3]), x, w]),
    ];
    refusals(cases, LayerNorm, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// Forward, and all three gradients.
fn both(
    s: &dyn Computes,
    check: &mut Check,
    x: &Stored,
    parameters: DType,
    eps: f32,
    offset: usize,
) -> Verdict {
    let width = x.shape.last().copied().unwrap_or_default();
    let [w, b] = [3, 4].map(|seed| uniform(seed, parameters, &[width], [-1.5, 1.5]));
    let wanted = layer_norm(&values(x), &values(&w), &values(&b), f64::from(eps));
    let ask = Ask::new(Compute::LayerNorm { eps }, &[x, &w, &b]).at(offset);
    ask.near(s, check, [(x.dtype, wanted)])?;
    let g = uniform(5, x.dtype, &x.shape, [-1.0, 1.0]);
    let [input, weight, bias] = backward(&values(&g), &values(x), &values(&w), f64::from(eps));
    let wanted = [(x.dtype, input), (parameters, weight), (parameters, bias)];
    Ask::new(Compute::LayerNormBackward { eps }, &[&g, x, &w]).at(offset).near(s, check, wanted)
}
