//! Attention: tiles and their edges, causal and masked, scores beyond the format, and queries without keys.

mod oracle;

use super::prelude::*;
use crate::OpInvocation::{
    ScaledDotProductAttention as Forward, ScaledDotProductAttentionBackward as Backward,
};
use binade_core::ops::AttentionConfig;
use oracle::{backward, forward};

/// Leading extents, and L, S, E, V.
const SIZES: &str = "1:1x1x1x1 3:2x3x4x5 2x2:7x9x8x8 2:33x65x16x24 1:66x34x31x33 1:70x130x72x70 1:70x130x72x80 0:2x3x4x4 2:0x3x4x4 \
    2:3x0x8x8 1:3x0x72x8 2:3x4x0x4 2:3x4x4x0";

/// Shapes of masks for queries `[2, 3, 5, E]` and nine keys.
const MASKS: &str = "5x9 1x9 2x1x1x9 2x1x5x9 1x3x5x9 1x3x1x9 2x3x5x9 1x1x5x9";

/// Leading extents, L, S, E, V, and shapes of masks for tiles with edges.
const MASKED: &str = "2:33x65x16x24:33x65 1:66x70x72x80:1x70 2x2:70x130x4x4:70x130 2x2:70x130x8x8:2x1x70x130 2x2:70x130x4x4:1x2x1x130";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [lead, size] in sized(SIZES) {
            for causal in [false, true] {
                let kind = if causal { "causal" } else { "random" };
                let sentence = format!("{kind}_{}_of_{}", name(&lead), name(&size));
                let shape = Shape::new(&lead, &size);
                let config = AttentionConfig { causal, scale: None };
                cases.add(dtype, sentence, move |run| {
                    both(run, &shape.operands(dtype, [-1.5, 1.5]), None, config)
                });
            }
        }
        cases.starts(dtype, move |run, _, _| {
            let operands = Shape::new(&[2], &[5, 9, 8, 8]).operands(dtype, [-1.5, 1.5]);
            let mask = uniform(7, dtype, &[5, 9], [-2.0, 2.0]);
            both(run, &operands, None, AttentionConfig::default())?;
            both(run, &operands, Some(&mask), AttentionConfig::default())
        });
        masks(cases, dtype);
        edges(cases, dtype);
    }
    let config = AttentionConfig::default();
    mismatches(
        cases,
        [
            (
                Forward { config },
                "2x3 4x5 4x5, 2x3 4x3 5x3, 1x2x3 4x3 4x3, 1x2x3 2x4x3 1x4x3, 3 3 3, f16:2x3 4x3 4x3, 2x3 4x3 f16:4x3, \
                 2x3 4x3 4x3 3x4, 2x3 4x3 4x3 2x3, 2x3 4x3 4x3 4, f16:2x3 f16:4x3 f16:4x3 bf16:2x4, \
                 2x3x2x3 2x3x4x3 2x3x4x3 3x1x2x4, 2x3x2x2x3 2x3x2x4x3 2x3x2x4x3 2x1x2x2x4",
            ),
            (
                Backward { config },
                "2x5 2x3 4x3 4x5 2x4 2x2, 2x5 2x3 4x3 4x5 2x5 2, f16:2x5 2x3 4x3 4x5 2x5 2x2, 2x4 2x3 4x3 4x5 2x5 2x2, \
                 f16:2x5 f16:2x3 f16:4x3 f16:4x5 f16:2x5 f16:2x2",
            ),
        ],
    );
    let huge = format!("{HUGE}x0 0x0 0x4, {HUGE}x0 0x0 0x0");
    too_large(cases, [(Forward { config }, &*huge)]);
}

/// Adds cases of every shape of a mask, of either type, and of keys and queries that it masks.
fn masks(cases: &mut OpCases, dtype: DType) {
    let small = shapes(MASKS).map(|mask| (Shape::new(&[2, 3], &[5, 9, 4, 6]), mask));
    let large = sized(MASKED).map(|[lead, size, mask]| (Shape::new(&lead, &size), mask));
    for (shape, of_mask) in small.chain(large) {
        cases.add(dtype, format!("mask_of_{}", name(&of_mask)), move |run| {
            let operands = shape.operands(dtype, [-1.5, 1.5]);
            let kinds = [(dtype, false), (DType::F32, true), (dtype, true), (DType::F32, false)];
            let different = if dtype == DType::F32 || of_mask.contains(&130) { 2 } else { 4 };
            kinds.into_iter().take(different).try_for_each(|(of, causal)| {
                let mask = uniform(7, of, &of_mask, [-2.0, 2.0]).with(3, f64::NEG_INFINITY);
                both(run, &operands, Some(&mask), AttentionConfig { causal, scale: None })
            })
        });
    }
    let config = AttentionConfig::default();
    cases.add(dtype, "a_query_without_keys_has_output_0", move |run| {
        let operands = Shape::new(&[2, 3], &[5, 9, 8, 8]).operands(dtype, [-1.5, 1.5]);
        let masked = (0..45).map(|at| if at / 9 % 2 == 0 { f64::NEG_INFINITY } else { 0.5 });
        let mask = Stored::from_values(dtype, &[5, 9], masked);
        both(run, &operands, Some(&mask), config)
    });
    cases.add(dtype, "tiles_of_keys_may_be_left_out", move |run| {
        let operands = Shape::new(&[1], &[3, 200, 8, 8]).operands(dtype, [-1.5, 1.5]);
        let masked = (0..200).map(|key| if key < 130 { f64::NEG_INFINITY } else { 0.0 });
        let mask = Stored::from_values(dtype, &[1, 200], masked);
        both(run, &operands, Some(&mask), config)
    });
}

fn edges(cases: &mut OpCases, dtype: DType) {
    cases.add(dtype, "a_mask_of_large_finite_terms_leaves_the_mean", move |run| {
        // Such a term absorbs the logarithm of the sum: all weights would be 1.
        let term = if dtype == DType::F16 { -65504.0 } else { -2.0_f64.powi(100) };
        let [q, k] = [[3, 8], [64, 8]]
            .map(|shape| Stored::from_values(dtype, &shape, vec![0.0; shape[0] * shape[1]]));
        let (v, mask) = (ones(dtype, &[64, 8]), Stored::from_values(dtype, &[1, 64], [term; 64]));
        let config = AttentionConfig::default();
        let statistics = [term, 64.0_f64.ln()].into_iter().map(|of| Expected::near(of, 4.0));
        let statistics = statistics.cycle().take(6).collect();
        let output = vec![Expected::near(1.0, 64.0); 24];
        run.near(
            Forward { config },
            &[&q, &k, &v, &mask],
            [(dtype, output), (DType::F32, statistics)],
        )?;
        let (g, y) = (ones(dtype, &[3, 8]), ones(dtype, &[3, 8]));
        let l = [term, 64.0_f64.ln()].into_iter().cycle().take(6).collect::<Vec<_>>();
        let l = Stored::from_values(DType::F32, &[3, 2], l);
        let zeros = |count: usize| vec![Expected::exactly(0.0); count];
        // A weight is 1/64 for each of three queries.
        let of_v = vec![Expected::near(3.0 / 64.0, 1.0); 512];
        let wanted = [(dtype, zeros(24)), (dtype, zeros(512)), (dtype, of_v)];
        run.near(Backward { config }, &[&g, &q, &k, &v, &y, &l, &mask], wanted)
    });
    cases.add(dtype, "4096_keys_or_queries_add_up_wide", move |run| {
        let config = AttentionConfig::default();
        let of = |rows, keys| {
            [[rows, 8], [keys, 8], [keys, 8]].map(|shape: [usize; 2]| ones(dtype, &shape))
        };
        both_from(run, &of(1, 4096), &ones(dtype, &[1, 8]), None, config)?;
        both_from(run, &of(4096, 1), &ones(dtype, &[4096, 8]), None, config)
    });
    cases.add(dtype, "scores_may_leave_the_range_of_sixteen_bits", move |run| {
        let [q, k] = [[5, 8], [9, 8]].map(|shape| uniform(1, dtype, &shape, [150.0, 250.0]));
        let v = uniform(3, dtype, &[9, 8], [-1.0, 1.0]);
        both(run, &[q, k, v], None, AttentionConfig { causal: false, scale: Some(0.5) })
    });
    cases.add(dtype, "the_scale_may_be_given", move |run| {
        let operands = Shape::new(&[2], &[5, 9, 16, 8]).operands(dtype, [-1.5, 1.5]);
        [0.0, 1.0, -0.75].into_iter().try_for_each(|scale| {
            both(run, &operands, None, AttentionConfig { causal: true, scale: Some(scale) })
        })
    });
    cases.add(dtype, "the_largest_score_may_come_last", move |run| {
        let [q, k, v] = Shape::new(&[1], &[3, 150, 8, 8]).operands(dtype, [0.5, 1.5]);
        let rising = (0..1200).map(|i| if i % 8 == 0 { f64::from(i) / 32.0 } else { 0.0 });
        let k = Stored::from_values(dtype, &k.shape, rising);
        both(run, &[q, k, v], None, AttentionConfig::default())
    });
    cases.add(dtype, "a_nan_stays_with_its_query", move |run| {
        let [q, k, v] = Shape::new(&[2], &[5, 9, 8, 8]).operands(dtype, [-1.5, 1.5]);
        let config = AttentionConfig { causal: true, scale: None };
        let operands = [&q.with(9, f64::NAN), &k, &v];
        let [output, statistics] = forward(operands, None, config);
        run.near(Forward { config }, &operands, [(dtype, output), (DType::F32, statistics)])
    });
}

/// Extents of one call.
struct Shape {
    query: Vec<usize>,
    key: Vec<usize>,
    value: Vec<usize>,
}

impl Shape {
    fn new(lead: &[usize], size: &[usize]) -> Self {
        let [query, key, value] =
            [[0, 2], [1, 2], [1, 3]].map(|of| [lead, &of.map(|axis| size[axis])].concat());
        Self { query, key, value }
    }

    fn operands(&self, dtype: DType, range: [f64; 2]) -> [Stored; 3] {
        let shapes = [(1, &self.query), (2, &self.key), (3, &self.value)];
        shapes.map(|(seed, shape)| uniform(seed, dtype, shape, range))
    }
}

/// Compares both results, and the gradients from the oracle's results and a gradient at random.
fn both(
    run: &mut OpRun<'_>,
    operands: &[Stored; 3],
    mask: Option<&Stored>,
    config: AttentionConfig,
) -> Verdict {
    let [q, _, v] = operands;
    let shape = [&q.shape[..q.shape.len() - 1], &v.shape[v.shape.len() - 1..]].concat();
    both_from(run, operands, &uniform(5, q.dtype, &shape, [-1.0, 1.0]), mask, config)
}

/// Compares both results, and the gradients from this gradient of the output.
fn both_from(
    run: &mut OpRun<'_>,
    operands: &[Stored; 3],
    g: &Stored,
    mask: Option<&Stored>,
    config: AttentionConfig,
) -> Verdict {
    let operands = operands.each_ref();
    let [q, k, v] = operands;
    let dtype = q.dtype;
    let [output, statistics] = forward(operands, mask, config);
    let stored = |dtype: DType, shape: &[usize], of: &[Expected]| {
        Stored::from_values(dtype, shape, of.iter().map(|of| of.value))
    };
    let of_rows = [&q.shape[..q.shape.len() - 1], &[2]].concat();
    let (y, l) = (stored(dtype, &g.shape, &output), stored(DType::F32, &of_rows, &statistics));
    let all = operands.into_iter().chain(mask).collect::<Vec<_>>();
    run.near(Forward { config }, &all, [(dtype, output), (DType::F32, statistics)])?;
    let all = [g, q, k, v, &y, &l].into_iter().chain(mask).collect::<Vec<_>>();
    let wanted = backward(operands, [g, &y, &l], mask, config);
    run.near(Backward { config }, &all, wanted.map(|wanted| (dtype, wanted)))
}
