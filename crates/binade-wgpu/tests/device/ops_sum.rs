//! Sums, means and mean squared errors over whole tensors.

use crate::support::{
    Result, TYPES, assert_near, both, held, kind, narrow, noise, own, vector, wgpu, wide, with_mass,
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{Download, Mean, MseLoss, Sum, Upload};

crate::tests![
    many_ones_are_as_many,
    sums_and_means_of_any_length_are_near_the_cpus,
    the_order_follows_from_the_length_alone,
    what_is_not_finite_stays_so,
    nothing_sums_to_zero_and_has_no_mean,
    gradients_are_the_scalars_everywhere,
    losses_and_their_gradients_are_near_the_cpus,
    operands_that_do_not_fit_are_refused,
];

const LENGTHS: [usize; 9] = [1, 2, 3, 255, 256, 257, 4096, 65_537, 70_001];

fn many_ones_are_as_many() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let ones = vector(&wgpu, &vec![1.0; 70_000], dtype);
        assert_eq!(wgpu.download(&wgpu.sum(&ones)?)?, [70_000.0]);
        assert_eq!(wgpu.download(&wgpu.mean(&ones)?)?, [1.0]);
    }
    Ok(())
}

/// n·Σ|term| is what the contract allows; 40 additions on the longest way is what there are.
fn sums_and_means_of_any_length_are_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let values = noise(3, 70_003);
        let all = vector(&wgpu, &values, dtype);
        let values = held(&values, dtype);
        for len in LENGTHS {
            let (x, y) = (all.slice(2, len)?, &values[2..2 + len]);
            let y = Cpu.upload(y, &[len], DType::F32)?;
            let mass = values[2..2 + len].iter().map(|x| f64::from(x.abs())).sum::<f64>() * 40.0;
            let got = wgpu.download(&wgpu.sum(&x)?)?;
            assert_near(&got, &with_mass(&Cpu.sum(&y)?, |_, _| mass), DType::F32, "sum");
            let got = wgpu.download(&wgpu.mean(&x)?)?;
            let mass = mass / f64::from(u32::try_from(len)?);
            let want = with_mass(&Cpu.mean(&y)?, |_, value| mass + 4.0 * value.abs());
            assert_near(&got, &want, DType::F32, "mean");
        }
    }
    Ok(())
}

fn the_order_follows_from_the_length_alone() -> Result {
    let (wide, narrow) = (wgpu(), narrow());
    for dtype in TYPES {
        let [want, got] = [&wide, &narrow].map(|wgpu| {
            let x = vector(wgpu, &noise(4, 20_011), dtype).slice(5, 20_003)?;
            wgpu.to_bits(&wgpu.sum(&x)?)
        });
        assert_eq!(got?, want?, "{dtype}");
    }
    Ok(())
}

fn what_is_not_finite_stays_so() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for (bad, at) in [(f32::NAN, 700), (f32::INFINITY, 0), (f32::NEG_INFINITY, 999)] {
            let mut values = noise(5, 1000);
            values[at] = bad;
            let got = wgpu.download(&wgpu.sum(&vector(&wgpu, &values, dtype))?)?[0];
            assert!(got == bad || (got.is_nan() && bad.is_nan()), "{dtype}: {got} for {bad}");
        }
    }
    Ok(())
}

fn nothing_sums_to_zero_and_has_no_mean() -> Result {
    let wgpu = wgpu();
    let none = wgpu.upload(&[], &[3, 0], DType::F16)?;
    let sum = wgpu.sum(&none)?;
    assert_eq!((sum.dtype(), sum.shape()), (DType::F32, &[][..]));
    assert_eq!(wgpu.download(&sum)?, [0.0]);
    assert!(wgpu.download(&wgpu.mean(&none)?)?[0].is_nan());
    assert!(wgpu.download(&wgpu.mse_loss(&none, &none)?)?[0].is_nan());
    Ok(())
}

fn gradients_are_the_scalars_everywhere() -> Result {
    for wgpu in [wgpu(), narrow()] {
        let (grad, on_cpu) = both(&wgpu, &[3.7], &[], DType::F32);
        for dtype in TYPES {
            for shape in [vec![0], vec![1], vec![7, 3], vec![2, 2051]] {
                let got = wgpu.to_bits(&wgpu.sum_backward(&grad, &shape, dtype)?)?;
                assert_eq!(got, Cpu.sum_backward(&on_cpu, &shape, dtype)?.to_bits());
                let got = wgpu.download(&wgpu.mean_backward(&grad, &shape, dtype)?)?;
                let want = Cpu.mean_backward(&on_cpu, &shape, DType::F32)?;
                let want = with_mass(&want, |_, value| 5.0 * value.abs());
                assert_near(&got, &want, dtype, "mean_backward");
            }
        }
    }
    Ok(())
}

fn losses_and_their_gradients_are_near_the_cpus() -> Result {
    for wgpu in [wgpu(), narrow()] {
        let (grad, on_cpu) = both(&wgpu, &[-2.5], &[], DType::F32);
        for dtype in TYPES {
            for len in [1, 5, 256, 3001] {
                let [(x, p), (y, q)] =
                    [6, 7].map(|seed| both(&wgpu, &noise(seed, len), &[len], dtype));
                let (p, q) = (wide(&p), wide(&q));
                let got = wgpu.download(&wgpu.mse_loss(&x, &y)?)?;
                let want = with_mass(&Cpu.mse_loss(&p, &q)?, |_, value| 40.0 * value);
                assert_near(&got, &want, DType::F32, "mse_loss");
                let got = wgpu.mse_loss_backward(&grad, &x, &y)?;
                let want = Cpu.mse_loss_backward(&on_cpu, &p, &q)?;
                for (got, want) in got.iter().zip(&want) {
                    assert_eq!(got.dtype(), dtype);
                    let want = with_mass(want, |_, value| 6.0 * value.abs());
                    assert_near(&wgpu.download(got)?, &want, dtype, "mse_loss_backward");
                }
            }
        }
    }
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let x = vector(&wgpu, &[1.0, 2.0], DType::F32);
    let labels = wgpu.upload_i64(&[1], &[1])?;
    assert_eq!(kind(wgpu.sum(&labels)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.mean(&labels)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.sum_backward(&x, &[2], DType::F32)), ErrorKind::Mismatch);
    let half = vector(&wgpu, &[1.0], DType::F16).reshape(&[])?;
    assert_eq!(kind(wgpu.mean_backward(&half, &[2], DType::F32)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.mse_loss(&x, &x.slice(0, 1)?)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.mse_loss(&x, &vector(&wgpu, &[1.0; 2], DType::F16))), ErrorKind::Mismatch);
    assert_eq!(kind(own().sum(&x)), ErrorKind::Mismatch);
    Ok(())
}
