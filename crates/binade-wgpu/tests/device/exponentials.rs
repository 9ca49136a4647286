//! The exponential and the logarithm of the shaders, over their whole range.

use crate::support::{Result, assert_within, wgpu};
use binade_core::DType;
use binade_core::ops::{Download, LogSoftmax, Upload};

crate::tests![
    the_exponential_is_within_two_units_of_the_real_one,
    the_logarithm_is_within_two_units_of_the_real_one,
];

/// The gradient of two logarithms whose gradients are 0 and -1 is their exponentials, but for the second's own -1.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn the_exponential_is_within_two_units_of_the_real_one() -> Result {
    let wgpu = wgpu();
    let x: Vec<f32> = (-8700..=8800_i16).map(|k| f32::from(k) / 100.0 + 1e-3).collect();
    let rows: Vec<f32> = x.iter().flat_map(|x| [*x, 0.0]).collect();
    let grads: Vec<f32> = x.iter().flat_map(|_| [0.0, -1.0]).collect();
    let [g, y] = [&grads, &rows].map(|values| wgpu.upload(values, &[x.len(), 2], DType::F32));
    let got = wgpu.download(&wgpu.log_softmax_backward(&g?, &y?)?)?;
    let got: Vec<f32> = got.into_iter().step_by(2).collect();
    let want = x.iter().map(|x| f64::from(*x).exp()).map(|e| (e as f32, 4.0 * e));
    assert_within(&got, &want.collect::<Vec<_>>(), DType::F32, "exp");
    Ok(())
}

/// The logarithm of the softmax of n equal elements is minus the logarithm of n.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn the_logarithm_is_within_two_units_of_the_real_one() -> Result {
    let wgpu = wgpu();
    for width in [1_u16, 2, 3, 5, 10, 11, 77, 1000, 4097, 60_001] {
        let x = wgpu.upload(&vec![0.25; usize::from(width)], &[usize::from(width)], DType::F32)?;
        let got = wgpu.download(&wgpu.log_softmax(&x)?)?;
        let want = -f64::from(width).ln();
        let want = vec![(want as f32, 4.0 * want.abs()); usize::from(width)];
        assert_within(&got, &want, DType::F32, "log");
    }
    Ok(())
}
