//! Softmax and its logarithm, forward and backward, against the CPU.

use crate::support::{
    Result, TYPES, assert_near, both, kind, narrow, noise, own, vector, wgpu, wide, with_mass,
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{Download, LogSoftmax, Softmax, Upload};

crate::tests![
    rows_of_any_width_are_near_the_cpus,
    gradients_are_near_the_cpus,
    the_exponential_is_within_two_units_of_the_real_one,
    the_logarithm_is_within_two_units_of_the_real_one,
    rows_in_many_parts_are_the_same,
    rows_that_are_not_finite_are_nan_throughout,
    operands_that_do_not_fit_are_refused,
];

const SHAPES: [&[usize]; 8] =
    [&[1], &[3, 1], &[5, 2], &[7, 10], &[2, 3, 17], &[300, 9], &[3, 257], &[2, 3001]];

/// A spread of -20 to 20.
fn logits(seed: u64, len: usize) -> Vec<f32> {
    noise(seed, len).into_iter().map(|x| 20.0 * x).collect()
}

/// As many roundings as a team makes additions, and what exponentials of up to 40 below the largest cost.
const DOUBT: f64 = 150.0;

fn rows_of_any_width_are_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for shape in SHAPES {
            let (x, p) = both(&wgpu, &logits(1, shape.iter().product()), shape, dtype);
            let got = wgpu.softmax(&x)?;
            assert_eq!((got.dtype(), got.shape()), (dtype, shape));
            let want = with_mass(&Cpu.softmax(&wide(&p))?, |_, share| DOUBT * share);
            assert_near(&wgpu.download(&got)?, &want, dtype, &format!("softmax {shape:?}"));
            let got = wgpu.download(&wgpu.log_softmax(&x)?)?;
            let want = with_mass(&Cpu.log_softmax(&wide(&p))?, |_, log| 40.0 + 8.0 * log.abs());
            assert_near(&got, &want, dtype, &format!("log_softmax {shape:?}"));
        }
    }
    Ok(())
}

fn gradients_are_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for shape in SHAPES {
            let len: usize = shape.iter().product();
            let width = f64::from(u32::try_from(shape[shape.len() - 1])?);
            let (g, h) = both(&wgpu, &noise(2, len), shape, dtype);
            let shares: Vec<f32> = noise(3, len).iter().map(|x| x.abs() / 8.0).collect();
            let (y, q) = both(&wgpu, &shares, shape, dtype);
            let got = wgpu.download(&wgpu.softmax_backward(&g, &y)?)?;
            let want = Cpu.softmax_backward(&wide(&h), &wide(&q))?;
            // The sum of `width` products, each below 1/8, in at most 40 additions of a team.
            let mass = 40.0 * width / 8.0 / 8.0 + 4.0;
            let want = with_mass(&want, |_, value| mass + 4.0 * value.abs());
            assert_near(&got, &want, dtype, &format!("softmax_backward {shape:?}"));
            let logs: Vec<f32> = noise(3, len).iter().map(|x| -8.0 * x.abs()).collect();
            let (y, q) = both(&wgpu, &logs, shape, dtype);
            let got = wgpu.download(&wgpu.log_softmax_backward(&g, &y)?)?;
            let want = Cpu.log_softmax_backward(&wide(&h), &wide(&q))?;
            let want = with_mass(&want, |_, value| 80.0 * width + 4.0 * value.abs());
            assert_near(&got, &want, dtype, &format!("log_softmax_backward {shape:?}"));
        }
    }
    Ok(())
}

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
    assert_near(&got, &want.collect::<Vec<_>>(), DType::F32, "exp");
    Ok(())
}

/// The logarithm of the softmax of so many equal elements is minus their number's.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn the_logarithm_is_within_two_units_of_the_real_one() -> Result {
    let wgpu = wgpu();
    for width in [1_u16, 2, 3, 5, 10, 77, 1000, 4097, 60_001] {
        let x = wgpu.upload(&vec![0.25; usize::from(width)], &[usize::from(width)], DType::F32)?;
        let got = wgpu.download(&wgpu.log_softmax(&x)?)?;
        let want = -f64::from(width).ln();
        let want = vec![(want as f32, 4.0 * want.abs()); usize::from(width)];
        assert_near(&got, &want, DType::F32, "log");
    }
    Ok(())
}

fn rows_in_many_parts_are_the_same() -> Result {
    let (wide, narrow) = (wgpu(), narrow());
    for dtype in TYPES {
        for (rows, width) in [(400, 9), (5, 801)] {
            let [want, got] = [&wide, &narrow].map(|wgpu| {
                let all = vector(wgpu, &logits(4, rows * width + 1), dtype);
                let x = all.slice(1, rows * width)?.reshape(&[rows, width])?;
                let y = wgpu.softmax(&x)?;
                Ok::<_, binade_wgpu::Error>([
                    wgpu.to_bits(&y)?,
                    wgpu.to_bits(&wgpu.log_softmax(&x)?)?,
                    wgpu.to_bits(&wgpu.softmax_backward(&x, &y)?)?,
                ])
            });
            assert_eq!(got?, want?, "{dtype} {rows} x {width}");
        }
    }
    // A row that no binding holds.
    let x = narrow.upload(&logits(5, 2000), &[2, 1000], DType::F32)?;
    assert_eq!(kind(narrow.softmax(&x)), ErrorKind::Unsupported);
    Ok(())
}

fn rows_that_are_not_finite_are_nan_throughout() -> Result {
    let wgpu = wgpu();
    let (inf, low) = (f32::INFINITY, f32::NEG_INFINITY);
    for dtype in TYPES {
        let rows =
            [[1.0, f32::NAN, 2.0], [1.0, inf, 2.0], [low, low, low], [low, 0.0, 0.0], [6e4; 3]];
        let x = wgpu.upload(rows.as_flattened(), &[5, 3], dtype)?;
        for log in [false, true] {
            let got =
                wgpu.download(&if log { wgpu.log_softmax(&x)? } else { wgpu.softmax(&x)? })?;
            assert!(got[..9].iter().all(|x| x.is_nan()), "{dtype}: {got:?}");
            assert_eq!(got[9], if log { low } else { 0.0 }, "{dtype}");
            assert!(got[10..].iter().all(|x| x.is_finite()), "{dtype}: {got:?}");
        }
    }
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let scalar = wgpu.upload(&[1.0], &[], DType::F32)?;
    assert_eq!(kind(wgpu.softmax(&scalar)), ErrorKind::Mismatch);
    let x = vector(&wgpu, &[1.0, 2.0], DType::F32);
    assert_eq!(kind(wgpu.log_softmax_backward(&x, &x.slice(0, 1)?)), ErrorKind::Mismatch);
    let half = vector(&wgpu, &[1.0, 2.0], DType::F16);
    assert_eq!(kind(wgpu.softmax_backward(&x, &half)), ErrorKind::Mismatch);
    assert_eq!(kind(own().softmax(&x)), ErrorKind::Mismatch);
    let none = wgpu.upload(&[], &[0, 3], DType::F16)?;
    assert_eq!(wgpu.softmax(&none)?.shape(), [0, 3]);
    Ok(())
}
