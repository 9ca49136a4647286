//! The Gaussian error linear unit, against the CPU's, which is rounded once from f64.

use crate::support::{
    Result, TYPES, assert_near, cpu_vector, held, kind, mixed, own, sweep, vector, wgpu,
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{Download, Gelu};

crate::tests![
    the_unit_is_within_six_units_of_the_cpus,
    the_slope_is_within_its_bound_of_the_cpus,
    infinities_have_their_limits_and_nan_stays,
    operands_that_do_not_fit_are_refused,
];

/// As the kit's oracle has it.
fn density(x: f32) -> f64 {
    let x = f64::from(x);
    (-0.5 * x * x).exp() * 0.398_942_280_401_432_7
}

fn the_unit_is_within_six_units_of_the_cpus() -> Result {
    let (wgpu, values) = (wgpu(), sweep(20));
    for dtype in TYPES {
        let got = wgpu.download(&wgpu.gelu(&vector(&wgpu, &values, dtype))?)?;
        let x = held(&values, dtype);
        let want = Cpu.download(&Cpu.gelu(&cpu_vector(&x, DType::F32))?)?;
        let mass = |(want, x): (f32, f32)| {
            (want, 12.0 * f64::from(want.abs()) + 4.0 * f64::from(x * x) * density(x))
        };
        let want: Vec<_> = want.into_iter().zip(x).map(mass).collect();
        assert_near(&got, &want, dtype, "gelu");
    }
    Ok(())
}

fn the_slope_is_within_its_bound_of_the_cpus() -> Result {
    let (wgpu, values) = (wgpu(), sweep(20));
    let grad: Vec<f32> = values.iter().map(|x| (x * 7.0).sin() * 3.0).collect();
    for dtype in TYPES {
        let [g, x] = [&grad, &values].map(|values| vector(&wgpu, values, dtype));
        let got = wgpu.download(&wgpu.gelu_backward(&g, &x)?)?;
        let [g, x] = [&grad, &values].map(|values| held(values, dtype));
        let [on_cpu_g, on_cpu_x] = [&g, &x].map(|values| cpu_vector(values, DType::F32));
        let want = Cpu.download(&Cpu.gelu_backward(&on_cpu_g, &on_cpu_x)?)?;
        let area = Cpu.download(&Cpu.gelu(&on_cpu_x)?)?;
        let want: Vec<_> = want
            .into_iter()
            .enumerate()
            .map(|(i, want)| {
                let square = f64::from(x[i]).powi(2);
                let area = if x[i] == 0.0 { 0.5 } else { f64::from(area[i] / x[i]) };
                let slope = f64::from(x[i].abs()) * density(x[i]);
                // A slope that the driver flushes is 0, and so then is its product.
                let flushed = 2.0_f64.powi(24 - 126);
                let mass = 14.0 * area + slope * (16.0 + 2.0 * square) + flushed;
                (want, f64::from(g[i].abs()) * mass)
            })
            .collect();
        assert_near(&got, &want, dtype, "gelu_backward");
    }
    Ok(())
}

fn infinities_have_their_limits_and_nan_stays() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let x = vector(&wgpu, &[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0], dtype);
        let got = wgpu.download(&wgpu.gelu(&x)?)?;
        assert_eq!(got[0], f32::INFINITY);
        assert_eq!([got[1], got[3], got[4]], [0.0; 3]);
        assert!(got[2].is_nan());
        let one = vector(&wgpu, &[1.0; 5], dtype);
        let got = wgpu.download(&wgpu.gelu_backward(&one, &x)?)?;
        assert_eq!([got[0], got[1], got[3], got[4]], [1.0, 0.0, 0.5, 0.5]);
        assert!(got[2].is_nan());
    }
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let [a, b] = [2, 3].map(|len| vector(&wgpu, &mixed(0, len), DType::F32));
    assert_eq!(kind(wgpu.gelu_backward(&a, &b)), ErrorKind::Mismatch);
    let half = vector(&wgpu, &[1.0, 2.0], DType::F16);
    assert_eq!(kind(wgpu.gelu_backward(&a, &half)), ErrorKind::Mismatch);
    assert_eq!(kind(own().gelu(&a)), ErrorKind::Mismatch);
    Ok(())
}
