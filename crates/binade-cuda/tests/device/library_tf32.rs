//! Products of f32 by TF32: only if asked for, within the error of dropping 13 bits of each operand, and in a library alone. A
//! library that is allowed TF32 may compute in full; the stand-in drops all the bits that it may.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::captures::why;
use crate::products::{Matrix, is_old, matrix, stored, turned};
use crate::support::{Result, is_stand_in, noise, warmed};
use binade_core::DType;
use binade_core::ops::{Bmm, Conv2d, Conv2dConfig, Download, Linear, MatMul, Upload};
use binade_cuda::{CaptureError, Cuda, F32Products, Products, ProductsBackend, Tensor};

crate::tests![
    f32_is_multiplied_in_full_unless_tf32_is_asked_for,
    by_tf32_sums_are_within_what_their_operands_lose,
    sixteen_bits_keep_theirs_by_tf32,
    convolutions_of_f32_are_by_tf32_where_it_is_asked_for,
    a_convolutions_bias_keeps_its_bits_by_tf32,
    a_captured_step_keeps_the_choice_that_it_was_captured_with,
    changing_the_choice_between_warm_ups_and_capture_is_an_error,
];

/// Returns a device with the library, if there is one, by TF32; `None` if the GPU has no TF32, which a test of its own checks.
fn by_tf32() -> Result<Option<Cuda>> {
    if is_old() {
        return Ok(None);
    }
    let cuda = in_full().with_f32_products(F32Products::Tf32)?;
    let by = cuda.products()?;
    assert!(matches!(by, ProductsBackend::Library { f32: F32Products::Tf32, .. }), "{by}");
    assert!(by.to_string().ends_with(", f32 by TF32"), "{by}");
    Ok(Some(cuda))
}

fn in_full() -> Cuda {
    crate::support::own().with_products(Products::Library)
}

/// One, and a quarter of the last place that TF32 has beside it: lost by rounding and by dropping.
pub(crate) const FINE: f32 = 1.0 + 1.0 / 4096.0;

/// Returns a column of `FINE` times a row of ones.
pub(crate) fn fine(cuda: &Cuda) -> Result<Vec<f32>> {
    let a = cuda.upload(&[FINE; 16], &[16, 1], DType::F32)?;
    let b = cuda.upload(&[1.0; 16], &[1, 16], DType::F32)?;
    Ok(cuda.download(&cuda.matmul(&a, &b)?)?)
}

fn f32_is_multiplied_in_full_unless_tf32_is_asked_for() -> Result {
    let cuda = in_full();
    assert!(matches!(cuda.products()?, ProductsBackend::Library { f32: F32Products::Full, .. }));
    assert_eq!(fine(&cuda)?, [FINE; 256]);
    assert_eq!((cuda.counters().library, cuda.counters().tf32), (1, 0));
    let Some(cuda) = by_tf32()? else { return Ok(()) };
    let got = fine(&cuda)?;
    let is_sure = is_stand_in();
    assert!(got.iter().all(|&x| x == 1.0 || !is_sure && x == FINE), "{got:?}");
    assert_eq!((cuda.counters().library, cuda.counters().tf32), (1, 1));
    // The choice can be taken back, for all clones.
    let clone = cuda.clone();
    let _ = cuda.with_f32_products(F32Products::Full)?;
    assert_eq!(fine(&clone)?, [FINE; 256]);
    assert_eq!((clone.counters().library, clone.counters().tf32), (2, 1));
    Ok(())
}

/// Asserts the bound of TF32: each operand has lost less than 2^-10 of itself, a product of two less than 2^-9, and Tensor Cores
/// add.
fn assert_within(got: &[f32], a: &Matrix<'_>, b: &Matrix<'_>, [m, n, k]: [usize; 3]) {
    assert_eq!(got.len(), m * n);
    for (index, got) in got.iter().enumerate() {
        let products = (0..k).map(|k| a.at(index / n, k) * b.at(k, index % n));
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
        let terms = f64::from(u32::try_from(k + 1).unwrap());
        let bound = (2.0_f64.powi(-9) + 4.0 * terms * 2.0_f64.powi(-24)) * size;
        let off = (f64::from(*got) - sum).abs();
        assert!(off <= bound, "{got} for {sum} at {index} of {m}, {n}, {k}: {off} > {bound}");
    }
}

/// Products are those of a linear layer with its gradients, and a plain one.
fn by_tf32_sums_are_within_what_their_operands_lose() -> Result {
    for sizes @ [m, n, k] in [[1, 1, 1], [8, 8, 8], [40, 24, 72], [64, 96, 128]] {
        let Some(cuda) = by_tf32()? else { return Ok(()) };
        let [x, w, g] = [(1, m * k), (2, n * k), (3, m * n)].map(|(seed, len)| noise(seed, len));
        let up = |values: &[f32], shape: &[usize]| cuda.upload(values, shape, DType::F32);
        let (input, weight, grad) = (up(&x, &[m, k])?, up(&w, &[n, k])?, up(&g, &[m, n])?);
        let got = cuda.download(&cuda.linear(&input, &weight, None)?)?;
        assert_within(&got, &matrix(&x, k), &turned(&w, k), sizes);
        let grads = cuda.linear_backward(&grad, &input, &weight, false)?;
        let got = cuda.download(&grads.input)?;
        assert_within(&got, &matrix(&g, n), &matrix(&w, k), [m, k, n]);
        let got = cuda.download(&grads.weight)?;
        assert_within(&got, &turned(&g, n), &matrix(&x, k), [n, k, m]);
        let (of_x, of_w) = (input.reshape(&[1, m, k])?, up(&w, &[1, k, n])?);
        let got = cuda.download(&cuda.bmm(&of_x, &of_w)?)?;
        assert_within(&got, &matrix(&x, k), &matrix(&w, n), sizes);
        let counters = cuda.counters();
        assert_eq!((counters.library, counters.tf32), (4, 4), "{sizes:?}");
        // A bias is added in f32, and loses nothing.
        let bias = up(&vec![FINE; n], &[n])?;
        let zeros = up(&vec![0.0; m * k], &[m, k])?;
        let got = cuda.download(&cuda.linear(&zeros, &weight, Some(&bias))?)?;
        assert_eq!(got, vec![FINE; m * n]);
    }
    Ok(())
}

fn sixteen_bits_keep_theirs_by_tf32() -> Result {
    let Some(cuda) = by_tf32()? else { return Ok(()) };
    for dtype in [DType::BF16, DType::F16] {
        let bits = |cuda: &Cuda| -> Result<Vec<u8>> {
            let values = stored(&noise(1, 48 * 48), dtype);
            let a = cuda.upload(&values, &[48, 48], dtype)?;
            Ok(cuda.to_bits(&cuda.matmul(&a, &a)?)?)
        };
        let got = bits(&cuda)?;
        assert!(got == bits(&in_full())?, "{dtype}");
    }
    assert_eq!((cuda.counters().library, cuda.counters().tf32), (2, 0));
    Ok(())
}

/// Convolutions are by cuDNN, or products over windows.
fn convolutions_of_f32_are_by_tf32_where_it_is_asked_for() -> Result {
    let Some(cuda) = by_tf32()? else { return Ok(()) };
    let config = Conv2dConfig::default();
    let is_sure = is_stand_in();
    let all = |cuda: &Cuda| -> Result<[Vec<f32>; 3]> {
        let x = cuda.upload(&[FINE; 64], &[1, 4, 4, 4], DType::F32)?;
        let w = cuda.upload(&[1.0; 64], &[4, 4, 2, 2], DType::F32)?;
        let y = cuda.conv2d(&x, &w, None, config)?;
        let g = cuda.upload(&[FINE; 36], y.shape(), DType::F32)?;
        let grads = cuda.conv2d_backward(&g, &x, &w, false, config)?;
        Ok([cuda.download(&y)?, cuda.download(&grads.input)?, cuda.download(&grads.weight)?])
    };
    let full = all(&in_full())?;
    let tf32 = all(&cuda)?;
    for (full, tf32) in full.iter().zip(&tf32) {
        for (full, tf32) in full.iter().zip(tf32) {
            let (full, tf32) = (f64::from(*full), f64::from(*tf32));
            // All terms are positive, so that the sum of their magnitudes is the sum.
            assert!((full - tf32).abs() <= 2.0_f64.powi(-9) * full, "{tf32} for {full}");
            assert!(!is_sure || tf32 < full, "{tf32} for {full}");
        }
    }
    assert!(!is_sure || cuda.counters().tf32 == 3);
    // Products of sixteen bits have no such choice.
    let x = cuda.upload(&[1.0; 64], &[1, 4, 4, 4], DType::F16)?;
    let before = cuda.counters();
    cuda.conv2d(&x, &cuda.upload(&[1.0; 64], &[4, 4, 2, 2], DType::F16)?, None, config)?;
    let after = cuda.counters();
    assert!(after.library + after.convolutions > before.library + before.convolutions);
    assert_eq!(after.tf32, before.tf32);
    Ok(())
}

/// A convolution whose window lies outside the image is its bias. The stand-in for cuDNN has no algorithm so far in the padding,
/// so it is a product over windows, in which a bias could be an operand.
fn a_convolutions_bias_keeps_its_bits_by_tf32() -> Result {
    let Some(cuda) = by_tf32()? else { return Ok(()) };
    let config = Conv2dConfig { padding: [4, 0], ..Conv2dConfig::default() };
    let x = cuda.upload(&[1.0; 9], &[1, 1, 3, 3], DType::F32)?;
    let w = cuda.upload(&[1.0; 18], &[2, 1, 3, 3], DType::F32)?;
    let bias = cuda.upload(&[FINE; 2], &[2], DType::F32)?;
    let got = cuda.download(&cuda.conv2d(&x, &w, Some(&bias), config)?)?;
    let of_rows = [0.0, 0.0, 3.0, 6.0, 9.0, 6.0, 3.0, 0.0, 0.0].map(|sum| sum + FINE);
    assert_eq!(got, of_rows.repeat(2));
    assert!(cuda.counters().tf32 > 0);
    Ok(())
}

/// Returns a square matrix of `FINE`.
fn square(cuda: &Cuda) -> Result<Tensor> {
    Ok(cuda.upload(&[FINE; 256], &[16, 16], DType::F32)?)
}

fn a_captured_step_keeps_the_choice_that_it_was_captured_with() -> Result {
    let Some(cuda) = by_tf32()? else { return Ok(()) };
    let a = square(&cuda)?;
    let step = || cuda.matmul(&a, &a);
    let (first, capture) = cuda.capture().warm_up(step)?;
    let want = cuda.to_bits(&first)?;
    drop(first);
    let ((), capture) = capture.warm_up(|| step().map(drop))?;
    let captured = capture.capture(step)?;
    let _ = cuda.clone().with_f32_products(F32Products::Full)?;
    let got = captured.replay()?;
    assert!(cuda.to_bits(&got)? == want);
    let full = cuda.to_bits(&step()?)?;
    assert!(!is_stand_in() || full != want, "the handle has gone on in full");
    Ok(())
}

fn changing_the_choice_between_warm_ups_and_capture_is_an_error() -> Result {
    for (first, then) in
        [(F32Products::Full, F32Products::Tf32), (F32Products::Tf32, F32Products::Full)]
    {
        let Some(cuda) = by_tf32()? else { return Ok(()) };
        let a = square(&cuda)?;
        let step = || cuda.matmul(&a, &a).map(drop);
        // The library has been asked for both by now, so that the search is not the cause of failure.
        for choice in [then, first] {
            let _ = cuda.clone().with_f32_products(choice)?;
            step()?;
        }
        let capture = warmed(&cuda, step)?;
        let _ = cuda.clone().with_f32_products(then)?;
        let refused = why(capture.capture(step));
        assert_eq!(refused, ("cublasLtMatmul", CaptureError::Changed { number: 0 }));
    }
    Ok(())
}
