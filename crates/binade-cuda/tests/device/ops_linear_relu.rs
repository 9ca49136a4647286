//! Linear layer with `ReLU`: the bits of both operations, in one launch less if Binade's kernels multiply.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::products::{stored, types};
use crate::support::{Result, noise, own, shifted};
use binade_core::DType;
use binade_cuda::{Cuda, Products, Tensor};
use binade_ops::{Download, Linear, LinearRelu, Relu, Upload};

crate::tests![
    each_element_is_that_of_relu_behind_linear,
    nan_and_infinity_are_those_of_relu_behind_linear,
    our_kernels_take_a_launch_less,
    gradients_are_those_of_linear_for_what_relu_lets_pass,
];

/// Returns the device with the library, if there is one, and with Binade's kernels.
fn both() -> [Cuda; 2] {
    [Products::Library, Products::Own].map(|products| own().with_products(products))
}

fn assert_alike(cuda: &Cuda, [x, w]: [&Tensor; 2], b: Option<&Tensor>, what: &str) -> Result {
    let want = cuda.to_bits(&cuda.relu(&cuda.linear(x, w, b)?)?)?;
    let got = cuda.linear_relu(x, w, b)?;
    assert!(cuda.to_bits(&got)? == want, "{what}");
    Ok(())
}

/// Sizes have whole groups and single elements, sums cut into ranges, and rows at any offset.
fn each_element_is_that_of_relu_behind_linear() -> Result {
    for cuda in both() {
        for dtype in types() {
            for [m, n, k] in [[1, 1, 1], [5, 7, 9], [70, 72, 40], [9, 16, 1500], [3, 5, 2051]] {
                let values = |seed, len| stored(&noise(seed, len), dtype);
                let (x, w, b) = (values(1, m * k), values(2, n * k), values(3, n));
                for offset in [0, 1] {
                    let x = shifted(&cuda, &x, dtype, offset).reshape(&[m, k])?;
                    let w = shifted(&cuda, &w, dtype, offset).reshape(&[n, k])?;
                    let b = shifted(&cuda, &b, dtype, offset);
                    let what = format!("{dtype} {m} {n} {k} from {offset}");
                    assert_alike(&cuda, [&x, &w], Some(&b), &what)?;
                    assert_alike(&cuda, [&x, &w], None, &what)?;
                }
            }
        }
    }
    Ok(())
}

fn nan_and_infinity_are_those_of_relu_behind_linear() -> Result {
    let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, -1.0, 1.0, f32::MAX];
    for cuda in both() {
        for dtype in types() {
            for k in [1, 1100] {
                let mut values = vec![0.0; bad.len() * k];
                bad.iter().enumerate().for_each(|(row, value)| values[row * k] = *value);
                let x = cuda.upload(&values, &[bad.len(), k], dtype)?;
                let w = cuda.upload(&vec![1.0; 9 * k], &[9, k], dtype)?;
                let got = cuda.download(&cuda.linear_relu(&x, &w, None)?)?;
                assert!(got[..9].iter().all(|x| x.is_nan()), "{dtype}: {got:?}");
                assert_eq!(&got[9..18], [f32::INFINITY; 9], "{dtype}");
                let zeros = got[18..54].iter().all(|x| x.to_bits() == 0);
                assert!(zeros, "{dtype}: {got:?}");
                assert_eq!(&got[54..63], [1.0; 9], "{dtype}");
            }
        }
    }
    Ok(())
}

fn our_kernels_take_a_launch_less() -> Result {
    let cuda = own().with_products(Products::Own);
    for (k, launches) in [(32, 1), (2048, 2)] {
        let x = cuda.upload(&noise(1, 8 * k), &[8, k], DType::F16)?;
        let w = cuda.upload(&noise(2, 8 * k), &[8, k], DType::F16)?;
        let count = |work: &dyn Fn() -> Result<Tensor>| -> Result<u64> {
            let before = cuda.counters().launches;
            work()?;
            Ok(cuda.counters().launches - before)
        };
        let apart = count(&|| Ok(cuda.relu(&cuda.linear(&x, &w, None)?)?))?;
        let fused = count(&|| Ok(cuda.linear_relu(&x, &w, None)?))?;
        assert_eq!((apart, fused), (launches + 1, launches), "{k}");
    }
    Ok(())
}

fn gradients_are_those_of_linear_for_what_relu_lets_pass() -> Result {
    let [m, n, k] = [9, 7, 33];
    for cuda in both() {
        for dtype in types() {
            let up = |seed, shape: [usize; 2]| {
                cuda.upload(&noise(seed, shape[0] * shape[1]), &shape, dtype)
            };
            let (x, w, g) = (up(1, [m, k])?, up(2, [n, k])?, up(3, [m, n])?);
            let y = cuda.linear_relu(&x, &w, None)?;
            let got = cuda.linear_relu_backward(&g, &y, &x, &w, true)?;
            let alone = cuda.linear_relu_backward_of_weight(&g, &y, &x, &w, true)?;
            let want = cuda.linear_backward(&cuda.relu_backward(&g, &y)?, &x, &w, true)?;
            let same = |one: &Tensor, other: &Tensor| -> Result {
                assert_eq!(cuda.to_bits(one)?, cuda.to_bits(other)?, "{dtype}");
                Ok(())
            };
            same(&got.input, &want.input)?;
            same(&got.weight, &want.weight)?;
            same(&alone.weight, &want.weight)?;
            let all = [got.bias, alone.bias, want.bias];
            let [Some(got), Some(alone), Some(want)] = all else { return Err("a bias".into()) };
            same(&got, &want)?;
            same(&alone, &want)?;
        }
    }
    Ok(())
}
