//! Normalisation over the last axis, forward and backward, against the CPU.

use crate::support::{Result, TYPES, assert_near, both, kind, noise, wgpu, wide, with_mass};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{Download, LayerNorm, Upload};

crate::tests![
    rows_and_their_gradients_are_near_the_cpus,
    nothing_has_gradients_of_zero,
    operands_that_do_not_fit_are_refused,
];

const EPS: f32 = 1e-5;

/// Additions on the longest way through a team, and what follows them.
const ROUNDINGS: f64 = 60.0;

#[expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]
fn rows_and_their_gradients_are_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for of_weight in [dtype, DType::F32] {
            for shape in [&[4, 5][..], &[2, 3, 16], &[100, 7], &[2, 600]] {
                let what = format!("{shape:?} {of_weight}");
                let (len, width) = (shape.iter().product(), shape[shape.len() - 1]);
                let rows = f64::from(u32::try_from(len / width)?);
                let (x, p) = both(&wgpu, &noise(1, len), shape, dtype);
                let (w, q) = both(&wgpu, &noise(2, width), &[width], of_weight);
                let (b, r) = both(&wgpu, &noise(3, width), &[width], of_weight);
                let (g, h) = both(&wgpu, &noise(4, len), shape, dtype);
                let (p, q, r, h) = (wide(&p), wide(&q), wide(&r), wide(&h));
                let got = wgpu.layer_norm(&x, &w, &b, EPS)?;
                assert_eq!((got.dtype(), got.shape()), (dtype, shape));
                let want = with_mass(&Cpu.layer_norm(&p, &q, &r, EPS)?, |_, _| 4.0 * ROUNDINGS);
                assert_near(&wgpu.download(&got)?, &want, dtype, &what);
                let got = wgpu.layer_norm_backward(&g, &x, &w, EPS)?;
                let want = Cpu.layer_norm_backward(&h, &p, &q, EPS)?;
                let input = with_mass(&want.input, |_, _| 12.0 * ROUNDINGS);
                assert_near(&wgpu.download(&got.input)?, &input, dtype, &what);
                assert_eq!((got.weight.dtype(), got.bias.dtype()), (of_weight, of_weight));
                let weight = with_mass(&want.weight, |_, _| 4.0 * rows * (ROUNDINGS + 70.0));
                assert_near(&wgpu.download(&got.weight)?, &weight, of_weight, &what);
                let bias = with_mass(&want.bias, |_, _| rows * 70.0);
                assert_near(&wgpu.download(&got.bias)?, &bias, of_weight, &what);
            }
        }
    }
    Ok(())
}

fn nothing_has_gradients_of_zero() -> Result {
    let wgpu = wgpu();
    let none = wgpu.upload(&[], &[0, 3], DType::F16)?;
    let w = wgpu.upload(&[1.0; 3], &[3], DType::F32)?;
    assert_eq!(wgpu.layer_norm(&none, &w, &w, EPS)?.shape(), [0, 3]);
    let got = wgpu.layer_norm_backward(&none, &none, &w, EPS)?;
    assert_eq!(wgpu.download(&got.weight)?, [0.0; 3]);
    assert_eq!(wgpu.download(&got.bias)?, [0.0; 3]);
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let x = wgpu.upload(&[0.0; 6], &[2, 3], DType::F32)?;
    let w = wgpu.upload(&[1.0; 3], &[3], DType::F32)?;
    let short = w.slice(0, 2)?;
    assert_eq!(kind(wgpu.layer_norm(&x, &w, &short, EPS)), ErrorKind::Mismatch);
    let half = wgpu.upload(&[1.0; 3], &[3], DType::F16)?;
    assert_eq!(kind(wgpu.layer_norm(&x, &half, &half, EPS)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.layer_norm_backward(&w, &x, &w, EPS)), ErrorKind::Mismatch);
    Ok(())
}
