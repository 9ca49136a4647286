//! Products of odd extents and both layouts, against sums in f64.

use super::{Elements, Matrix, add_product, product};
use half::{bf16, f16};

/// Returns values that every type holds exactly, and whose products add up exactly.
fn values(count: usize, seed: usize) -> Vec<f32> {
    let small = |i: usize| i8::try_from((i * 7 + seed * 3) % 11).map_or(0.0, f32::from);
    (0..count).map(|i| small(i) - 5.0).collect()
}

/// Asserts that products of these extents are right in both layouts of either operand.
fn check<'a>([m, k, n]: [usize; 3], a: Elements<'a>, b: Elements<'a>, wide: [&[f32]; 2]) {
    for (a_turned, b_turned) in [(false, false), (false, true), (true, false), (true, true)] {
        let of = |elements, rows, columns, is_turned| {
            if is_turned {
                Matrix::new(elements, columns, rows).transposed()
            } else {
                Matrix::new(elements, rows, columns)
            }
        };
        let (a, b) = (of(a, m, k, a_turned), of(b, k, n, b_turned));
        let (mut c, mut replaced) = (vec![1.0; m * n], vec![f32::NAN; m * n]);
        add_product(a, b, &mut c);
        product(a, b, &mut replaced);
        let at = |x: &[f32], [row, column]: [usize; 2], [rows, columns]: [usize; 2], is_turned| {
            if is_turned { x[column * rows + row] } else { x[row * columns + column] }
        };
        for i in 0..m {
            for j in 0..n {
                let term = |l| {
                    at(wide[0], [i, l], [m, k], a_turned) * at(wide[1], [l, j], [k, n], b_turned)
                };
                let want: f32 = 1.0 + (0..k).map(term).sum::<f32>();
                let place = format!("{m}x{k}x{n} at {i}, {j}, {a_turned} {b_turned}");
                assert_eq!(c[i * n + j], want, "{place}");
                assert_eq!(replaced[i * n + j] + 1.0, want, "{place}");
            }
        }
    }
}

#[test]
fn products_of_odd_extents_and_every_layout_are_exact() {
    for extents @ [m, k, n] in [
        [1, 1, 1],
        [3, 5, 2],
        [13, 601, 33],
        [12, 512, 32],
        [97, 40, 65],
        [200, 31, 7],
        [13, 601, 2100],
    ] {
        let (a, b) = (values(m * k, 1), values(k * n, 2));
        let wide = [&a[..], &b[..]];
        let half = |x: &[f32]| x.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>();
        let brain = |x: &[f32]| x.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<_>>();
        let (half, brain) = ([half(&a), half(&b)], [brain(&a), brain(&b)]);
        check(extents, Elements::F32(&a), Elements::F32(&b), wide);
        check(extents, Elements::F16(&half[0]), Elements::F16(&half[1]), wide);
        check(extents, Elements::BF16(&brain[0]), Elements::BF16(&brain[1]), wide);
        check(extents, Elements::BF16(&brain[0]), Elements::F32(&b), wide);
    }
}

#[test]
fn what_is_not_finite_reaches_its_own_row_and_column_alone() {
    let (m, k, n) = (40, 64, 40);
    let (mut a, b) = (vec![1.0; m * k], vec![bf16::ONE; k * n]);
    a[3 * k + 63] = f32::NAN;
    a[7 * k] = f32::INFINITY;
    let brain: Vec<_> = a.iter().map(|x| bf16::from_f32(*x)).collect();
    for a in [Elements::F32(&a), Elements::BF16(&brain)] {
        let mut c = vec![0.0; m * n];
        add_product(Matrix::new(a, m, k), Matrix::new(Elements::BF16(&b), k, n), &mut c);
        for (row, c) in c.chunks_exact(n).enumerate() {
            let is_right = |x: &f32| match row {
                3 => x.is_nan(),
                7 => *x == f32::INFINITY,
                _ => *x == 64.0,
            };
            assert!(c.iter().all(is_right), "row {row}: {c:?}");
        }
    }
}
