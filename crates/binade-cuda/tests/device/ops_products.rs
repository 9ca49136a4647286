//! Matrix products and linear layers beyond the kit: tiles, ranges, offsets and pairs of a batch, bit by bit, and launches.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::products::{is_old, stored, types, upload};
use crate::support::{Result, cuda, kernels, kind, noise, own, shifted};
use binade_core::ops::{Bmm, Download, Linear, LinearRelu, MatMul, Relu, Upload};
use binade_core::{DType, ErrorKind};
use binade_cuda::{Cuda, Error, Products, Tensor};

crate::tests![
    bits_do_not_depend_on_where_operands_begin,
    each_product_of_a_batch_is_that_of_its_pair,
    each_long_product_of_a_batch_has_the_bits_of_its_pair,
    what_overflows_in_a_range_does_not_overflow_in_whole,
    long_sums_are_a_launch_more,
    large_tiles_of_no_terms_are_their_bias,
    gradients_but_for_the_inputs_are_the_same_and_a_product_less,
    our_kernels_take_a_launch_less_for_a_unit_behind_a_layer,
    bf16_before_compute_capability_8_is_refused_by_name,
];

/// Returns the leading extents, and M, N and K, of batches. The last takes large tiles, forward and backward: just enough of them, and
/// just more than half full. In one type its output has rows of whole chunks, in the others the operands have.
fn batches(dtype: DType) -> [(Vec<usize>, [usize; 3]); 3] {
    let [rows, n, k] = if dtype == DType::F32 || is_old() { [66, 70, 72] } else { [98, 130, 136] };
    let large = if dtype == DType::F16 { [rows, k, n] } else { [rows, n, k] };
    [(vec![2, 3], [9, 17, 21]), (vec![2], [65, 8, 16]), (vec![64], large)]
}

/// Each pair alone takes small tiles.
fn each_product_of_a_batch_is_that_of_its_pair() -> Result {
    let cuda = kernels();
    for dtype in types() {
        for (lead, [m, n, k]) in batches(dtype) {
            let count: usize = lead.iter().product();
            let tensor = |seed, rows: usize, columns: usize| {
                let values = noise(seed, count * rows * columns);
                cuda.upload(&values, &[&lead[..], &[rows, columns]].concat(), dtype).unwrap()
            };
            let (a, b, grad) = (tensor(1, m, k), tensor(2, k, n), tensor(3, m, n));
            let [of_a, of_b] = cuda.bmm_backward(&grad, &a, &b)?;
            let got = [cuda.bmm(&a, &b)?, of_a, of_b];
            for pair in if count < 10 { 0..count } else { count - 1..count } {
                let of = |tensor: &Tensor| {
                    let [.., rows, columns] = *tensor.shape() else { panic!("{tensor:?}") };
                    let matrix = tensor.slice(pair * rows * columns, rows * columns)?;
                    matrix.reshape(&[rows, columns])
                };
                let [a, b, grad] = [of(&a)?, of(&b)?, of(&grad)?];
                let [of_a, of_b] = cuda.matmul_backward(&grad, &a, &b)?;
                for (got, want) in got.iter().zip([cuda.matmul(&a, &b)?, of_a, of_b]) {
                    let is_same = cuda.to_bits(&of(got)?)? == cuda.to_bits(&want)?;
                    assert!(is_same, "{dtype} {m} {n} {k} {pair}");
                }
            }
        }
    }
    Ok(())
}

/// Operands come in copies of sixteen bytes, or of eight or four if they begin at such multiples, others element by element. Two of the
/// products have long sums.
fn bits_do_not_depend_on_where_operands_begin() -> Result {
    let sizes = [[24, 40, 72], [1100, 8, 24], [3, 5, 1100]];
    for (dtype, sizes) in types().into_iter().flat_map(|dtype| sizes.map(|sizes| (dtype, sizes))) {
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

fn large_tiles_of_no_terms_are_their_bias() -> Result {
    let (rows, out) = (8100, 130);
    for dtype in types() {
        let b = stored(&noise(3, out), dtype);
        let (x, w) = (upload(&[], &[rows, 0], dtype), upload(&[], &[out, 0], dtype));
        let got = cuda().linear(&x, &w, Some(&upload(&b, &[out], dtype)))?;
        assert_eq!(cuda().download(&got)?, b.repeat(rows));
    }
    Ok(())
}

fn gradients_but_for_the_inputs_are_the_same_and_a_product_less() -> Result {
    let cuda = own();
    let one = |seed, shape: &[usize]| {
        cuda.upload(&noise(seed, shape.iter().product()), shape, DType::F16)
    };
    let (x, w, g) = (one(1, &[5, 7])?, one(2, &[3, 7])?, one(3, &[5, 3])?);
    let before = cuda.counters().launches;
    let all = cuda.linear_backward(&g, &x, &w, true)?;
    let between = cuda.counters().launches;
    let some = cuda.linear_backward_of_weight(&g, &x, &w, true)?;
    assert_eq!(cuda.counters().launches - between + 1, between - before);
    assert_eq!(cuda.to_bits(&some.weight)?, cuda.to_bits(&all.weight)?);
    assert_eq!(cuda.to_bits(&some.bias.unwrap())?, cuda.to_bits(&all.bias.unwrap())?);
    assert!(cuda.linear_backward_of_weight(&g, &x, &w, false)?.bias.is_none());
    Ok(())
}

fn our_kernels_take_a_launch_less_for_a_unit_behind_a_layer() -> Result {
    let cuda = own().with_products(Products::Own);
    for (k, launches) in [(32, 1), (2048, 2)] {
        let x = cuda.upload(&noise(1, 8 * k), &[8, k], DType::F16)?;
        let w = cuda.upload(&noise(2, 8 * k), &[8, k], DType::F16)?;
        let before = cuda.counters().launches;
        cuda.relu(&cuda.linear(&x, &w, None)?)?;
        let between = cuda.counters().launches;
        cuda.linear_relu(&x, &w, None)?;
        let taken = [between - before, cuda.counters().launches - between];
        assert_eq!(taken, [launches + 1, launches], "{k}");
    }
    Ok(())
}
