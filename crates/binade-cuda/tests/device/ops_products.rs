//! Products of matrices, forward and backward, against exact sums within the kit's bounds, and bit by bit where bits are told.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::support::{Result, cuda, kind, noise, own, shifted};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_cuda::{Cuda, Error, Tensor, cudarc::driver::sys::CUdevice_attribute as Attribute};
use binade_ops::{Bmm, Download, Linear, MatMul, Upload};

crate::tests![
    products_of_all_sizes_stay_within_their_bound,
    large_tiles_have_the_bits_of_small_ones_wherever_operands_begin,
    operands_that_are_transposed_as_they_lie_are_multiplied_so,
    bits_do_not_depend_on_where_operands_begin,
    each_product_of_a_batch_is_that_of_its_pair,
    a_linear_layer_adds_its_bias_before_the_one_rounding,
    the_gradient_of_a_bias_is_the_sum_of_its_column,
    an_inner_extent_of_zero_gives_zeros_or_the_bias,
    empty_operands_give_empty_results,
    what_is_not_finite_spreads_as_far_as_its_row_and_column,
    results_beyond_the_largest_f16_are_infinite,
    products_wait_for_nothing_and_are_one_launch_each,
    what_does_not_fit_is_refused_as_on_the_cpu,
    bf16_before_compute_capability_8_is_refused_by_name,
];

/// Those that this GPU multiplies.
fn types() -> Vec<DType> {
    let old = [DType::F16, DType::F32];
    if is_old() { old.into() } else { vec![DType::BF16, DType::F16, DType::F32] }
}

fn is_old() -> bool {
    let major = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    cuda().attribute(major).unwrap() < 8
}

/// What a type holds of these values.
fn stored(values: &[f32], dtype: DType) -> Vec<f32> {
    let tensor = Cpu.upload(values, &[values.len()], dtype).unwrap();
    Cpu.download(&tensor).unwrap()
}

/// A matrix by its elements.
struct Matrix<'a> {
    values: &'a [f32],
    columns: usize,
    transposed: bool,
}

impl Matrix<'_> {
    fn at(&self, row: usize, column: usize) -> f64 {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        self.values[row * self.columns + column].into()
    }
}

fn matrix(values: &[f32], columns: usize) -> Matrix<'_> {
    Matrix { values, columns, transposed: false }
}

fn turned(values: &[f32], columns: usize) -> Matrix<'_> {
    Matrix { transposed: true, ..matrix(values, columns) }
}

/// Half of the last place of a type's values of this magnitude, or of its least.
fn rounding(value: f64, dtype: DType) -> f64 {
    let (bits, least) = match dtype {
        DType::BF16 => (8, -133),
        DType::F16 => (11, -24),
        _ => (24, -149),
    };
    (value.abs() * 2.0_f64.powi(-bits)).max(2.0_f64.powi(least))
}

/// Every element within c·n·2^-24·Σ|a||b| of the exact sum, where c is 1, or 4 for Tensor Cores, and one rounding to the type.
fn assert_within(
    got: &[f32],
    a: &Matrix<'_>,
    b: &Matrix<'_>,
    bias: Option<&[f32]>,
    [m, n, k]: [usize; 3],
    (dtype, what): (DType, &str),
) {
    assert_eq!(got.len(), m * n, "{what}");
    let c = if dtype == DType::F32 { 1.0 } else { 4.0 };
    // All of a small product; of a large one some of every row and column.
    let stride = if got.len() > 10_000 { 101 } else { 1 };
    for (index, got) in got.iter().enumerate().step_by(stride) {
        let (row, column) = (index / n, index % n);
        let bias = bias.map_or(0.0, |bias| f64::from(bias[column]));
        let (mut sum, mut size) = (bias, bias.abs());
        for k in 0..k {
            let product = a.at(row, k) * b.at(k, column);
            (sum, size) = (sum + product, size + product.abs());
        }
        let terms = f64::from(u32::try_from(k + 1).unwrap());
        let inside = c * terms * 2.0_f64.powi(-24) * size;
        let bound = inside + rounding(sum.abs() + inside, dtype);
        let off = (f64::from(*got) - sum).abs();
        assert!(
            off <= bound,
            "{what} {dtype}: {got} for {sum} at {row}, {column}: {off} > {bound}"
        );
    }
}

fn upload(values: &[f32], shape: &[usize], dtype: DType) -> Tensor {
    cuda().upload(values, shape, dtype).unwrap()
}

/// Forward and both gradients.
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

/// Matrices of a batch that takes large tiles, its operands beginning so many elements into their memory: the products and
/// their gradients.
fn batch(
    offset: usize,
    [count, m, n, k]: [usize; 4],
    dtype: DType,
) -> Result<([Tensor; 3], [Tensor; 3])> {
    let cuda = cuda();
    let tensor = |seed, rows: usize, columns: usize| {
        let values = noise(seed, count * rows * columns);
        shifted(&cuda, &values, dtype, offset).reshape(&[count, rows, columns])
    };
    let (a, b, grad) = (tensor(1, m, k)?, tensor(2, k, n)?, tensor(3, m, n)?);
    let [of_a, of_b] = cuda.bmm_backward(&grad, &a, &b)?;
    let product = cuda.bmm(&a, &b)?;
    Ok(([a, b, grad], [product, of_a, of_b]))
}

/// One of the pairs, alone, which takes small tiles; and the batch again from where chunks are not aligned.
fn large_tiles_have_the_bits_of_small_ones_wherever_operands_begin() -> Result {
    let cuda = cuda();
    for dtype in types() {
        for sizes @ [_, m, n, k] in [[64, 66, 130, 136], [64, 66, 136, 136]] {
            let (operands, got) = batch(0, sizes, dtype)?;
            let of = |tensor: &Tensor| {
                let [_, rows, columns] = *tensor.shape() else { panic!("{tensor:?}") };
                tensor.slice(63 * rows * columns, rows * columns)?.reshape(&[rows, columns])
            };
            let [a, b, grad] = [of(&operands[0])?, of(&operands[1])?, of(&operands[2])?];
            let [of_a, of_b] = cuda.matmul_backward(&grad, &a, &b)?;
            for (got, want) in got.iter().zip([cuda.matmul(&a, &b)?, of_a, of_b]) {
                assert!(cuda.to_bits(&of(got)?)? == cuda.to_bits(&want)?, "{dtype} {sizes:?}");
            }
            let [x, y] = [cuda.download(&a)?, cuda.download(&b)?];
            let (x, y, what) = (matrix(&x, k), matrix(&y, n), format!("{sizes:?}"));
            let found = cuda.download(&of(&got[0])?)?;
            assert_within(&found, &x, &y, None, [m, n, k], (dtype, &what));
            if n % 8 == 0 {
                let (_, again) = batch(1, sizes, dtype)?;
                for (got, again) in got.iter().zip(&again) {
                    assert!(cuda.to_bits(got)? == cuda.to_bits(again)?, "{dtype} {sizes:?}");
                }
            }
        }
    }
    Ok(())
}

/// `Linear` has its weight so, and its gradients the other two ways.
fn operands_that_are_transposed_as_they_lie_are_multiplied_so() -> Result {
    for dtype in types() {
        for sizes @ [rows, out, width] in [[5, 7, 9], [80, 72, 64]] {
            let [x, w, b, g] = [(1, rows * width), (2, out * width), (3, out), (4, rows * out)]
                .map(|(seed, len)| stored(&noise(seed, len), dtype));
            let (input, weight) =
                (upload(&x, &[rows, width], dtype), upload(&w, &[out, width], dtype));
            let (bias, grad) = (upload(&b, &[out], dtype), upload(&g, &[rows, out], dtype));
            let what = format!("linear {sizes:?}");
            let got = cuda().download(&cuda().linear(&input, &weight, Some(&bias))?)?;
            let (x_matrix, w_turned) = (matrix(&x, width), turned(&w, width));
            assert_within(&got, &x_matrix, &w_turned, Some(&b), sizes, (dtype, &what));
            let grads = cuda().linear_backward(&grad, &input, &weight, true)?;
            let of_input = cuda().download(&grads.input)?;
            let (g_matrix, w_matrix) = (matrix(&g, out), matrix(&w, width));
            assert_within(
                &of_input,
                &g_matrix,
                &w_matrix,
                None,
                [rows, width, out],
                (dtype, &what),
            );
            let of_weight = cuda().download(&grads.weight)?;
            let g_turned = turned(&g, out);
            assert_within(
                &of_weight,
                &g_turned,
                &x_matrix,
                None,
                [out, width, rows],
                (dtype, &what),
            );
        }
    }
    Ok(())
}

/// Aligned operands come sixteen bytes at a time, others element by element.
fn bits_do_not_depend_on_where_operands_begin() -> Result {
    for dtype in types() {
        let sizes @ [m, n, k] = [24, 40, 72];
        let [x, y, b] = [(1, m * k), (2, n * k), (3, n)].map(|(seed, len)| noise(seed, len));
        let want = product_at(0, [&x, &y, &b], sizes, dtype)?;
        for offset in [1, 4] {
            let got = product_at(offset, [&x, &y, &b], sizes, dtype)?;
            assert!(got == want, "{dtype}: {offset} elements off");
        }
    }
    Ok(())
}

/// The bits of a linear layer and of its gradients, every operand beginning so many elements into its memory.
fn product_at(
    offset: usize,
    values: [&[f32]; 3],
    [m, n, k]: [usize; 3],
    dtype: DType,
) -> Result<Vec<Vec<u8>>> {
    let cuda = cuda();
    let [x, y, b] = values.map(|values| shifted(&cuda, values, dtype, offset));
    let (x, y) = (x.reshape(&[m, k])?, y.reshape(&[n, k])?);
    let grad = shifted(&cuda, &noise(4, m * n), dtype, offset).reshape(&[m, n])?;
    let grads = cuda.linear_backward(&grad, &x, &y, true)?;
    let all =
        [Some(cuda.linear(&x, &y, Some(&b))?), Some(grads.input), Some(grads.weight), grads.bias];
    all.iter().flatten().map(|tensor| Ok(cuda.to_bits(tensor)?)).collect()
}

fn each_product_of_a_batch_is_that_of_its_pair() -> Result {
    let cuda = cuda();
    for dtype in types() {
        for (lead, [m, n, k]) in [(vec![2, 3], [9, 17, 21]), (vec![2], [65, 8, 16])] {
            let count: usize = lead.iter().product();
            let shape = |rows: usize, columns: usize| [&lead[..], &[rows, columns]].concat();
            let tensor = |seed, rows: usize, columns: usize| {
                upload(&noise(seed, count * rows * columns), &shape(rows, columns), dtype)
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

/// 2048 and 1 are f16 numbers, 2049 is none: added after a rounding, the bias would be lost twice.
fn a_linear_layer_adds_its_bias_before_the_one_rounding() -> Result {
    let cuda = cuda();
    let (one, bias) = (upload(&[1.0], &[1, 1], DType::F16), upload(&[1.0], &[1], DType::F16));
    let weight = upload(&[2048.0, 1.0], &[1, 2], DType::F16);
    let input = upload(&[1.0, 1.0], &[1, 2], DType::F16);
    assert_eq!(cuda.download(&cuda.linear(&input, &weight, Some(&bias))?)?, [2050.0]);
    assert_eq!(cuda.download(&cuda.linear(&one, &one, Some(&bias))?)?, [2.0]);
    Ok(())
}

fn the_gradient_of_a_bias_is_the_sum_of_its_column() -> Result {
    for dtype in types() {
        for (rows, out) in [(1, 1), (7, 3), (300, 33), (2_000, 5), (3, 200)] {
            let g = stored(&noise(rows as u64, rows * out), dtype);
            let grad = upload(&g, &[rows, out], dtype);
            let (x, w) = (
                upload(&vec![0.0; rows], &[rows, 1], dtype),
                upload(&vec![0.0; out], &[out, 1], dtype),
            );
            let got = cuda().linear_backward(&grad, &x, &w, true)?.bias.unwrap();
            assert_eq!((got.shape(), got.dtype()), (&[out][..], dtype));
            for (column, got) in cuda().download(&got)?.iter().enumerate() {
                let sum: f64 = (0..rows).map(|row| f64::from(g[row * out + column])).sum();
                // Half a last place, and a hair for the other order of the f64 sum.
                let off = (f64::from(*got) - sum).abs();
                let bound = rounding(sum, dtype) * 1.01 + 1e-9;
                assert!(off <= bound, "{dtype} {rows} {column}: {got} for {sum}");
            }
        }
    }
    assert!(
        cuda()
            .linear_backward(
                &upload(&[1.0], &[1, 1], DType::F16),
                &upload(&[1.0], &[1, 1], DType::F16),
                &upload(&[1.0], &[1, 1], DType::F16),
                false,
            )?
            .bias
            .is_none()
    );
    Ok(())
}

fn an_inner_extent_of_zero_gives_zeros_or_the_bias() -> Result {
    for dtype in types() {
        let (a, b) = (upload(&[], &[3, 0], dtype), upload(&[], &[0, 5], dtype));
        assert_eq!(cuda().download(&cuda().matmul(&a, &b)?)?, [0.0; 15]);
        let (weight, bias) = (upload(&[], &[2, 0], dtype), upload(&[1.0, -2.0], &[2], dtype));
        let got = cuda().download(&cuda().linear(&a, &weight, Some(&bias))?)?;
        assert_eq!(got, [1.0, -2.0, 1.0, -2.0, 1.0, -2.0]);
        // Rows that are not there make no gradient of the weight.
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
    let before = cuda.ledger().launches;
    let product = cuda.matmul(&empty(&[0, 3])?, &empty(&[3, 0])?)?;
    assert_eq!(product.shape(), [0, 0]);
    let products = cuda.bmm(&empty(&[0, 2, 3])?, &empty(&[0, 3, 2])?)?;
    assert_eq!(products.shape(), [0, 2, 2]);
    let output = cuda.linear(&empty(&[4, 0, 3])?, &empty(&[0, 3])?, None)?;
    assert_eq!(output.shape(), [4, 0, 0]);
    // Uploads of f16 are casts.
    assert!(cuda.ledger().launches - before <= 6, "{:?}", cuda.ledger());
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

fn products_wait_for_nothing_and_are_one_launch_each() -> Result {
    let cuda = own();
    let a = cuda.upload(&noise(1, 64), &[4, 4, 4], DType::F16)?;
    let before = cuda.ledger();
    let product = cuda.bmm(&a, &a)?;
    cuda.bmm_backward(&product, &a, &a)?;
    let after = cuda.ledger();
    assert_eq!((after.launches - before.launches, after.syncs - before.syncs), (3, 0));
    Ok(())
}

fn what_does_not_fit_is_refused_as_on_the_cpu() -> Result {
    let cuda = cuda();
    let (f16, f32) = (DType::F16, DType::F32);
    let told = |dtypes: [DType; 2], shapes: [&[usize]; 2]| -> Result<[String; 2]> {
        let zeros = |shape: &[usize]| vec![0.0; shape.iter().product()];
        let here = [0, 1].map(|i| cuda.upload(&zeros(shapes[i]), shapes[i], dtypes[i]).unwrap());
        let there = [0, 1].map(|i| Cpu.upload(&zeros(shapes[i]), shapes[i], dtypes[i]).unwrap());
        let [a, b] = &here;
        let [x, y] = &there;
        assert_eq!(kind(cuda.matmul_backward(a, a, b)), ErrorKind::Mismatch);
        assert_eq!(kind(cuda.linear_backward(a, a, b, true)), ErrorKind::Mismatch);
        assert_eq!(kind(cuda.bmm_backward(a, a, b)), ErrorKind::Mismatch);
        assert_eq!(cuda.bmm(a, b).unwrap_err().to_string(), Cpu.bmm(x, y).unwrap_err().to_string());
        Ok([cuda.matmul(a, b).unwrap_err().to_string(), Cpu.matmul(x, y).unwrap_err().to_string()])
    };
    for [here, there] in [
        told([f16, f16], [&[2, 3], &[2, 3]])?,
        told([f16, f32], [&[2, 3], &[3, 2]])?,
        told([DType::E4M3, DType::E4M3], [&[2, 2], &[2, 2]])?,
        told([f32, f32], [&[2, 3, 4], &[3, 4, 2]])?,
    ] {
        assert_eq!(here, there);
    }
    let (a, bias) = (upload(&[1.0; 4], &[2, 2], f16), upload(&[1.0; 3], &[3], f16));
    assert_eq!(kind(cuda.linear(&a, &a, Some(&bias))), ErrorKind::Mismatch);
    assert_eq!(kind(cuda.linear(&a, &a, Some(&upload(&[1.0; 2], &[2], f32)))), ErrorKind::Mismatch);
    assert_eq!(
        kind(cuda.matmul_backward(&upload(&[1.0; 4], &[2, 2], f32), &a, &a)),
        ErrorKind::Mismatch
    );
    let foreign = own().upload(&[1.0; 4], &[2, 2], f16)?;
    assert_eq!(cuda.matmul(&a, &foreign).unwrap_err(), Error::Foreign);
    assert_eq!(cuda.linear(&a, &a, Some(&foreign.slice(0, 2)?)).unwrap_err(), Error::Foreign);
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
