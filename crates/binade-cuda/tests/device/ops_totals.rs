//! Sums, means and losses over whole tensors, against the CPU's.

use crate::{
    agree::{TYPES, Twin, Within, assert_agrees, assert_foreign, assert_refused, noisy, twin},
    support::{Result, cuda, own},
};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_ops::{Download, Mean, MseLoss, Sum, Upload};

crate::tests![
    totals_of_every_length_are_the_cpus,
    seventy_thousand_ones_are_seventy_thousand,
    totals_of_nothing_are_zero_and_nan,
    what_is_not_finite_shows_in_a_total,
    gradients_of_totals_have_the_cpus_bits,
    totals_refuse_what_the_cpu_refuses,
];

/// Around the edges of groups, blocks and chunks.
const LENGTHS: [usize; 9] = [1, 7, 8, 9, 255, 2049, 4096, 4097, 12_289];

const SCALAR: Within = Within::Units(1.0, 0.0);

fn totals_of_every_length_are_the_cpus() -> Result {
    for dtype in TYPES {
        for (offset, len) in LENGTHS.into_iter().enumerate() {
            let what = format!("{len} {dtype}");
            let x = noisy(len as u64, &[len], dtype, offset % 2)?;
            let y = noisy(len as u64 + 1, &[len], dtype, offset % 3)?;
            assert_agrees(&cuda().sum(&x.here)?, &Cpu.sum(&x.there)?, SCALAR, &what)?;
            assert_agrees(&cuda().mean(&x.here)?, &Cpu.mean(&x.there)?, SCALAR, &what)?;
            let got = cuda().mse_loss(&x.here, &y.here)?;
            assert_agrees(&got, &Cpu.mse_loss(&x.there, &y.there)?, SCALAR, &what)?;
        }
    }
    Ok(())
}

fn seventy_thousand_ones_are_seventy_thousand() -> Result {
    for dtype in TYPES {
        let ones = twin(&vec![1.0; 70_000], &[700, 100], dtype, 0)?;
        assert_eq!(cuda().download(&cuda().sum(&ones.here)?)?, [70_000.0]);
        assert_eq!(cuda().download(&cuda().mean(&ones.here)?)?, [1.0]);
    }
    Ok(())
}

fn totals_of_nothing_are_zero_and_nan() -> Result {
    for dtype in TYPES {
        let Twin { here, there } = noisy(1, &[3, 0], dtype, 0)?;
        let what = dtype.name();
        // The CPU's is a negative one.
        assert_eq!(cuda().download(&cuda().sum(&here)?)?, [0.0]);
        assert_agrees(&cuda().mean(&here)?, &Cpu.mean(&there)?, Within::Bits, what)?;
        let (got, want) = (cuda().mse_loss(&here, &here)?, Cpu.mse_loss(&there, &there)?);
        assert_agrees(&got, &want, Within::Bits, what)?;
        let grad = noisy(2, &[], DType::F32, 1)?;
        let got = cuda().mean_backward(&grad.here, &[3, 0], dtype)?;
        assert_agrees(&got, &Cpu.mean_backward(&grad.there, &[3, 0], dtype)?, Within::Bits, what)?;
        let got = cuda().mse_loss_backward(&grad.here, &here, &here)?;
        assert_eq!(got.map(|grad| grad.len()), [0, 0]);
    }
    Ok(())
}

fn what_is_not_finite_shows_in_a_total() -> Result {
    for dtype in TYPES {
        for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let mut values = vec![0.5; 5000];
            values[4999] = bad;
            let x = twin(&values, &[5000], dtype, 1)?;
            let what = format!("{bad} {dtype}");
            assert_agrees(&cuda().sum(&x.here)?, &Cpu.sum(&x.there)?, Within::Bits, &what)?;
            assert_agrees(&cuda().mean(&x.here)?, &Cpu.mean(&x.there)?, Within::Bits, &what)?;
            // The same element on both sides: infinity less infinity.
            let (got, want) =
                (cuda().mse_loss(&x.here, &x.here)?, Cpu.mse_loss(&x.there, &x.there)?);
            assert_agrees(&got, &want, Within::Bits, &what)?;
        }
    }
    Ok(())
}

fn gradients_of_totals_have_the_cpus_bits() -> Result {
    // Some of them subnormal in one type or infinite in another.
    let values = [0.7, -3.0e-6, 6.0e4, f32::INFINITY, f32::NAN, 5.0e-3, -0.2, 1.0e-12, 460.0];
    for dtype in TYPES {
        for (offset, value) in values.into_iter().enumerate() {
            let grad = twin(&[value], &[], DType::F32, offset)?;
            let what = format!("{value} {dtype}");
            let shape = [[3, 13], [5, 8]][offset % 2];
            // A gradient may have the types that a cast has.
            for to in [dtype, DType::E4M3, DType::E5M2] {
                let got = cuda().sum_backward(&grad.here, &shape, to)?;
                let want = Cpu.sum_backward(&grad.there, &shape, to)?;
                assert_agrees(&got, &want, Within::Bits, &what)?;
                let got = cuda().mean_backward(&grad.here, &shape, to)?;
                let want = Cpu.mean_backward(&grad.there, &shape, to)?;
                assert_agrees(&got, &want, Within::Bits, &what)?;
            }
            let (x, y) = (noisy(1, &shape, dtype, offset % 2)?, noisy(2, &shape, dtype, 0)?);
            let got = cuda().mse_loss_backward(&grad.here, &x.here, &y.here)?;
            let want = Cpu.mse_loss_backward(&grad.there, &x.there, &y.there)?;
            for (got, want) in got.iter().zip(&want) {
                assert_agrees(got, want, Within::Bits, &what)?;
            }
        }
    }
    Ok(())
}

fn totals_refuse_what_the_cpu_refuses() -> Result {
    let (cuda, x) = (cuda(), noisy(1, &[4], DType::F16, 0)?);
    let (wide, grad) = (noisy(1, &[4], DType::F32, 0)?, noisy(1, &[], DType::F32, 0)?);
    let labels = (cuda.upload_i64(&[1], &[1])?, Cpu.upload_i64(&[1], &[1])?);
    assert_refused(cuda.sum(&labels.0), Cpu.sum(&labels.1));
    assert_refused(cuda.mean(&labels.0), Cpu.mean(&labels.1));
    assert_refused(cuda.mse_loss(&x.here, &wide.here), Cpu.mse_loss(&x.there, &wide.there));
    let (got, want) = (
        cuda.sum_backward(&x.here, &[2], DType::F16),
        Cpu.sum_backward(&x.there, &[2], DType::F16),
    );
    assert_refused(got, want);
    let got = cuda.mse_loss_backward(&grad.here, &x.here, &grad.here);
    assert_refused(got, Cpu.mse_loss_backward(&grad.there, &x.there, &grad.there));
    assert_foreign(own().sum(&x.here));
    assert_foreign(own().mean_backward(&grad.here, &[2], DType::F16));
    assert_foreign(own().mse_loss_backward(&grad.here, &x.here, &x.here));
    Ok(())
}
