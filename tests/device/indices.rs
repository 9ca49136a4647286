//! Indices out of range: NaN on the device, an error at the host's next read, in the CPU's words, and no wait before it.

use crate::support::{Gpu, Result, kind, noise, own, set, vector};
use binade_core::ops::{Download, Embedding, Ops, Upload};
use binade_core::{DType, Error, ErrorKind, Handle};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradScaler, LossScale, ScaleState, ScaleStore};

crate::tests![
    a_bad_index_is_told_once_by_the_next_download_in_the_cpus_words,
    a_bad_label_is_told_once_in_the_cpus_words,
    the_gradient_passes_over_bad_indices_and_tells_them,
    a_table_that_nobody_looked_up_has_a_gradient_of_zeros,
    a_steps_report_tells_a_bad_index_unless_a_download_has,
    a_bad_index_is_left_without_the_host_waiting,
];

pub(crate) const ROWS: usize = 10;
pub(crate) const WIDTH: usize = 5;

type Tensor = <Gpu as Handle>::Tensor;

pub(crate) fn table<D: Upload>(device: &D) -> Result<D::Tensor, D::Error> {
    device.upload(&noise(1, ROWS * WIDTH), &[ROWS, WIDTH], DType::F32)
}

/// Returns rows of the table by these indices.
pub(crate) fn rows<D: Upload + Ops>(device: &D, indices: &[i64]) -> Result<D::Tensor, D::Error> {
    device.embedding(&table(device)?, &device.upload_i64(indices, &[indices.len()])?)
}

pub(crate) fn refused<T, E: Error>(result: Result<T, E>) -> String {
    let error = result.err().expect("this must be refused");
    let told = error.to_string();
    assert_eq!(kind::<T, E>(Err(error)), ErrorKind::InvalidArgument);
    told
}

/// Asserts that the values beside these are finite, and these NaN.
fn assert_nan_alone(values: &[f32], nan: std::ops::Range<usize>) {
    let is_right =
        |(place, x): (usize, &f32)| if nan.contains(&place) { x.is_nan() } else { x.is_finite() };
    assert!(values.iter().enumerate().all(is_right), "{values:?}");
}

fn a_bad_index_is_told_once_by_the_next_download_in_the_cpus_words() -> Result {
    let gpu = own();
    let whole = noise(1, ROWS * WIDTH);
    for bad in [-1, 10, i64::MIN, i64::MAX, 1 << 32] {
        let want = refused(rows(&Cpu, &[3, bad, 9]));
        let got = rows(&gpu, &[3, bad, 9])?;
        let other = vector(&gpu, &[1.0], DType::F32);
        assert_eq!(refused(gpu.download(&other)), want);
        let values = gpu.download(&got)?;
        assert_nan_alone(&values, WIDTH..2 * WIDTH);
        assert_eq!(values[..WIDTH], whole[3 * WIDTH..4 * WIDTH]);
        assert_eq!(values[2 * WIDTH..], whole[9 * WIDTH..]);
        // The next call is as if there had been no fault.
        assert_eq!(gpu.download(&rows(&gpu, &[0])?)?, whole[..WIDTH]);
    }
    Ok(())
}

fn a_bad_label_is_told_once_in_the_cpus_words() -> Result {
    fn losses<D: Upload + Ops>(device: &D, bad: i64) -> Result<[D::Tensor; 2], D::Error> {
        let logits = device.upload(&noise(2, 12), &[4, 3], DType::F16)?;
        let labels = device.upload_i64(&[0, 1, bad, 2], &[4])?;
        let grad = device.upload(&[1.0], &[], DType::F32)?;
        let back = device.cross_entropy_backward(&grad, &logits, &labels);
        Ok([device.cross_entropy(&logits, &labels)?, back?])
    }
    let gpu = own();
    for bad in [3, -1, i64::MAX, 1 << 32] {
        let [loss, grads] = losses(&gpu, bad)?;
        assert_eq!(refused(gpu.download(&loss)), refused(losses(&Cpu, bad)));
        assert!(gpu.download(&loss)?[0].is_nan());
        assert_nan_alone(&gpu.download(&grads)?, 6..9);
    }
    Ok(())
}

fn the_gradient_passes_over_bad_indices_and_tells_them() -> Result {
    let gpu = own();
    let values = noise(2, 3 * WIDTH);
    let grad = gpu.upload(&values, &[3, WIDTH], DType::F32)?;
    let got = gpu.embedding_backward(&grad, &gpu.upload_i64(&[2, 10, 0], &[3])?, ROWS)?;
    let want = "embedding: index 10 at position 1; expected 0 ≤ index < 10";
    assert_eq!(refused(gpu.download(&got)), want);
    let mut table = vec![0.0; ROWS * WIDTH];
    table[2 * WIDTH..3 * WIDTH].copy_from_slice(&values[..WIDTH]);
    table[..WIDTH].copy_from_slice(&values[2 * WIDTH..]);
    assert_eq!(gpu.download(&got)?, table);
    Ok(())
}

/// Indices may end their buffer.
fn a_table_that_nobody_looked_up_has_a_gradient_of_zeros() -> Result {
    let gpu = own();
    let indices = gpu.upload_i64(&[0; 32], &[32])?.slice(32, 0)?;
    let none = vector(&gpu, &[1.0; 64], DType::F32).slice(64, 0)?.reshape(&[0, 3])?;
    assert_eq!(gpu.download(&gpu.embedding_backward(&none, &indices, 2)?)?, [0.0; 6]);
    Ok(())
}

fn a_steps_report_tells_a_bad_index_unless_a_download_has() -> Result {
    let gpu = own();
    let step = || -> Result<_> {
        let mut scale = gpu.upload_state(ScaleState::from_exponent(4))?;
        let mut grads = set(&gpu, &[("w", Some(vec![1.0]))], DType::F16);
        let found = gpu.unscale(&mut grads, &scale)?;
        gpu.update(&mut scale, &[&found], &[], &LossScale::dynamic())?;
        Ok((found, scale))
    };
    let before = step()?;
    rows(&gpu, &[4, 11])?;
    let (first, second) = (step()?, step()?);
    gpu.read(&[&before.0], &before.1)?;
    let want = "embedding: index 11 at position 1; expected 0 ≤ index < 10";
    assert_eq!(refused(gpu.read(&[&first.0], &first.1)), want);
    let (findings, state) = gpu.read(&[&second.0], &second.1)?;
    assert_eq!((findings.len(), findings[0].magnitude, state.exponent), (1, 1.0, 4));
    gpu.read(&[&first.0], &first.1)?;
    // The next bad index is told again, by the first call that reads.
    rows(&gpu, &[12])?;
    let third = step()?;
    refused(gpu.download(&vector(&gpu, &[1.0], DType::F32)));
    gpu.read(&[&third.0], &third.1)?;
    // A scale and findings that no update has reported tell it too.
    let scale = gpu.upload_state(ScaleState::from_exponent(4))?;
    rows(&gpu, &[-1])?;
    refused(gpu.read(&[&third.0], &scale));
    assert_eq!(gpu.read(&[&third.0], &scale)?.1.exponent, 4);
    Ok(())
}

fn a_bad_index_is_left_without_the_host_waiting() -> Result {
    let gpu = own();
    let (table, bad): (Tensor, Tensor) = (table(&gpu)?, gpu.upload_i64(&[1, 99], &[2])?);
    let grad = gpu.upload(&noise(1, 2 * WIDTH), &[2, WIDTH], DType::F32)?;
    let before = gpu.counters().syncs;
    gpu.embedding(&table, &bad)?;
    gpu.embedding_backward(&grad, &bad, ROWS)?;
    assert_eq!(gpu.counters().syncs, before);
    assert!(gpu.to_bits(&table).is_err());
    assert_eq!(gpu.to_bits(&table)?.len(), 4 * ROWS * WIDTH);
    Ok(())
}
