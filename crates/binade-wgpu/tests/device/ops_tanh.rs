//! The hyperbolic tangent, against f64's.

use crate::support::{Result, TYPES, assert_near, held, kind, narrow, sweep, vector, wgpu};
use binade_core::{DType, ErrorKind};
use binade_ops::{Download, Tanh};

crate::tests![
    it_is_within_three_units_of_the_real_one,
    its_gradient_is_rounded_thrice,
    limits_and_nan_are_right,
    slices_and_parts_are_the_same,
    operands_that_do_not_fit_are_refused,
];

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn it_is_within_three_units_of_the_real_one() -> Result {
    let (wgpu, values) = (wgpu(), sweep(12));
    for dtype in TYPES {
        let got = wgpu.download(&wgpu.tanh(&vector(&wgpu, &values, dtype))?)?;
        let want = held(&values, dtype).into_iter().map(|x| f64::from(x).tanh());
        let want: Vec<_> = want.map(|y| (y as f32, 6.0 * y.abs())).collect();
        assert_near(&got, &want, dtype, "tanh");
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn its_gradient_is_rounded_thrice() -> Result {
    let wgpu = wgpu();
    let values: Vec<f32> = sweep(1).into_iter().filter(|y| y.abs() <= 1.0).collect();
    let grad: Vec<f32> = values.iter().map(|x| (x * 7.0).sin() * 3.0).collect();
    for dtype in TYPES {
        let [g, y] = [&grad, &values].map(|values| vector(&wgpu, values, dtype));
        let got = wgpu.download(&wgpu.tanh_backward(&g, &y)?)?;
        let [g, y] = [&grad, &values].map(|values| held(values, dtype));
        let want: Vec<_> = g
            .iter()
            .zip(&y)
            .map(|(g, y)| {
                let (g, y) = (f64::from(*g), f64::from(*y));
                let slope = 1.0 - y * y;
                ((g * slope) as f32, g.abs() * (y * y + 2.0 * slope))
            })
            .collect();
        assert_near(&got, &want, dtype, "tanh_backward");
    }
    Ok(())
}

fn limits_and_nan_are_right() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let x = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0, 1e4];
        let got = wgpu.download(&wgpu.tanh(&vector(&wgpu, &x, dtype))?)?;
        assert_eq!([got[0], got[1], got[3], got[4], got[5]], [1.0, -1.0, 0.0, -0.0, 1.0]);
        assert!(got[4].is_sign_negative() && got[2].is_nan());
    }
    Ok(())
}

fn slices_and_parts_are_the_same() -> Result {
    let (wide, narrow) = (wgpu(), narrow());
    let values = sweep(2);
    for dtype in TYPES {
        let [want, got] = [&wide, &narrow].map(|wgpu| {
            let x = vector(wgpu, &values, dtype).slice(3, 3001)?;
            wgpu.to_bits(&wgpu.tanh(&x)?)
        });
        assert_eq!(got?, want?, "{dtype}");
    }
    let none = wide.tanh(&vector(&wide, &[], DType::F16))?;
    assert!(none.is_empty());
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let a = vector(&wgpu, &[1.0, 2.0], DType::F32);
    assert_eq!(kind(wgpu.tanh_backward(&a, &a.slice(0, 1)?)), ErrorKind::Mismatch);
    let half = vector(&wgpu, &[1.0, 2.0], DType::F16);
    assert_eq!(kind(wgpu.tanh_backward(&a, &half)), ErrorKind::Mismatch);
    Ok(())
}
