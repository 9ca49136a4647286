//! Softmax, its logarithm, and cross-entropy, against the CPU's.

use crate::{
    agree::{TYPES, Twin, Within, assert_agrees, assert_foreign, assert_refused, noisy, twin},
    support::{Result, cuda, kind, noise, own},
};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_cuda::Tensor;
use binade_ops::{CrossEntropy, Download, LogSoftmax, Softmax, Upload};

crate::tests![
    rows_of_every_width_have_the_cpus_softmax,
    rows_that_are_not_finite_are_nan_and_alone,
    large_elements_do_not_overflow,
    softmax_of_nothing_is_nothing,
    cross_entropy_of_every_width_is_the_cpus,
    losses_of_more_rows_than_blocks_have_teams_are_added_up_by_chunks,
    a_loss_of_almost_nothing_keeps_its_digits,
    a_row_whose_label_is_no_class_is_nan_and_alone,
    the_loss_of_no_rows_is_nan,
    softmax_refuses_what_the_cpu_refuses,
];

/// An exponential or a logarithm is off by two units at most, on either side; what is subtracted keeps its own.
const NEAR: Within = Within::Units(8.0, 0.0);
const NEAR_ONE: Within = Within::Units(8.0, 1.0);

/// Rows and widths: less than a group, a group, a warp's round, more; the last three are a block's, and the very last more than
/// it keeps.
const SHAPES: [[usize; 2]; 8] =
    [[1, 1], [3, 5], [9, 8], [17, 33], [2, 300], [3, 1025], [1, 2500], [1, 8 * 1024 + 11]];

/// Twins of values from -6 to 6.
fn logits(seed: u64, shape: &[usize], dtype: DType, offset: usize) -> Result<Twin> {
    let values: Vec<f32> = noise(seed, shape.iter().product()).iter().map(|x| 6.0 * x).collect();
    twin(&values, shape, dtype, offset)
}

fn labels(labels: &[i64]) -> Result<(Tensor, binade_cpu::Tensor)> {
    let shape = [labels.len()];
    Ok((cuda().upload_i64(labels, &shape)?, Cpu.upload_i64(labels, &shape)?))
}

fn assert_softmax_agrees(x: &Twin, g: &Twin, what: &str) -> Result {
    let cuda = cuda();
    let (got, want) = (cuda.softmax(&x.here)?, Cpu.softmax(&x.there)?);
    assert_agrees(&got, &want, NEAR, &format!("{what} softmax"))?;
    let y = twin(&Cpu.download(&want)?, want.shape(), want.dtype(), 1)?;
    let (got, want) =
        (cuda.softmax_backward(&g.here, &y.here)?, Cpu.softmax_backward(&g.there, &y.there)?);
    assert_agrees(&got, &want, NEAR_ONE, &format!("{what} softmax_backward"))?;
    let (got, want) = (cuda.log_softmax(&x.here)?, Cpu.log_softmax(&x.there)?);
    assert_agrees(&got, &want, NEAR_ONE, &format!("{what} log_softmax"))?;
    let y = twin(&Cpu.download(&want)?, want.shape(), want.dtype(), 1)?;
    let got = cuda.log_softmax_backward(&g.here, &y.here)?;
    let want = Cpu.log_softmax_backward(&g.there, &y.there)?;
    // A share of the sum over the row is subtracted, which is less than this.
    let sum = Within::Units(8.0, 100.0);
    assert_agrees(&got, &want, sum, &format!("{what} log_softmax_backward"))
}

fn rows_of_every_width_have_the_cpus_softmax() -> Result {
    for dtype in TYPES {
        for (offset, shape) in SHAPES.into_iter().enumerate() {
            let x = logits(1, &shape, dtype, offset % 2)?;
            let g = noisy(2, &shape, dtype, offset % 3)?;
            assert_softmax_agrees(&x, &g, &format!("{shape:?} {dtype}"))?;
        }
    }
    assert_softmax_agrees(
        &logits(1, &[7], DType::F16, 0)?,
        &noisy(2, &[7], DType::F16, 0)?,
        "a vector",
    )
}

fn rows_that_are_not_finite_are_nan_and_alone() -> Result {
    for dtype in TYPES {
        for bad in [f32::INFINITY, f32::NAN, f32::NEG_INFINITY] {
            let mut values = noise(1, 30);
            values[14] = bad;
            // A row of nothing but this.
            values[20..].fill(bad);
            let x = twin(&values, &[3, 10], dtype, 0)?;
            let what = format!("{bad} {dtype}");
            let (got, want) = (cuda().softmax(&x.here)?, Cpu.softmax(&x.there)?);
            assert_agrees(&got, &want, NEAR, &what)?;
            let values = cuda().download(&got)?;
            assert!(values[20..].iter().all(|x| x.is_nan()), "{what}");
            assert!(values[..10].iter().all(|x| x.is_finite()), "{what}");
            let (got, want) = (cuda().log_softmax(&x.here)?, Cpu.log_softmax(&x.there)?);
            assert_agrees(&got, &want, NEAR_ONE, &what)?;
        }
    }
    Ok(())
}

fn large_elements_do_not_overflow() -> Result {
    let x = twin(&[3.0e38, 2.9e38, -3.0e38, 88.0, 89.0, -200.0], &[2, 3], DType::F32, 1)?;
    let g = noisy(2, &[2, 3], DType::F32, 0)?;
    assert_softmax_agrees(&x, &g, "large")
}

fn softmax_of_nothing_is_nothing() -> Result {
    for shape in [[0, 3], [3, 0]] {
        let x = noisy(1, &shape, DType::BF16, 0)?;
        assert_softmax_agrees(&x, &x, "nothing")?;
    }
    Ok(())
}

fn cross_entropy_of_every_width_is_the_cpus() -> Result {
    let grad = twin(&[0.7], &[], DType::F32, 3)?;
    for dtype in TYPES {
        for (offset, shape) in SHAPES.into_iter().enumerate() {
            let x = logits(1, &shape, dtype, offset % 2)?;
            let classes: Result<Vec<i64>, _> =
                (0..shape[0]).map(|row| i64::try_from(row * 7 % shape[1])).collect();
            let (here, there) = labels(&classes?)?;
            let what = format!("{shape:?} {dtype}");
            let (got, want) =
                (cuda().cross_entropy(&x.here, &here)?, Cpu.cross_entropy(&x.there, &there)?);
            assert_agrees(&got, &want, NEAR, &what)?;
            let got = cuda().cross_entropy_backward(&grad.here, &x.here, &here)?;
            let want = Cpu.cross_entropy_backward(&grad.there, &x.there, &there)?;
            assert_agrees(&got, &want, NEAR_ONE, &what)?;
        }
    }
    Ok(())
}

fn losses_of_more_rows_than_blocks_have_teams_are_added_up_by_chunks() -> Result {
    // 4096 blocks of eight, and one more.
    let rows = 8 * 4096 + 1;
    let x = logits(1, &[rows, 2], DType::F16, 0)?;
    let (here, there) = labels(&vec![1; rows])?;
    let (got, want) = (cuda().cross_entropy(&x.here, &here)?, Cpu.cross_entropy(&x.there, &there)?);
    assert_agrees(&got, &want, NEAR, "chunks of two rows a team")
}

fn a_loss_of_almost_nothing_keeps_its_digits() -> Result {
    let x = twin(&[20.0, 0.0, 1.0], &[1, 3], DType::F32, 0)?;
    let (here, there) = labels(&[0])?;
    let got = cuda().cross_entropy(&x.here, &here)?;
    // About 7.7e-9, which a sum of f32 would not tell from 0.
    assert_agrees(&got, &Cpu.cross_entropy(&x.there, &there)?, NEAR, "20, 0, 1")
}

fn the_loss_of_no_rows_is_nan() -> Result {
    let x = noisy(1, &[0, 4], DType::F16, 0)?;
    let (here, there) = labels(&[])?;
    let (got, want) = (cuda().cross_entropy(&x.here, &here)?, Cpu.cross_entropy(&x.there, &there)?);
    assert_agrees(&got, &want, Within::Bits, "no rows")?;
    let grad = twin(&[1.0], &[], DType::F32, 0)?;
    assert!(cuda().cross_entropy_backward(&grad.here, &x.here, &here)?.is_empty());
    Ok(())
}

fn a_row_whose_label_is_no_class_is_nan_and_alone() -> Result {
    let cuda = cuda();
    let grad = twin(&[1.0], &[], DType::F32, 0)?;
    for dtype in TYPES {
        let x = logits(1, &[4, 5], dtype, 0)?;
        for bad in [5, -1, i64::MAX, i64::MIN] {
            let (here, there) = labels(&[4, bad, 0, 2])?;
            let want = Cpu.cross_entropy(&x.there, &there);
            let got = cuda.cross_entropy(&x.here, &here)?;
            // Told once, where the host reads next.
            assert_refused(cuda.download(&got), want.clone());
            assert!(cuda.download(&got)?[0].is_nan(), "{bad}");
            let got = cuda.cross_entropy_backward(&grad.here, &x.here, &here)?;
            assert_refused(cuda.download(&got), want);
            let got = cuda.download(&got)?;
            let is_right = |(i, x): (usize, &f32)| x.is_nan() == (i / 5 == 1);
            assert!(got.iter().enumerate().all(is_right), "{got:?} for {bad}");
        }
    }
    let (here, there) = labels(&[0])?;
    let none = noisy(1, &[1, 0], DType::F32, 0)?;
    let got = cuda.cross_entropy(&none.here, &here)?;
    assert_refused(cuda.download(&got), Cpu.cross_entropy(&none.there, &there));
    assert!(cuda.download(&got)?[0].is_nan());
    Ok(())
}

fn softmax_refuses_what_the_cpu_refuses() -> Result {
    let cuda = cuda();
    let [x, wide] = [noisy(1, &[2, 4], DType::F16, 0)?, noisy(1, &[2, 4], DType::F32, 0)?];
    let scalar = noisy(1, &[], DType::F32, 0)?;
    let (here, there) = labels(&[1, 2])?;
    assert_refused(cuda.softmax(&scalar.here), Cpu.softmax(&scalar.there));
    assert_eq!(kind(cuda.log_softmax(&here)), kind(Cpu.log_softmax(&there)));
    for g in [&wide, &scalar] {
        let got = cuda.softmax_backward(&g.here, &x.here);
        assert_refused(got, Cpu.softmax_backward(&g.there, &x.there));
    }
    assert_refused(cuda.cross_entropy(&x.here, &x.here), Cpu.cross_entropy(&x.there, &x.there));
    let got = cuda.cross_entropy(&scalar.here, &here);
    assert_refused(got, Cpu.cross_entropy(&scalar.there, &there));
    let got = cuda.cross_entropy_backward(&wide.here, &x.here, &here);
    assert_refused(got, Cpu.cross_entropy_backward(&wide.there, &x.there, &there));
    assert_foreign(own().softmax(&x.here));
    assert_foreign(own().log_softmax_backward(&x.here, &x.here));
    assert_foreign(own().cross_entropy(&x.here, &here));
    assert_foreign(own().cross_entropy_backward(&scalar.here, &x.here, &here));
    Ok(())
}
