//! Products that operations ask of the library seldom or never: gaps, f32 results of sixteen bits, and misaligned operands.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::products::unless_full;
use crate::{
    Cuda, CudaError, Error, ProductsBackend, Tensor,
    ops::gemm::{Gemm, Matrices},
    testing::{absent, device},
};
use binade_core::DType;
use binade_core::ops::{Download, Upload};

/// Returns the device with its library, or `None` if neither is required.
fn with_library() -> Option<Cuda> {
    let cuda = device()?;
    match cuda.products().unwrap() {
        ProductsBackend::Library { .. } => Some(cuda),
        ProductsBackend::Own { why } => {
            absent(why, &["cublaslt"]);
            None
        }
    }
}

/// Sizes M, N and K that every library supports.
const SIZES: [usize; 3] = [8, 24, 16];

/// Types, offsets and bias of one product.
struct Case {
    dtype: DType,
    into: DType,
    /// Elements before the first of A, of B and of C.
    offsets: [usize; 3],
    bias: bool,
}

/// Returns small whole numbers, whose sums are exact in any order.
fn whole(seed: usize, len: usize) -> Vec<f32> {
    let value = |i: usize| f32::from(u8::try_from((seed + 7 * i) % 5).unwrap()) - 2.0;
    (0..len).map(value).collect()
}

/// Returns a part of a tensor, `offset` elements from its start.
fn part(cuda: &Cuda, values: &[f32], dtype: DType, offset: usize) -> Tensor {
    let padded = [&vec![f32::NAN; offset][..], values].concat();
    let tensor = cuda.upload(&padded, &[padded.len()], dtype).unwrap();
    tensor.slice(offset, values.len()).unwrap()
}

/// Returns true if the library computed the product. Asserts that it is right in any case.
fn is_the_librarys(cuda: &Cuda, case: &Case) -> bool {
    let [m, n, k] = SIZES;
    let Case { dtype, into, offsets: [of_a, of_b, of_c], bias } = *case;
    let (x, y, z) = (whole(1, m * k), whole(2, k * n), whole(3, n));
    let (a, b) = (part(cuda, &x, dtype, of_a), part(cuda, &y, dtype, of_b));
    let added = part(cuda, &z, dtype, 0);
    let c = part(cuda, &vec![7.0; m * n], into, of_c);
    let bias_of = |column: usize| if bias { z[column] } else { 0.0 };
    let (left, right) = (Matrices::dense(&a, m, k), Matrices::dense(&b, k, n));
    let product = Gemm::of(left, right, Matrices::dense(&c, m, n), SIZES);
    let gemm = Gemm { bias: bias.then_some(&added), ..product };
    let before = cuda.counters().library;
    cuda.gemm(&gemm).unwrap();
    let element = |place: usize| {
        let (row, column) = (place / n, place % n);
        (0..k).map(|k_| x[row * k + k_] * y[k_ * n + column]).sum::<f32>() + bias_of(column)
    };
    let want: Vec<f32> = (0..m * n).map(element).collect();
    assert_eq!(cuda.download(&c).unwrap(), want, "{dtype} into {into}");
    cuda.counters().library > before
}

#[test]
fn sixteen_bits_into_f32_are_the_librarys_unless_a_bias_of_sixteen_is_added() {
    let Some(cuda) = with_library() else { return };
    let (dtype, into, offsets) = (DType::F16, DType::F32, [0; 3]);
    assert!(is_the_librarys(&cuda, &Case { dtype, into, offsets, bias: false }));
    assert!(!is_the_librarys(&cuda, &Case { dtype, into, offsets, bias: true }));
    let same = Case { dtype, into: dtype, offsets, bias: true };
    assert!(is_the_librarys(&cuda, &same));
}

/// The library gets each operand's alignment. Kernels compute a product that it has nothing for, the same way each time.
#[test]
fn operands_at_odd_places_are_multiplied_by_whoever_can() {
    let Some(cuda) = with_library() else { return };
    let is_stand_in = cuda.name().unwrap() == "Binade PTX interpreter";
    for place in 0..3 {
        for (offset, is_whole) in [(1, false), (2, true), (8, true)] {
            let mut offsets = [0; 3];
            offsets[place] = offset;
            let case = Case { dtype: DType::F16, into: DType::F16, offsets, bias: false };
            let first = is_the_librarys(&cuda, &case);
            let searches = cuda.counters().searches;
            assert_eq!(is_the_librarys(&cuda, &case), first, "{offsets:?}");
            assert_eq!(cuda.counters().searches, searches, "a refusal is kept as well");
            // The stand-in has algorithms for operands at multiples of four bytes.
            assert!(!is_stand_in || first == is_whole, "{offsets:?}");
        }
    }
}

#[test]
fn a_bias_at_an_odd_place_and_a_sum_of_no_terms_are_the_kernels() {
    let Some(cuda) = with_library() else { return };
    let (a, b) = (whole(1, 4), whole(2, 4));
    let [x, y] = [a, b].map(|values| cuda.upload(&values, &[4], DType::F16).unwrap());
    let bias = part(&cuda, &[1.0, 2.0], DType::F16, 1);
    let c = cuda.upload(&[0.0; 4], &[4], DType::F16).unwrap();
    let before = cuda.counters().library;
    for k in [0, 2] {
        let (a, b) = (Matrices::dense(&x, 2, k), Matrices::dense(&y, k, 2));
        let c = Matrices::dense(&c, 2, 2);
        cuda.gemm(&Gemm { bias: Some(&bias), ..Gemm::of(a, b, c, [2, 2, k]) }).unwrap();
    }
    assert_eq!(cuda.counters().library, before);
}

#[test]
fn the_workspace_is_made_once_and_stays() {
    let Some(cuda) = with_library() else { return };
    let a = cuda.upload(&[1.0; 64 * 64], &[64, 64], DType::F16).unwrap();
    let multiply = || binade_core::ops::MatMul::matmul(&cuda, &a, &a).map(drop).unwrap();
    multiply();
    let after = cuda.memory_use().bytes;
    for _ in 0..3 {
        multiply();
    }
    assert_eq!(cuda.memory_use().bytes, after);
}

/// Matrices as in a convolution: each image's columns and results side by side, and one weight for all.
#[test]
fn matrices_side_by_side_are_one_product_of_the_librarys() {
    let Some(cuda) = with_library() else { return };
    let (images, [m, n, k]) = (3, SIZES);
    let wide = images * n;
    let (x, y) = (whole(1, m * k), whole(2, k * wide));
    let (a, b) = (part(&cuda, &x, DType::F16, 0), part(&cuda, &y, DType::F16, 0));
    for into in [DType::F16, DType::F32] {
        let c = part(&cuda, &vec![7.0; m * wide], into, 0);
        let beside = |tensor| Matrices { step: n, row: wide, ..Matrices::dense(tensor, k, wide) };
        let weight = Matrices { step: 0, ..Matrices::dense(&a, m, k) };
        let product = Gemm::of(weight, beside(&b), beside(&c), [m, n, k]);
        let gemm = Gemm { batch: images, ..product };
        let before = cuda.counters().library;
        cuda.gemm(&gemm).unwrap();
        let element = |place: usize| {
            let (row, column) = (place / wide, place % wide);
            (0..k).map(|k_| x[row * k + k_] * y[k_ * wide + column]).sum::<f32>()
        };
        let want: Vec<f32> = (0..m * wide).map(element).collect();
        assert_eq!(cuda.download(&c).unwrap(), want);
        // A real library may or may not support this.
        let is_stand_in = cuda.name().unwrap() == "Binade PTX interpreter";
        assert!(!is_stand_in || cuda.counters().library == before + 1);
    }
}

#[test]
fn a_device_without_room_for_a_workspace_leaves_products_to_the_kernels() {
    let full = || Error::Driver(CudaError::OutOfMemory { bytes: 33_554_432, free: 7, total: 100 });
    let why = unless_full(Err::<(), _>(full())).unwrap().unwrap_err();
    assert!(why.starts_with("no workspace") && why.contains("33554432 bytes"), "{why}");
    let lost = || Error::Driver(CudaError::NoDevice { ordinal: 0, count: 0 });
    assert_eq!(unless_full(Err::<(), _>(lost())), Err(lost()));
    assert_eq!(unless_full(Ok(())), Ok(Ok(())));
}
