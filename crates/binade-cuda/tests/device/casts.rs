//! Casts and norms of many tensors at once.

use crate::support::{Result, cast_all, cuda, l2_norm, noise, vector};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_core::ops::Download;
use binade_cpu::{Cpu, Tensor};

crate::tests![
    many_tensors_are_cast_in_one_launch,
    the_norm_of_many_tensors_is_that_of_their_squares_in_f64,
];

const TYPES: [DType; 5] = [DType::BF16, DType::F16, DType::F32, DType::E4M3, DType::E5M2];

fn many_tensors_are_cast_in_one_launch() -> Result {
    let cuda = cuda();
    let lengths = [0, 1, 5000, 8, 0, 17];
    let source = TYPES.into_iter().cycle().zip(lengths);
    let tensors: Vec<_> =
        source.map(|(dtype, len)| vector(&cuda, &noise(len as u64, len), dtype)).collect();
    for to in TYPES {
        let before = cuda.counters().launches;
        let all = cast_all(&cuda, &tensors, to)?;
        assert_eq!(cuda.counters().launches - before, 1);
        for (got, tensor) in all.iter().zip(&tensors) {
            assert_eq!(cuda.to_bits(got)?, cuda.to_bits(&cuda.cast(tensor, to)?)?, "{to}");
        }
    }
    assert!(cast_all(&cuda, &[], DType::F16)?.is_empty());
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
pub(crate) fn narrow(x: f64) -> f32 {
    x as f32
}

fn the_norm_of_many_tensors_is_that_of_their_squares_in_f64() -> Result {
    let cuda = cuda();
    let parts = [noise(1, 5000), Vec::new(), vec![3.0; 3], noise(2, 1)];
    let squares: f64 = parts.iter().flatten().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let tensors = parts.map(|values| vector(&cuda, &values, DType::F32));
    let norm = l2_norm(&cuda, &tensors)?;
    assert!(norm.shape().is_empty());
    assert_near(cuda.download(&norm)?[0], squares.sqrt());
    // Squares that overflow f32.
    let large = l2_norm(&cuda, &[vector(&cuda, &[1e25; 3], DType::F32)])?;
    assert_near(cuda.download(&large)?[0], 3_f64.sqrt() * f64::from(1e25_f32));
    norms_of_every_type(&cuda)?;
    assert_eq!(cuda.download(&l2_norm(&cuda, &[])?)?, [0.0]);
    Ok(())
}

/// Asserts that a finite norm is within one unit in the last place.
fn assert_near(got: f32, want: f64) {
    assert!(narrow(want).is_finite(), "{want:e} is no norm to compare with");
    approx::assert_ulps_eq!(got, narrow(want), epsilon = 0.0, max_ulps = 1);
}

/// Checks norms of codes whose squares add up to less than f32's largest, whole, and from a misaligned start to an end inside a
/// group.
fn norms_of_every_type(cuda: &binade_cuda::Cuda) -> Result {
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let codes: Vec<u8> = match dtype.bytes() {
            2 => (0..=u16::MAX).step_by(3).flat_map(u16::to_le_bytes).collect(),
            _ => (0..=u32::MAX).step_by(1_000_003).flat_map(u32::to_le_bytes).collect(),
        };
        let len = codes.len() / dtype.bytes();
        let mut values = Cpu.download(&Tensor::from_bits(&codes, dtype, &[len])?)?;
        values.retain(|x| x.abs() < 1e15);
        let whole = vector(cuda, &values, dtype);
        for tensor in [whole.slice(1, values.len() - 2)?, whole] {
            let squares = |x: &f32| f64::from(*x) * f64::from(*x);
            let want = cuda.download(&tensor)?.iter().map(squares).sum::<f64>().sqrt();
            let got = cuda.download(&l2_norm(cuda, &[tensor])?)?[0];
            assert_near(got, want);
        }
    }
    Ok(())
}
