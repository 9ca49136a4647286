//! Matrix products, forward and backward, against exact sums within the kit's bounds, and bit by bit if bits are promised.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::products::{assert_within, is_old, matrix, stored, turned, types, upload};
use crate::support::{Result, cuda, kernels, kind, noise, own, shifted};
use binade_core::{DType, ErrorKind};
use binade_cuda::{Cuda, Error, Products, Tensor};
use binade_ops::{Bmm, Download, Linear, MatMul, Upload};

crate::tests![
    products_of_all_sizes_stay_within_their_bound,
    large_tiles_have_the_bits_of_small_ones,
    bits_do_not_depend_on_where_operands_begin,
    each_product_of_a_batch_is_that_of_its_pair,
    each_long_product_of_a_batch_has_the_bits_of_its_pair,
    an_inner_extent_of_zero_gives_zeros_or_the_bias,
    empty_operands_give_empty_results,
    what_is_not_finite_spreads_as_far_as_its_row_and_column,
    results_beyond_the_largest_f16_are_infinite,
    long_sums_of_few_tiles_stay_within_their_bound,
    long_sums_add_their_bias_once,
    bits_of_long_sums_do_not_depend_on_where_operands_begin,
    what_overflows_in_a_range_does_not_overflow_in_whole,
    products_wait_for_nothing_and_are_one_launch_each,
    long_sums_are_a_launch_more,
    bf16_before_compute_capability_8_is_refused_by_name,
];

/// Checks forward and both gradients.
fn check(sizes: [usize; 3], dtype: DType) -> Result {
    let [m, n, k] = sizes;
    let [x, y, g] = [(1, m * k), (2, k * n), (3, m * n)]
        .map(|(seed, len)| stored(&noise(seed + (m * n * k) as u64, len), dtype));
    let (a, b, grad) =
        (upload(&x, &[m, k], dtype), upload(&y, &[k, n], dtype), upload(&g, &[m, n], dtype));
    let what = format!("{sizes:?}");
    let got = cuda().download(&cuda().matmul(&a, &b)?)?;
    assert_within(&got, &matrix(&x, k), &matrix(&y, n), None, [m, n, k], (dtype, &what));
    let [of_a, of_b] = cuda().matmul_backward(&grad, &a, &b)?;
    assert_eq!((of_a.shape(), of_b.shape()), (a.shape(), b.shape()));
    assert_eq!((of_a.dtype(), of_b.dtype()), (dtype, dtype));
    let (of_a, of_b) = (cuda().download(&of_a)?, cuda().download(&of_b)?);
    assert_within(&of_a, &matrix(&g, n), &turned(&y, n), None, [m, k, n], (dtype, &what));
    assert_within(&of_b, &turned(&x, k), &matrix(&g, n), None, [k, n, m], (dtype, &what));
    Ok(())
}

fn products_of_all_sizes_stay_within_their_bound() -> Result {
    let sizes = [[1, 1, 1], [3, 5, 7], [16, 16, 16], [65, 63, 33], [1, 130, 72], [40, 72, 136]];
    for dtype in types() {
        for sizes in sizes {
            check(sizes, dtype)?;
        }
    }
    Ok(())
}

/// Returns pairs, M, N and K of batches that take large tiles, forward and backward: just enough of them, and just more than half
/// full. One of the two has rows of whole chunks in every operand, the other has not.
fn large(dtype: DType) -> [[usize; 4]; 2] {
    if dtype == DType::F32 || is_old() {
        return [[64, 66, 70, 72], [64, 66, 72, 70]];
    }
    [[64, 98, 130, 136], [64, 98, 136, 130]]
}

/// One of the pairs, alone, takes small tiles.
fn large_tiles_have_the_bits_of_small_ones() -> Result {
    let cuda = kernels();
    for dtype in types() {
        for [count, m, n, k] in large(dtype) {
            let tensor = |seed, rows: usize, columns: usize| {
                let values = noise(seed, count * rows * columns);
                cuda.upload(&values, &[count, rows, columns], dtype).unwrap()
            };
            let (a, b, grad) = (tensor(1, m, k), tensor(2, k, n), tensor(3, m, n));
            let [of_a, of_b] = cuda.bmm_backward(&grad, &a, &b)?;
            let got = [cuda.bmm(&a, &b)?, of_a, of_b];
            let last = |tensor: &Tensor| {
                let [_, rows, columns] = *tensor.shape() else { panic!("{tensor:?}") };
                tensor
                    .slice((count - 1) * rows * columns, rows * columns)?
                    .reshape(&[rows, columns])
            };
            let [a, b, grad] = [last(&a)?, last(&b)?, last(&grad)?];
            let [of_a, of_b] = cuda.matmul_backward(&grad, &a, &b)?;
            for (got, want) in got.iter().zip([cuda.matmul(&a, &b)?, of_a, of_b]) {
                assert!(cuda.to_bits(&last(got)?)? == cuda.to_bits(&want)?, "{dtype} {m} {n} {k}");
            }
            let [x, y] = [cuda.download(&a)?, cuda.download(&b)?];
            let found = cuda.download(&last(&got[0])?)?;
            let what = format!("a pair of {count}");
            assert_within(&found, &matrix(&x, k), &matrix(&y, n), None, [m, n, k], (dtype, &what));
        }
    }
    Ok(())
}

/// Operands come in copies of sixteen bytes, or of eight or four if they begin at such multiples, others element by element.
fn bits_do_not_depend_on_where_operands_begin() -> Result {
    assert_bits_stay([24, 40, 72])
}

fn assert_bits_stay(sizes: [usize; 3]) -> Result {
    for dtype in types() {
        let [m, n, k] = sizes;
        let [x, y, b] = [(1, m * k), (2, n * k), (3, n)].map(|(seed, len)| noise(seed, len));
        let want = product_at(0, [&x, &y, &b], sizes, dtype)?;
        for offset in [1, 2, 4] {
            let got = product_at(offset, [&x, &y, &b], sizes, dtype)?;
            assert!(got == want, "{dtype}: {offset} elements off");
        }
    }
    Ok(())
}

/// Returns the bits of a linear layer and of its gradients, every operand beginning `offset` elements into its memory.
fn product_at(
    offset: usize,
    values: [&[f32]; 3],
    [m, n, k]: [usize; 3],
    dtype: DType,
) -> Result<Vec<Vec<u8>>> {
    let cuda = kernels();
    let [x, y, b] = values.map(|values| shifted(&cuda, values, dtype, offset));
    let (x, y) = (x.reshape(&[m, k])?, y.reshape(&[n, k])?);
    let grad = shifted(&cuda, &noise(4, m * n), dtype, offset).reshape(&[m, n])?;
    let grads = cuda.linear_backward(&grad, &x, &y, true)?;
    let all =
        [Some(cuda.linear(&x, &y, Some(&b))?), Some(grads.input), Some(grads.weight), grads.bias];
    all.iter().flatten().map(|tensor| Ok(cuda.to_bits(tensor)?)).collect()
}

fn each_product_of_a_batch_is_that_of_its_pair() -> Result {
    let cuda = kernels();
    for dtype in types() {
        for (lead, [m, n, k]) in [(vec![2, 3], [9, 17, 21]), (vec![2], [65, 8, 16])] {
            let count: usize = lead.iter().product();
            let shape = |rows: usize, columns: usize| [&lead[..], &[rows, columns]].concat();
            let tensor = |seed, rows: usize, columns: usize| {
                let values = noise(seed, count * rows * columns);
                cuda.upload(&values, &shape(rows, columns), dtype).unwrap()
            };
            let (a, b, grad) = (tensor(1, m, k), tensor(2, k, n), tensor(3, m, n));
            let product = cuda.bmm(&a, &b)?;
            let [of_a, of_b] = cuda.bmm_backward(&grad, &a, &b)?;
            assert_eq!(product.shape(), shape(m, n));
            for i in 0..count {
                let of = |tensor: &Tensor, rows: usize, columns: usize| {
                    let matrix = tensor.slice(i * rows * columns, rows * columns)?;
                    matrix.reshape(&[rows, columns])
                };
                let (a, b, grad) = (of(&a, m, k)?, of(&b, k, n)?, of(&grad, m, n)?);
                let [want_a, want_b] = cuda.matmul_backward(&grad, &a, &b)?;
                let same = |got: Tensor, want: Tensor| -> Result<bool> {
                    Ok(cuda.to_bits(&got)? == cuda.to_bits(&want)?)
                };
                assert!(same(of(&product, m, n)?, cuda.matmul(&a, &b)?)?, "{dtype} {i}");
                assert!(
                    same(of(&of_a, m, k)?, want_a)? && same(of(&of_b, k, n)?, want_b)?,
                    "{dtype} {i}"
                );
            }
        }
    }
    Ok(())
}

/// The batch fills a GPU by itself too, so that a gradient is not cut.
fn each_long_product_of_a_batch_has_the_bits_of_its_pair() -> Result {
    let (pairs, k, f16) = (193, 1030, DType::F16);
    let cuda = own().with_products(Products::Own);
    let a = cuda.upload(&noise(1, pairs * k), &[pairs, k, 1], f16)?;
    let (rows, b) =
        (a.reshape(&[pairs, 1, k])?, cuda.upload(&noise(2, pairs), &[pairs, 1, 1], f16)?);
    let before = cuda.counters().launches;
    let products = cuda.bmm(&rows, &a)?;
    let between = cuda.counters().launches;
    let [_, of_b] = cuda.bmm_backward(&a, &a, &b)?;
    assert_eq!([between - before, cuda.counters().launches - between], [2, 2]);
    for pair in [0, 77, 192] {
        let (a, column) = (rows.slice(pair * k, k)?.reshape(&[1, k])?, a.slice(pair * k, k)?);
        let want = cuda.matmul(&a, &column.reshape(&[k, 1])?)?;
        assert_eq!(cuda.to_bits(&products.slice(pair, 1)?)?, cuda.to_bits(&want)?, "{pair}");
        let (got, want) = (cuda.download(&of_b.slice(pair, 1)?)?, cuda.download(&want)?);
        assert!((got[0] - want[0]).abs() <= want[0] / 500.0, "{got:?} for {want:?}");
    }
    Ok(())
}

fn an_inner_extent_of_zero_gives_zeros_or_the_bias() -> Result {
    for dtype in types() {
        let (a, b) = (upload(&[], &[3, 0], dtype), upload(&[], &[0, 5], dtype));
        assert_eq!(cuda().download(&cuda().matmul(&a, &b)?)?, [0.0; 15]);
        let (weight, bias) = (upload(&[], &[2, 0], dtype), upload(&[1.0, -2.0], &[2], dtype));
        let got = cuda().download(&cuda().linear(&a, &weight, Some(&bias))?)?;
        assert_eq!(got, [1.0, -2.0, 1.0, -2.0, 1.0, -2.0]);
        // Without rows the gradient of the weight is zero.
        let (input, weight) = (upload(&[], &[0, 3], dtype), upload(&[1.0; 6], &[2, 3], dtype));
        let grads = cuda().linear_backward(&upload(&[], &[0, 2], dtype), &input, &weight, true)?;
        assert_eq!(cuda().download(&grads.weight)?, [0.0; 6]);
        assert_eq!(cuda().download(&grads.bias.unwrap())?, [0.0; 2]);
        assert!(grads.input.is_empty());
    }
    Ok(())
}

fn empty_operands_give_empty_results() -> Result {
    let cuda = own();
    let empty = |shape: &[usize]| cuda.upload(&[], shape, DType::F16);
    let before = cuda.counters().launches;
    let product = cuda.matmul(&empty(&[0, 3])?, &empty(&[3, 0])?)?;
    assert_eq!(product.shape(), [0, 0]);
    let products = cuda.bmm(&empty(&[0, 2, 3])?, &empty(&[0, 3, 2])?)?;
    assert_eq!(products.shape(), [0, 2, 2]);
    let output = cuda.linear(&empty(&[4, 0, 3])?, &empty(&[0, 3])?, None)?;
    assert_eq!(output.shape(), [4, 0, 0]);
    // Uploads of f16 are casts.
    assert!(cuda.counters().launches - before <= 6, "{:?}", cuda.counters());
    Ok(())
}

fn what_is_not_finite_spreads_as_far_as_its_row_and_column() -> Result {
    for dtype in types() {
        let [m, n, k] = [70, 66, 40];
        let (mut x, y) = (noise(1, m * k), noise(2, k * n));
        x[3 * k + 5] = f32::NAN;
        x[69 * k + 39] = f32::INFINITY;
        let product = cuda().matmul(&upload(&x, &[m, k], dtype), &upload(&y, &[k, n], dtype))?;
        for (index, value) in cuda().download(&product)?.iter().enumerate() {
            let row = index / n;
            assert_eq!(value.is_nan(), row == 3, "{dtype} {index}: {value}");
            assert_eq!(value.is_infinite(), row == 69, "{dtype} {index}: {value}");
        }
    }
    Ok(())
}

fn results_beyond_the_largest_f16_are_infinite() -> Result {
    let (a, b) =
        (upload(&[60_000.0, 1.0], &[2, 1], DType::F16), upload(&[2.0], &[1, 1], DType::F16));
    assert_eq!(cuda().download(&cuda().matmul(&a, &b)?)?, [f32::INFINITY, 2.0]);
    Ok(())
}

/// One product of each case is cut into ranges: the forward one, or a gradient.
fn long_sums_of_few_tiles_stay_within_their_bound() -> Result {
    for dtype in types() {
        for sizes in [[5, 7, 1100], [1700, 9, 16], [8, 2100, 3]] {
            check(sizes, dtype)?;
        }
    }
    Ok(())
}

fn long_sums_add_their_bias_once() -> Result {
    for dtype in types() {
        for sizes @ [m, n, k] in [[3, 13, 1055], [2, 16, 1600]] {
            let [x, w, b] = [(1, m * k), (2, n * k), (3, n)]
                .map(|(seed, len)| stored(&noise(seed, len), dtype));
            let (input, weight) = (upload(&x, &[m, k], dtype), upload(&w, &[n, k], dtype));
            let got = cuda().linear(&input, &weight, Some(&upload(&b, &[n], dtype)))?;
            let (got, x, w) = (cuda().download(&got)?, matrix(&x, k), turned(&w, k));
            assert_within(&got, &x, &w, Some(&b), sizes, (dtype, "a long sum with a bias"));
        }
    }
    Ok(())
}

fn bits_of_long_sums_do_not_depend_on_where_operands_begin() -> Result {
    assert_bits_stay([1100, 8, 24])?;
    assert_bits_stay([3, 5, 1100])
}

/// The first range sums to 307,200,000, the second to almost the negative of it, all of it exact in f32.
fn what_overflows_in_a_range_does_not_overflow_in_whole() -> Result {
    let (k, f16) = (1200, DType::F16);
    let mut x = vec![1_000.0; k];
    x[k / 2..].fill(-1_000.0);
    x[k - 1] = -999.0;
    let (a, b) = (upload(&x, &[1, k], f16), upload(&vec![512.0; k], &[k, 1], f16));
    assert_eq!(cuda().download(&cuda().matmul(&a, &b)?)?, [512.0]);
    x[3] = f32::INFINITY;
    let spoilt = cuda().matmul(&upload(&x, &[1, k], f16), &b)?;
    assert_eq!(cuda().download(&spoilt)?, [f32::INFINITY]);
    Ok(())
}

fn products_wait_for_nothing_and_are_one_launch_each() -> Result {
    let cuda = own().with_products(Products::Own);
    let a = cuda.upload(&noise(1, 64), &[4, 4, 4], DType::F16)?;
    let before = cuda.counters();
    let product = cuda.bmm(&a, &a)?;
    cuda.bmm_backward(&product, &a, &a)?;
    let after = cuda.counters();
    assert_eq!((after.launches - before.launches, after.syncs - before.syncs), (3, 0));
    Ok(())
}

fn long_sums_are_a_launch_more() -> Result {
    let cuda = own().with_products(Products::Own);
    let launches = |k: usize| -> Result<[u64; 2]> {
        let ones = cuda.upload(&vec![1.0; k], &[k, 1], DType::F16)?;
        let (row, one) = (ones.reshape(&[1, k])?, ones.slice(0, 1)?.reshape(&[1, 1])?);
        let before = cuda.counters();
        let product = cuda.matmul(&row, &ones)?;
        let between = cuda.counters();
        let [_, of_b] = cuda.matmul_backward(&ones, &ones, &one)?;
        let after = cuda.counters();
        assert_eq!(after.syncs, before.syncs);
        for sum in [product, of_b] {
            assert_eq!(cuda.download(&sum)?, [f32::from(u16::try_from(k)?)]);
        }
        Ok([between.launches - before.launches, after.launches - between.launches])
    };
    assert_eq!([launches(1023)?, launches(1024)?], [[1, 2], [2, 3]]);
    Ok(())
}

fn bf16_before_compute_capability_8_is_refused_by_name() -> Result {
    let a = upload(&[1.0; 4], &[2, 2], DType::BF16);
    let outcome: Result<Tensor, Error> = Cuda::matmul(&cuda(), &a, &a);
    match outcome {
        Ok(product) => assert_eq!((is_old(), cuda().download(&product)?), (false, vec![2.0; 4])),
        Err(error) => {
            assert!(is_old(), "{error}");
            let told = error.to_string();
            assert!(
                told.contains("bf16") && told.contains("7.5") && told.contains("8.0"),
                "{told}"
            );
            assert_eq!(kind(Err::<(), _>(error)), ErrorKind::Unsupported);
        }
    }
    Ok(())
}
