//! Normalisations, against the CPU's.

use crate::{
    agree::{TYPES, Twin, Within, assert_agrees, assert_foreign, assert_refused, noisy, twin},
    support::{Result, cuda, own},
};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_ops::LayerNorm;

crate::tests![
    rows_of_every_width_are_normalised_as_on_the_cpu,
    layer_norms_gradients_are_the_cpus,
    many_rows_are_summed_up_in_chunks,
    layer_norm_of_nothing_has_gradients_of_zero,
    a_row_that_is_not_finite_is_nan_and_alone,
    layer_norm_refuses_what_the_cpu_refuses,
];

const EPS: f32 = 1e-5;

/// A statistic that is rounded the other way moves a value by a unit of f32 of the largest; a parameter's gradient is a sum.
const NEAR: Within = Within::Units(4.0, 1.0);

/// Rows and widths: less than a group, a group, a warp's round, more; the last three are a block's, and the very last more than
/// it keeps.
const SHAPES: [[usize; 2]; 8] =
    [[1, 1], [3, 5], [9, 8], [17, 33], [2, 300], [3, 1025], [1, 2500], [1, 8 * 1024 + 11]];

/// Element types of input and parameters.
fn pairs() -> impl Iterator<Item = (DType, DType)> {
    let f32_too = TYPES.map(|dtype| (dtype, DType::F32));
    TYPES.map(|dtype| (dtype, dtype)).into_iter().chain(f32_too)
}

fn rows_of_every_width_are_normalised_as_on_the_cpu() -> Result {
    for (dtype, of_weight) in pairs() {
        for (offset, shape) in SHAPES.into_iter().enumerate() {
            let x = noisy(1, &shape, dtype, offset % 2)?;
            let [w, b] = [
                noisy(2, &shape[1..], of_weight, 0)?,
                noisy(3, &shape[1..], of_weight, offset % 3)?,
            ];
            let got = cuda().layer_norm(&x.here, &w.here, &b.here, EPS)?;
            let want = Cpu.layer_norm(&x.there, &w.there, &b.there, EPS)?;
            assert_agrees(&got, &want, NEAR, &format!("{shape:?} {dtype} {of_weight}"))?;
        }
    }
    Ok(())
}

fn assert_gradients_agree(
    shape: &[usize],
    dtype: DType,
    of_weight: DType,
    offset: usize,
) -> Result {
    let (x, g) = (noisy(1, shape, dtype, offset % 2)?, noisy(4, shape, dtype, offset % 3)?);
    let w = noisy(2, &shape[shape.len() - 1..], of_weight, offset % 2)?;
    let got = cuda().layer_norm_backward(&g.here, &x.here, &w.here, EPS)?;
    let want = Cpu.layer_norm_backward(&g.there, &x.there, &w.there, EPS)?;
    let what = format!("{shape:?} {dtype} {of_weight}");
    assert_agrees(&got.input, &want.input, NEAR, &format!("{what} input"))?;
    assert_agrees(&got.weight, &want.weight, NEAR, &format!("{what} weight"))?;
    assert_agrees(&got.bias, &want.bias, NEAR, &format!("{what} bias"))
}

fn layer_norms_gradients_are_the_cpus() -> Result {
    for (dtype, of_weight) in pairs() {
        for (offset, shape) in SHAPES.into_iter().enumerate().skip(1) {
            assert_gradients_agree(&shape, dtype, of_weight, offset)?;
        }
    }
    Ok(())
}

fn many_rows_are_summed_up_in_chunks() -> Result {
    // More tiles than one of columns, and more blocks than stride.
    assert_gradients_agree(&[2, 100, 5], DType::F32, DType::F32, 1)?;
    assert_gradients_agree(&[70, 70], DType::F32, DType::F32, 1)?;
    assert_gradients_agree(&[70, 3], DType::F16, DType::F16, 1)?;
    assert_gradients_agree(&[8200, 3], DType::BF16, DType::F32, 0)
}

fn layer_norm_of_nothing_has_gradients_of_zero() -> Result {
    for (dtype, of_weight) in pairs() {
        for shape in [[0, 5], [3, 0]] {
            let Twin { here, there } = noisy(1, &shape, dtype, 0)?;
            let w = noisy(2, &shape[1..], of_weight, 0)?;
            let what = format!("{shape:?} {dtype} {of_weight}");
            let got = cuda().layer_norm(&here, &w.here, &w.here, EPS)?;
            let want = Cpu.layer_norm(&there, &w.there, &w.there, EPS)?;
            assert_agrees(&got, &want, Within::Bits, &what)?;
            let got = cuda().layer_norm_backward(&here, &here, &w.here, EPS)?;
            let want = Cpu.layer_norm_backward(&there, &there, &w.there, EPS)?;
            assert_agrees(&got.input, &want.input, Within::Bits, &what)?;
            assert_agrees(&got.weight, &want.weight, Within::Bits, &what)?;
            assert_agrees(&got.bias, &want.bias, Within::Bits, &what)?;
        }
    }
    Ok(())
}

fn a_row_that_is_not_finite_is_nan_and_alone() -> Result {
    for dtype in TYPES {
        for bad in [f32::INFINITY, f32::NAN] {
            let mut values = crate::support::noise(1, 30);
            values[14] = bad;
            let x = twin(&values, &[3, 10], dtype, 0)?;
            let (w, g) = (noisy(2, &[10], dtype, 0)?, noisy(3, &[3, 10], dtype, 0)?);
            let what = format!("{bad} {dtype}");
            let got = cuda().layer_norm(&x.here, &w.here, &w.here, EPS)?;
            assert_agrees(&got, &Cpu.layer_norm(&x.there, &w.there, &w.there, EPS)?, NEAR, &what)?;
            let got = cuda().layer_norm_backward(&g.here, &x.here, &w.here, EPS)?;
            let want = Cpu.layer_norm_backward(&g.there, &x.there, &w.there, EPS)?;
            assert_agrees(&got.input, &want.input, NEAR, &what)?;
            assert_agrees(&got.weight, &want.weight, NEAR, &what)?;
            assert_agrees(&got.bias, &want.bias, NEAR, &what)?;
        }
    }
    Ok(())
}

fn layer_norm_refuses_what_the_cpu_refuses() -> Result {
    let cuda = cuda();
    let [x, g] = [noisy(1, &[2, 4], DType::F16, 0)?, noisy(1, &[2, 4], DType::F32, 0)?];
    let [w, wrong, short] = [
        noisy(1, &[4], DType::F16, 0)?,
        noisy(1, &[4], DType::BF16, 0)?,
        noisy(1, &[3], DType::F16, 0)?,
    ];
    for w in [&wrong, &short] {
        let got = cuda.layer_norm(&x.here, &w.here, &w.here, EPS);
        assert_refused(got, Cpu.layer_norm(&x.there, &w.there, &w.there, EPS));
    }
    let got = cuda.layer_norm_backward(&g.here, &x.here, &w.here, EPS);
    assert_refused(got, Cpu.layer_norm_backward(&g.there, &x.there, &w.there, EPS));
    assert_foreign(own().layer_norm(&x.here, &w.here, &w.here, EPS));
    assert_foreign(own().layer_norm_backward(&x.here, &x.here, &w.here, EPS));
    Ok(())
}
