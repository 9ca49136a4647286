//! Products by cuBLASLt, if it is installed, against the kernels': the same bounds, one search a shape, and captured steps.
//! Without cuBLASLt most of these tests are ignored, unless `BINADE_REQUIRE` names `cublaslt`.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::captures::why;
use crate::products::{assert_within, matrix, stored, turned, types};
use crate::support::{Result, is_stand_in, noise, warmed};
use binade_core::DType;
use binade_core::ops::{Bmm, Download, Linear, MatMul, Upload};
use binade_cuda::{CaptureError, Cuda, Error, Products, ProductsBackend, Tensor};

crate::tests![
    the_library_stays_within_the_kernels_bound,
    each_pair_of_a_batch_is_the_librarys_product_of_it_alone,
    gradients_of_a_batch_go_to_the_library_whole,
    the_library_is_asked_once_a_shape_and_layout,
    captured_products_replay_with_what_their_tensors_hold,
    products_that_no_warm_up_did_are_refused_by_name,
    changing_the_library_for_the_kernels_is_no_captured_step,
];

/// Returns a device with the library, if there is one, whatever most tests multiply by.
fn own() -> Cuda {
    crate::support::own().with_products(Products::Library)
}

/// Tests that hold with the library and without.
pub(crate) const EITHER: &[crate::shared::Test] = &[
    ("what_multiplies_is_told_with_its_version", what_multiplies_is_told_with_its_version),
    ("kernels_that_are_asked_for_multiply_alone", kernels_that_are_asked_for_multiply_alone),
];

fn what_multiplies_is_told_with_its_version() -> Result {
    let cuda = own();
    let by = cuda.products()?;
    assert_eq!(cuda.products()?, by);
    match &by {
        ProductsBackend::Library { version, .. } => assert!(*version > 10_000, "{by}"),
        ProductsBackend::Own { why } => assert!(why.contains("cuBLASLt"), "{why}"),
        other => panic!("{other}"),
    }
    // Products work with the library and without.
    let a = cuda.upload(&[0.5; 64], &[8, 8], DType::F16)?;
    assert_eq!(cuda.download(&cuda.matmul(&a, &a)?)?, [2.0; 64]);
    let is_library = matches!(by, ProductsBackend::Library { .. });
    assert_eq!(cuda.counters().library, u64::from(is_library));
    Ok(())
}

fn kernels_that_are_asked_for_multiply_alone() -> Result {
    let cuda = own().with_products(Products::Own);
    assert_eq!(cuda.products()?, ProductsBackend::Own { why: "asked for".into() });
    let a = cuda.upload(&noise(1, 64), &[8, 8], DType::F16)?;
    cuda.matmul(&a, &a)?;
    assert_eq!((cuda.counters().library, cuda.counters().searches), (0, 0));
    // The choice can be taken back, for all clones.
    let (by, clone) = (own().products()?, cuda.clone());
    assert_eq!(cuda.with_products(Products::Library).products()?, by);
    assert_eq!(clone.products()?, by);
    Ok(())
}

/// A linear layer with its gradients, and a plain product with its own, have every transposition of the operations.
fn the_library_stays_within_the_kernels_bound() -> Result {
    let is_stand_in = is_stand_in();
    for dtype in types() {
        for sizes @ [m, n, k] in [[1, 1, 1], [5, 7, 9], [33, 40, 72], [64, 96, 128]] {
            let [x, w, b, g] = [(1, m * k), (2, n * k), (3, n), (4, m * n)]
                .map(|(seed, len)| stored(&noise(seed, len), dtype));
            let cuda = own();
            let up = |values: &[f32], shape: &[usize]| cuda.upload(values, shape, dtype);
            let (input, weight, bias) = (up(&x, &[m, k])?, up(&w, &[n, k])?, up(&b, &[n])?);
            let grad = up(&g, &[m, n])?;
            let what = format!("library {sizes:?}");
            let (of_x, of_w, of_g) = (matrix(&x, k), matrix(&w, k), matrix(&g, n));
            let got = cuda.download(&cuda.linear(&input, &weight, Some(&bias))?)?;
            assert_within(&got, &of_x, &turned(&w, k), Some(&b), sizes, (dtype, &what));
            let grads = cuda.linear_backward(&grad, &input, &weight, false)?;
            let got = cuda.download(&grads.input)?;
            assert_within(&got, &of_g, &of_w, None, [m, k, n], (dtype, &what));
            let got = cuda.download(&grads.weight)?;
            assert_within(&got, &turned(&g, n), &of_x, None, [n, k, m], (dtype, &what));
            let right = up(&w, &[k, n])?;
            let got = cuda.download(&cuda.matmul(&input, &right)?)?;
            assert_within(&got, &of_x, &matrix(&w, n), None, sizes, (dtype, &what));
            let [of_input, _] = cuda.matmul_backward(&grad, &input, &right)?;
            let got = cuda.download(&of_input)?;
            assert_within(&got, &of_g, &turned(&w, n), None, [m, k, n], (dtype, &what));
            // A real library may leave some odd sizes to the kernels.
            let is_sure = is_stand_in || sizes.iter().all(|extent| extent.is_multiple_of(8));
            // The stand-in takes operands at multiples of four bytes; a pair of odd rows inside a batch is at none.
            let is_odd = [n, k].iter().any(|row| !(row * dtype.bytes()).is_multiple_of(4));
            // Beside rows of sixteen bits that are not whole 16 bytes, a bias is the kernels' to add.
            let is_added_here = dtype != DType::F32 && !(n | k).is_multiple_of(8);
            let most = 6 - u64::from(is_stand_in && is_odd) - u64::from(is_added_here);
            assert!(!is_sure || cuda.counters().library == most, "{what} {dtype}");
        }
    }
    Ok(())
}

/// The second pair of odd rows lies at no multiple of four bytes.
fn each_pair_of_a_batch_is_the_librarys_product_of_it_alone() -> Result {
    let count = 3;
    for dtype in types() {
        for [m, n, k] in [[17, 24, 40], [9, 7, 33]] {
            let cuda = own();
            let [x, y] = [(1, count * m * k), (2, count * k * n)]
                .map(|(seed, len)| stored(&noise(seed, len), dtype));
            let a = cuda.upload(&x, &[count, m, k], dtype)?;
            let b = cuda.upload(&y, &[count, k, n], dtype)?;
            let products = cuda.bmm(&a, &b)?;
            let is_sure = dtype == DType::F32 || n.is_multiple_of(8);
            let found = (cuda.counters().library, cuda.counters().searches);
            assert!(!is_sure || found == (3, 1), "{found:?}");
            for pair in 0..count {
                let got = products.slice(pair * m * n, m * n)?;
                let (x, y) = (&x[pair * m * k..][..m * k], &y[pair * k * n..][..k * n]);
                let there = [a.slice(pair * m * k, m * k)?, b.slice(pair * k * n, k * n)?];
                let anew = [cuda.upload(x, &[m * k], dtype)?, cuda.upload(y, &[k * n], dtype)?];
                for [a, b] in [there, anew] {
                    let alone = cuda.matmul(&a.reshape(&[m, k])?, &b.reshape(&[k, n])?)?;
                    assert!(cuda.to_bits(&got)? == cuda.to_bits(&alone)?, "{dtype} {pair}");
                }
                let (got, x, y) = (cuda.download(&got)?, matrix(x, k), matrix(y, n));
                assert_within(&got, &x, &y, None, [m, n, k], (dtype, "one of a batch"));
            }
            assert_eq!(cuda.counters().searches, 1, "a pair is asked for once");
        }
    }
    Ok(())
}

fn gradients_of_a_batch_go_to_the_library_whole() -> Result {
    let (count, m, n, k) = (3, 17, 24, 40);
    for dtype in types() {
        let cuda = own();
        let [x, y, g] = [(1, count * m * k), (2, count * k * n), (3, count * m * n)]
            .map(|(seed, len)| stored(&noise(seed, len), dtype));
        let a = cuda.upload(&x, &[count, m, k], dtype)?;
        let b = cuda.upload(&y, &[count, k, n], dtype)?;
        let grad = cuda.upload(&g, &[count, m, n], dtype)?;
        let [of_a, of_b] = cuda.bmm_backward(&grad, &a, &b)?;
        assert_eq!((cuda.counters().library, cuda.counters().searches), (2, 2));
        let (of_a, of_b) = (cuda.download(&of_a)?, cuda.download(&of_b)?);
        for pair in 0..count {
            let (x, y) = (&x[pair * m * k..][..m * k], &y[pair * k * n..][..k * n]);
            let g = &g[pair * m * n..][..m * n];
            let got = &of_a[pair * m * k..][..m * k];
            let said = (dtype, "one of a batch");
            assert_within(got, &matrix(g, n), &turned(y, n), None, [m, k, n], said);
            let got = &of_b[pair * k * n..][..k * n];
            assert_within(got, &turned(x, k), &matrix(g, n), None, [k, n, m], said);
        }
    }
    Ok(())
}

fn the_library_is_asked_once_a_shape_and_layout() -> Result {
    let cuda = own();
    let tensor = |seed, shape: &[usize]| -> Result<Tensor> {
        Ok(cuda.upload(&noise(seed, shape.iter().product()), shape, DType::F16)?)
    };
    let (a, b, bias) = (tensor(1, &[16, 16])?, tensor(2, &[16, 16])?, tensor(3, &[16])?);
    let searches = || cuda.counters().searches;
    for _ in 0..3 {
        cuda.matmul(&a, &b)?;
        // Other tensors of the same shape and alignment need no new search.
        cuda.matmul(&b, &a)?;
        assert_eq!(searches(), 1);
    }
    for _ in 0..2 {
        cuda.linear(&a, &b, None)?;
        assert_eq!(searches(), 2, "another transposition");
    }
    for _ in 0..2 {
        cuda.linear(&a, &b, Some(&bias))?;
        assert_eq!(searches(), 3, "a bias");
    }
    for _ in 0..2 {
        cuda.matmul(&tensor(4, &[8, 16])?, &b)?;
        assert_eq!(searches(), 4, "another shape");
    }
    let wide = tensor(5, &[17, 16])?;
    cuda.matmul(&wide.slice(16, 256)?.reshape(&[16, 16])?, &b)?;
    assert_eq!(searches(), 4, "on a multiple of 32 bytes, as its rows are anyway");
    for _ in 0..2 {
        // The start is in the middle of a row, at a multiple of 16 bytes.
        cuda.matmul(&wide.slice(8, 256)?.reshape(&[16, 16])?, &b)?;
        assert_eq!(searches(), 5, "another alignment");
    }
    cuda.matmul(&cuda.upload(&noise(6, 256), &[16, 16], DType::F32)?, &{
        cuda.upload(&noise(7, 256), &[16, 16], DType::F32)?
    })?;
    assert_eq!(searches(), 6, "another type");
    Ok(())
}

/// Computes a layer, its gradients, and a batch of products.
fn layer(cuda: &Cuda, tensors: &[Tensor; 3]) -> Result<[Tensor; 3], Error> {
    let [input, weight, bias] = tensors;
    let output = cuda.linear(input, weight, Some(bias))?;
    let grads = cuda.linear_backward(&output, input, weight, true)?;
    Ok([output, grads.input, grads.weight])
}

fn bits(cuda: &Cuda, tensors: &[Tensor; 3]) -> Result<Vec<Vec<u8>>> {
    tensors.iter().map(|tensor| Ok(cuda.to_bits(tensor)?)).collect()
}

fn captured_products_replay_with_what_their_tensors_hold() -> Result {
    for dtype in types() {
        let cuda = own();
        let shapes = [vec![24, 72], vec![40, 72], vec![40]];
        let size = |shape: &Vec<usize>| shape.iter().product::<usize>();
        let zeros = |shape: &Vec<usize>| cuda.upload(&vec![0.0; size(shape)], shape, dtype);
        let fixed = [zeros(&shapes[0])?, zeros(&shapes[1])?, zeros(&shapes[2])?];
        let write = |number: u64| -> Result {
            for (place, tensor) in fixed.iter().enumerate() {
                cuda.write(tensor, &noise(10 * number + place as u64, tensor.len()))?;
            }
            Ok(())
        };
        let mut want = Vec::new();
        for number in 0..4 {
            write(number)?;
            want.push(bits(&cuda, &layer(&cuda, &fixed)?)?);
        }
        let searches = cuda.counters().searches;
        assert_eq!(cuda.counters().library, 4 * 3);
        let capture = warmed(&cuda, || layer(&cuda, &fixed))?;
        let captured = capture.capture(|| layer(&cuda, &fixed))?;
        for (number, want) in want.iter().enumerate() {
            write(number as u64)?;
            let got = bits(&cuda, &captured.replay()?)?;
            assert!(got == *want, "{dtype}, replay {number}");
        }
        assert_eq!(cuda.counters().searches, searches, "nothing is asked twice");
    }
    Ok(())
}

fn products_that_no_warm_up_did_are_refused_by_name() -> Result {
    let cuda = own();
    let tensor = |seed, rows: usize| cuda.upload(&noise(seed, 16 * rows), &[rows, 16], DType::F16);
    let (a, b) = (tensor(1, 16)?, tensor(2, 16)?);
    let step = |left: &Tensor, right: &Tensor| cuda.matmul(left, right).map(drop);
    // Another order of the operands, and another shape, which the library is not asked about while it is captured.
    for (left, right) in [(&b, &a), (&tensor(3, 8)?, &b)] {
        let capture = warmed(&cuda, || step(&a, &b))?;
        let searches = cuda.counters().searches;
        let other = why(capture.capture(|| step(left, right)));
        assert_eq!(other, ("cublasLtMatmul", CaptureError::Changed { number: 0 }));
        assert_eq!(cuda.counters().searches, searches);
    }
    // The handle goes on.
    assert_eq!(cuda.download(&cuda.matmul(&a, &b)?)?.len(), 256);
    Ok(())
}

fn changing_the_library_for_the_kernels_is_no_captured_step() -> Result {
    let cuda = own();
    let a = cuda.upload(&noise(1, 256), &[16, 16], DType::F16)?;
    let step = || cuda.matmul(&a, &a).map(drop);
    let capture = warmed(&cuda, step)?;
    let _ = cuda.clone().with_products(Products::Own);
    let (operation, reason) = why(capture.capture(step));
    assert!(operation.starts_with("matmul_"), "{operation}");
    assert_eq!(reason, CaptureError::Changed { number: 0 });
    Ok(())
}
