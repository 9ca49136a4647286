//! Rows of a table: copied bit for bit, gradients added in order, and nothing read past its end.

use super::cast::rounded;
use super::prelude::*;
use crate::OpInvocation::{Embedding, EmbeddingBackward};
use binade_core::DType::F32;

/// Rows and width of the table, and the number of indices.
const SIZES: &str = "1x1x1 5x8x7 7x9x33 3x31x8 33x32x9 2x257x5 300x3x257 2x33x512 3x40x700 5x1x9000 4x5x0 \
    4x0x3";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [rows, width, count] in sizes(SIZES) {
            let sentence = format!("{count}_rows_of_{rows}x{width}");
            cases.add(dtype, sentence, move |run| {
                let indices = drawn(count, rows);
                both(run, &uniform(1, dtype, &[rows, width], [-2.0, 2.0]), &indices)
            });
        }
        cases.starts(dtype, move |run, _, _| {
            both(run, &uniform(1, dtype, &[9, 7], [-2.0, 2.0]), &drawn(20, 9))
        });
        cases.add(dtype, "rows_are_copied_bit_for_bit", move |run| {
            let codes = awkward(dtype);
            let table = Stored::from_codes(dtype, &[2, codes.len() / 2], codes.clone());
            let indices = i64s(&[2], [1, 0]);
            let (first, second) = codes.split_at(codes.len() / 2);
            let wanted = Stored::code_vector(dtype, [second, first].concat());
            run.same(Embedding, &[&table, &indices], &wanted)
        });
        cases.add(dtype, "the_first_and_the_last_row_are_rows", move |run| {
            let table = uniform(1, dtype, &[257, 3], [-2.0, 2.0]);
            both(run, &table, &[256, 0, 256, 0, 1, 255])
        });
        cases.add(dtype, "gradients_of_zero_leave_zero", move |run| {
            let indices = i64s(&[9], [0, 1, 2, 2, 2, 4, 5, 6, 7]);
            let g = Stored::from_values(dtype, &[9, 9], vec![0.0; 81]);
            run.exact(EmbeddingBackward { rows: 8 }, &[&g, &indices], [(dtype, vec![0.0; 72])])
        });
        let sentence = "an_index_that_occurs_4096_times_loses_nothing";
        cases.add(dtype, sentence, move |run| {
            let indices = i64s(&[4096], vec![1; 4096]);
            let g = ones(dtype, &[4096, 1]);
            run.exact(
                EmbeddingBackward { rows: 3 },
                &[&g, &indices],
                [(dtype, vec![0.0, 4096.0, 0.0])],
            )
        });
        cases.add(dtype, "duplicates_are_added_in_the_order_of_the_indices", move |run| {
            // In f32, 1 is lost beside 2^24, and beside 2^-24: the sum depends on the order.
            let g = Stored::from_values(
                dtype,
                &[4, 1],
                [16_777_216.0, 1.0, -16_777_216.0, 1.0]
                    .map(|g| if dtype == DType::F16 { g / 1024.0 } else { g }),
            );
            for order in [[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0]] {
                let wanted = backward(&values(&g), &order, 2, 1);
                let indices = labels(&order);
                run.exact(EmbeddingBackward { rows: 2 }, &[&g, &indices], [(dtype, wanted)])?;
            }
            let large = [f64::INFINITY, 1.0, f64::NEG_INFINITY, f64::NAN];
            let (g, indices) =
                (Stored::from_values(dtype, &[4, 1], large), i64s(&[4], [0, 0, 1, 2]));
            let wanted = [(dtype, backward(&values(&g), &[0, 0, 1, 2], 3, 1))];
            run.exact(EmbeddingBackward { rows: 3 }, &[&g, &indices], wanted)
        });
        indices_outside(cases, dtype);
    }
    let sentence = "the_last_of_a_million_rows_has_its_gradient";
    cases.add(DType::BF16, sentence, |run| {
        let (last, rows) = (1_048_599, 1_048_600);
        let indices = i64s(&[3], [last, 0, last]);
        let mut some = vec![0.0; rows];
        (some[0], some[rows - 1]) = (1.0, 2.0);
        // A call without indices follows one with three, so that left-over sums of that call show.
        for (indices, wanted) in [(indices, some), (i64s(&[0], []), vec![0.0; rows])] {
            let g = ones(DType::BF16, &[indices.len(), 1]);
            run.exact(EmbeddingBackward { rows }, &[&g, &indices], [(DType::BF16, wanted)])?;
        }
        Ok(())
    });
    mismatches(
        cases,
        [(Embedding, "4 i64:3, 4x2 3"), (EmbeddingBackward { rows: 4 }, "2x2 i64:3")],
    );
    too_large(cases, [(EmbeddingBackward { rows: HUGE }, "1x2 i64:1")]);
}

/// Cases of indices for which the table has no row.
fn indices_outside(cases: &mut OpCases, dtype: DType) {
    let sentence = "the_gradient_of_an_index_outside_is_an_invalid_argument_or_no_row_s";
    cases.add(dtype, sentence, move |run| {
        [3, -1, i64::MAX, i64::MIN].into_iter().try_for_each(|bad| {
            let (g, indices) = (ones(dtype, &[3, 2]), i64s(&[3], [0, bad, 2]));
            match run.result(&EmbeddingBackward { rows: 3 }, &[&g, &indices], (dtype, 6)) {
                Err(CaseError::Subject(SubjectError::Rejected(ErrorKind::InvalidArgument, _))) => {
                    run.check.compared += 1;
                    Ok(())
                }
                Err(stop) => Err(stop),
                Ok(got) => run.check.exact(&[&g], &got, &[1.0, 1.0, 0.0, 0.0, 1.0, 1.0]),
            }
        })
    });
    cases.add(dtype, "an_index_outside_is_an_invalid_argument_or_nan", move |run| {
        [3, -1, i64::MAX, i64::MIN].into_iter().try_for_each(|bad| {
            let (table, indices) = (ones(dtype, &[3, 2]), i64s(&[2], [0, bad]));
            run.reported(&Embedding, &[&table, &indices], (dtype, 4), 2..4)
        })
    });
}

/// Compares rows that are looked up, and gradients that are added to their rows.
fn both(run: &mut OpRun<'_>, table: &Stored, indices: &[usize]) -> Verdict {
    let (dtype, rows, width) = (table.dtype, table.shape[0], table.shape[1]);
    let codes: Vec<u64> = table.codes().collect();
    let places = embedding(indices, width);
    let wanted = Stored::code_vector(dtype, places.iter().map(|at| codes[*at]));
    let labels = labels(indices);
    run.same(Embedding, &[table, &labels], &wanted)?;
    let g = uniform(2, dtype, &[indices.len(), width], [-1.0, 1.0]);
    let wanted = backward(&values(&g), indices, rows, width);
    run.exact(EmbeddingBackward { rows }, &[&g, &labels], [(dtype, wanted)])
}

// The oracle.

/// Returns the index in the table of each element of the result.
fn embedding(indices: &[usize], width: usize) -> Vec<usize> {
    indices.iter().flat_map(|row| row * width..(row + 1) * width).collect()
}

/// Returns the sums of the rows of `grad` by table row, in `f32` and in the order of the indices.
fn backward(grad: &[f64], indices: &[usize], rows: usize, width: usize) -> Vec<f64> {
    let mut table = vec![0.0; rows * width];
    for (at, g) in embedding(indices, width).into_iter().zip(grad) {
        table[at] = rounded(table[at] + g, F32);
    }
    table
}
