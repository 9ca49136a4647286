//! Rows of a table: copied to the bit, added up in order, and never from beyond its end.

use super::cast::rounded;
use super::prelude::*;
use crate::Failure;
use binade_core::DType::{self, F32};

/// Rows and width of the table, and the number of indices.
const SIZES: &str = "1x1x1 5x8x7 7x9x33 3x31x8 33x32x9 2x257x5 300x3x257 2x33x512 3x40x700 5x1x9000 4x5x0 \
    4x0x3";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [rows, width, count] in sizes(SIZES) {
            let sentence = format!("{count}_rows_of_{rows}x{width}");
            cases.add(dtype, sentence, move |run| {
                let indices = drawn(count, rows);
                both(run, &uniform(1, dtype, &[rows, width], [-2.0, 2.0]), &indices, 0)
            });
        }
        cases.starts(dtype, move |run, offset, _| {
            both(run, &uniform(1, dtype, &[9, 7], [-2.0, 2.0]), &drawn(20, 9), offset)
        });
        cases.add(dtype, "rows_are_copied_bit_for_bit", move |run| {
            let codes = awkward(dtype);
            let table = Stored::from_codes(dtype, &[2, codes.len() / 2], codes.clone());
            let indices = i64s(&[2], [1, 0]);
            let (first, second) = codes.split_at(codes.len() / 2);
            let wanted = Stored::from_codes(dtype, &[codes.len()], [second, first].concat());
            OpCase::new(OpInvocation::Embedding, &[&table, &indices]).same(run, &wanted)
        });
        cases.add(dtype, "the_first_and_the_last_row_are_rows", move |run| {
            let table = uniform(1, dtype, &[257, 3], [-2.0, 2.0]);
            both(run, &table, &[256, 0, 256, 0, 1, 255], 0)
        });
        cases.add(dtype, "gradients_of_zero_leave_zero", move |run| {
            let indices = i64s(&[9], [0, 1, 2, 2, 2, 4, 5, 6, 7]);
            let g = Stored::from_values(dtype, &[9, 9], vec![0.0; 81]);
            OpCase::new(OpInvocation::EmbeddingBackward { rows: 8 }, &[&g, &indices])
                .exact(run, [(dtype, vec![0.0; 72])])
        });
        let sentence = "an_index_that_occurs_4096_times_loses_nothing";
        cases.add(dtype, sentence, move |run| {
            let indices = i64s(&[4096], vec![1; 4096]);
            let g = ones(dtype, &[4096, 1]);
            OpCase::new(OpInvocation::EmbeddingBackward { rows: 3 }, &[&g, &indices])
                .exact(run, [(dtype, vec![0.0, 4096.0, 0.0])])
        });
        cases.add(dtype, "duplicates_are_added_in_the_order_of_the_indices", move |run| {
            // In f32, 1 is lost beside 2^24, and beside 2^-24: in another order the sum is another.
            let g = Stored::from_values(
                dtype,
                &[4, 1],
                [16_777_216.0, 1.0, -16_777_216.0, 1.0]
                    .map(|g| if dtype == DType::F16 { g / 1024.0 } else { g }),
            );
            for order in [[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0]] {
                let wanted = backward(&values(&g), &order, 2, 1);
                let indices = i64s(&[4], order.map(|i| i64::try_from(i).unwrap_or_default()));
                OpCase::new(OpInvocation::EmbeddingBackward { rows: 2 }, &[&g, &indices])
                    .exact(run, [(dtype, wanted)])?;
            }
            let large = [f64::INFINITY, 1.0, f64::NEG_INFINITY, f64::NAN];
            let (g, indices) =
                (Stored::from_values(dtype, &[4, 1], large), i64s(&[4], [0, 0, 1, 2]));
            let wanted = [(dtype, backward(&values(&g), &[0, 0, 1, 2], 3, 1))];
            OpCase::new(OpInvocation::EmbeddingBackward { rows: 3 }, &[&g, &indices])
                .exact(run, wanted)
        });
        indices_outside(cases, dtype);
    }
    let sentence = "the_last_of_a_million_rows_has_its_gradient";
    cases.add(DType::BF16, sentence, |run| {
        let (last, rows) = (1_048_599, 1_048_600);
        let indices = i64s(&[3], [last, 0, last]);
        let mut some = vec![0.0; rows];
        (some[0], some[rows - 1]) = (1.0, 2.0);
        // Of no index behind one of three, so that nothing of that one's is left.
        for (indices, wanted) in [(indices, some), (i64s(&[0], []), vec![0.0; rows])] {
            let g = ones(DType::BF16, &[indices.len(), 1]);
            let ask = OpCase::new(OpInvocation::EmbeddingBackward { rows }, &[&g, &indices]);
            ask.exact(run, [(DType::BF16, wanted)])?;
        }
        Ok(())
    });
    let (table, labels) = (ones(DType::F32, &[4, 2]), i64s(&[3], [0, 1, 2]));
    let all = vec![
        (OpInvocation::Embedding, vec![ones(DType::F32, &[4]), labels.clone()]),
        (OpInvocation::Embedding, vec![table, ones(DType::F32, &[3])]),
        (OpInvocation::EmbeddingBackward { rows: 4 }, vec![ones(DType::F32, &[2, 2]), labels]),
    ];
    refusals(cases, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
    let (grad, indices) = (ones(DType::F32, &[1, 2]), i64s(&[1], [0]));
    let table = OpInvocation::EmbeddingBackward { rows: HUGE };
    too_large(cases, vec![(table, vec![grad, indices])]);
}

/// Cases of indices for which the table has no row.
fn indices_outside(cases: &mut OpCases, dtype: DType) {
    let sentence = "the_gradient_of_an_index_outside_is_an_invalid_argument_or_no_row_s";
    cases.add(dtype, sentence, move |run| {
        [3, -1, i64::MAX, i64::MIN].into_iter().try_for_each(|bad| {
            let (g, indices) = (ones(dtype, &[3, 2]), i64s(&[3], [0, bad, 2]));
            let ask = OpCase::new(OpInvocation::EmbeddingBackward { rows: 3 }, &[&g, &indices]);
            match ask.results(run, [(dtype, 6)]) {
                Err(CaseError::Subject(SubjectError::Rejected(ErrorKind::InvalidArgument, _))) => {
                    run.check.compared += 1;
                    Ok(())
                }
                Err(stop) => Err(stop),
                Ok(results) => run.check.exact(&[&g], &results[0], &[1.0, 1.0, 0.0, 0.0, 1.0, 1.0]),
            }
        })
    });
    cases.add(dtype, "an_index_outside_is_an_invalid_argument_or_nan", move |run| {
        [3, -1, i64::MAX, i64::MIN].into_iter().try_for_each(|bad| {
            let table = ones(dtype, &[3, 2]);
            let indices = i64s(&[2], [0, bad]);
            let ask = OpCase::new(OpInvocation::Embedding, &[&table, &indices]);
            let got = ask.results(run, [(dtype, 4)]);
            reported(run.check, &ask, got, 2..4)
        })
    });
}

/// Wants an `InvalidArgument`, at the call or when the result was read, or else NaN at these places.
pub(super) fn reported(
    check: &mut Check,
    ask: &OpCase<'_>,
    got: Result<Vec<Stored>, CaseError>,
    places: std::ops::Range<usize>,
) -> Verdict {
    let told = match got {
        Err(CaseError::Subject(SubjectError::Rejected(ErrorKind::InvalidArgument, _))) => true,
        Err(stop) => return Err(stop),
        Ok(results) => values(&results[0])[places].iter().all(|x| x.is_nan()),
    };
    let wanted = "InvalidArgument or NaN".to_owned();
    let got = if told { wanted.clone() } else { "neither".to_owned() };
    check.equal(ask, got, wanted).map_err(|stop| match stop {
        CaseError::Wrong(failure) => {
            CaseError::Wrong(Failure { agreement: String::new(), ..failure })
        }
        CaseError::Subject(refusal) => CaseError::Subject(refusal),
    })
}

fn drawn(count: usize, rows: usize) -> Vec<usize> {
    let mut draw = Draw::new(count + rows);
    let limit = rows as u64;
    (0..count).map(|_| usize::try_from(draw.bits() % limit).unwrap_or_default()).collect()
}

/// Rows looked up, and gradients added to where they came from.
fn both(run: &mut OpRun<'_>, table: &Stored, indices: &[usize], offset: usize) -> Verdict {
    let (dtype, rows, width) = (table.dtype, table.shape[0], table.shape[1]);
    let codes: Vec<u64> = table.codes().collect();
    let places = embedding(indices, width);
    let wanted = Stored::from_codes(dtype, &[places.len()], places.iter().map(|at| codes[*at]));
    let labels =
        i64s(&[indices.len()], indices.iter().map(|i| i64::try_from(*i).unwrap_or_default()));
    OpCase::new(OpInvocation::Embedding, &[table, &labels]).at(offset).same(run, &wanted)?;
    let g = uniform(2, dtype, &[indices.len(), width], [-1.0, 1.0]);
    let wanted = backward(&values(&g), indices, rows, width);
    OpCase::new(OpInvocation::EmbeddingBackward { rows }, &[&g, &labels])
        .at(offset)
        .exact(run, [(dtype, wanted)])
}

/// Agreement: bits. Rows are copied, and their gradients are added in `f32` in the order of the indices.
pub(super) const AGREEMENT: Agrees = |_| Agreement::Bits;

// The oracle.

/// The places of the table's elements that the result has.
fn embedding(indices: &[usize], width: usize) -> Vec<usize> {
    indices.iter().flat_map(|row| row * width..(row + 1) * width).collect()
}

/// Each row of `grad` added to the row it came from, in `f32` and in the order of the indices.
fn backward(grad: &[f64], indices: &[usize], rows: usize, width: usize) -> Vec<f64> {
    let mut table = vec![0.0; rows * width];
    for (at, g) in embedding(indices, width).into_iter().zip(grad) {
        table[at] = rounded(table[at] + g, F32);
    }
    table
}
