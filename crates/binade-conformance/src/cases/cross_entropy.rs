//! Cross-entropy: large logits, labels at the ends, and the gradient's share of the batch.

use super::prelude::*;
use super::softmax::{Row, cost};
use crate::OpInvocation::{CrossEntropy, CrossEntropyBackward};

/// Rows and classes.
const SIZES: &str =
    "1x1 1x2 3x7 8x8 9x10 31x33 2x256 5x257 257x3 33x31 2x1025 2x8203 2057x3 3x4 2x5 2x6";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [n, classes] in sizes(SIZES) {
            let sentence = format!("{n}_rows_of_{classes}_classes");
            cases.add(dtype, sentence, move |run| {
                let x = uniform(1, dtype, &[n, classes], [-4.0, 4.0]);
                both(run, &x, &drawn(n, classes), 1.0)
            });
        }
        let mut add = |sentence: &str, shape: [usize; 2], x: Vec<f64>, labels: Vec<usize>, grad| {
            cases.add(dtype, sentence, move |run| {
                let x = Stored::from_values(dtype, &shape, x.clone());
                both(run, &x, &labels, grad)
            });
        };
        let large = [60000.0, -60000.0, 60000.0, 59904.0];
        add("no_finite_row_overflows", [2, 2], large.into(), vec![1, 0], 1.0);
        let ends = (0..12).map(f64::from).collect();
        add("labels_at_both_ends_are_classes", [4, 3], ends, vec![0, 2, 2, 0], 1.0);
        let ramp: Vec<f64> = (0..15).map(|i| f64::from(i % 4)).collect();
        add(
            "the_gradient_is_scaled_by_what_comes_from_above",
            [5, 3],
            ramp.clone(),
            vec![2; 5],
            1024.0,
        );
        add("the_gradient_is_divided_by_the_number_of_rows", [5, 3], ramp, vec![1; 5], 1.0);
        cases.starts(dtype, move |run, seed, _| {
            let x = uniform(seed, dtype, &[5, 33], [-45.0, 5.0]);
            // Of the last, most gradients are subnormal in f32.
            [1.0, f64::INFINITY, f64::NEG_INFINITY, -1.4e-37]
                .into_iter()
                .try_for_each(|grad| both(run, &x, &drawn(5, 33), grad))
        });
        let sentence = "a_wide_row_may_hang_on_its_last_elements";
        cases.add(dtype, sentence, move |run| {
            wide_rows(-30.0).zip((0..2).cycle()).try_for_each(|(row, offset)| {
                let x = Stored::from_values(dtype, &[1, row.len()], row);
                both(&mut run.at(offset), &x, &[x.len() - 2], 1.0)
            })
        });
        odd(cases, dtype);
    }
    mismatches(
        cases,
        [
            (CrossEntropy, "2x3 i64:3, 2x3 2"),
            (CrossEntropyBackward, "f16:scalar 2x3 i64:2, 1 2x3 i64:2"),
        ],
    );
}

/// Logits that are not finite, rows that are missing, and labels of no class.
fn odd(cases: &mut OpCases, dtype: DType) {
    cases.add(dtype, "a_nan_or_an_infinity_shows", move |run| {
        for (bad, label) in [(f64::NAN, 1), (f64::INFINITY, 1), (f64::NEG_INFINITY, 0)] {
            let x = Stored::from_values(dtype, &[2, 2], [0.0, 1.0, bad, 3.0]);
            both(run, &x, &[0, label], 1.0)?;
        }
        Ok(())
    });
    cases.add(dtype, "a_row_of_minus_infinity_is_nan_throughout", move |run| {
        (1..10).try_for_each(|classes| {
            let x = vec![f64::NEG_INFINITY; 2 * classes];
            both(run, &Stored::from_values(dtype, &[2, classes], x), &[0, 0], 1.0)
        })
    });
    cases.add(dtype, "the_loss_of_no_rows_is_nan", move |run| {
        let (x, labels) = (ones(dtype, &[0, 3]), i64s(&[0], []));
        run.exact(CrossEntropy, &[&x, &labels], [(DType::F32, vec![f64::NAN])])
    });
    let sentence = "a_label_that_is_no_class_is_an_invalid_argument_or_nan";
    cases.add(dtype, sentence, move |run| {
        [3, -1, i64::MAX, i64::MIN].into_iter().try_for_each(|bad| {
            let (x, labels, g) = (ones(dtype, &[2, 3]), i64s(&[2], [0, bad]), scalar(1.0));
            run.reported(&CrossEntropy, &[&x, &labels], (DType::F32, 1), 0..1)?;
            run.reported(&CrossEntropyBackward, &[&g, &x, &labels], (dtype, 6), 3..6)
        })
    });
}

/// The loss, and the gradient for a scalar from above.
fn both(run: &mut OpRun<'_>, x: &Stored, labels: &[usize], grad: f64) -> Verdict {
    let classes = x.shape[1];
    let wanted = vec![cross_entropy(&values(x), labels, classes)];
    let stored = super::op::labels(labels);
    run.near(CrossEntropy, &[x, &stored], [(DType::F32, wanted)])?;
    let g = scalar(grad);
    let wanted = backward(grad, &values(x), labels, classes);
    run.near(CrossEntropyBackward, &[&g, x, &stored], [(x.dtype, wanted)])
}

// The oracle.

/// The mean over rows of `ln Σ exp(x) − x[label]`: NaN for no rows.
///
/// A row is in doubt as a row of `log_softmax` is; the mean adds as many roundings as there are rows.
fn cross_entropy(logits: &[f64], labels: &[usize], classes: usize) -> Expected {
    let (mut sum, mut mass) = (0.0, 0.0);
    let n = count(labels.len());
    for (x, &label) in logits.chunks(classes.max(1)).zip(labels) {
        let Row { below, log, doubt, .. } = Row::of(x);
        let loss = log - below[label];
        sum += loss;
        mass += 2.0 * below[label].abs() + 4.0 * log.abs() + doubt + (n + 4.0) * loss.abs();
    }
    Expected::near(sum / n, mass / n)
}

/// `(softmax(x) − onehot(label))·grad / N`: a share as softmax has it, a difference, a factor of one rounding, a product.
fn backward(grad: f64, logits: &[f64], labels: &[usize], classes: usize) -> Vec<Expected> {
    let factor = grad / count(labels.len());
    let row = |(x, &label): (&[f64], &usize)| {
        let Row { shares, below, doubt, .. } = Row::of(x);
        let one = move |(class, (share, below)): (usize, (f64, f64))| {
            let rest = share - f64::from(u8::from(class == label));
            let mass = share * (cost(below) + doubt + 3.0) + 4.0 * rest.abs();
            Expected::near(rest * factor, mass * factor.abs())
        };
        shares.into_iter().zip(below).enumerate().map(one)
    };
    logits.chunks(classes.max(1)).zip(labels).flat_map(row).collect()
}
