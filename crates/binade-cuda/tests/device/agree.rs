//! The same operands on the device and on the CPU, and how near what comes of them is.

use crate::support::{Result, cuda, kind, noise};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_cuda::{Tensor, cudarc::driver::sys::CUdevice_attribute as Attribute};
use binade_ops::{Download, Upload};

/// The types that operations compute on.
pub(crate) const TYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Those of matrix products: there are none of bf16 before compute capability 8.0.
pub(crate) fn product_types() -> Vec<DType> {
    let major = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    let is_old = cuda().attribute(major).is_ok_and(|major| major < 8);
    TYPES.into_iter().filter(|dtype| !is_old || *dtype != DType::BF16).collect()
}

/// A tensor of the device and its twin on the CPU.
pub(crate) struct Twin {
    pub(crate) here: Tensor,
    pub(crate) there: binade_cpu::Tensor,
}

/// Twins of these values, of which the device's begins `offset` elements into its buffer.
pub(crate) fn twin(values: &[f32], shape: &[usize], dtype: DType, offset: usize) -> Result<Twin> {
    let padded: Vec<f32> =
        std::iter::repeat_n(f32::NAN, offset).chain(values.iter().copied()).collect();
    let wide = cuda().upload(&padded, &[padded.len()], dtype)?;
    let here = wide.slice(offset, values.len())?.reshape(shape)?;
    Ok(Twin { here, there: Cpu.upload(values, shape, dtype)? })
}

/// Twins of noise.
pub(crate) fn noisy(seed: u64, shape: &[usize], dtype: DType, offset: usize) -> Result<Twin> {
    twin(&noise(seed, shape.iter().product()), shape, dtype, offset)
}

/// How far results may lie apart.
#[derive(Clone, Copy)]
pub(crate) enum Within {
    /// Not at all, but that any NaN is any NaN.
    Bits,
    /// By this many units of f32 of the value, or of this where the value is smaller; and, where the result is narrower, by
    /// one unit of its own, since what lies near the middle between two may be rounded either way.
    Units(f32, f32),
}

impl Within {
    fn bound(self, dtype: DType, want: f32) -> f32 {
        let Self::Units(units, least) = self else { return 0.0 };
        // Of the type itself: its epsilon, and what its subnormal numbers are multiples of.
        let own = match dtype {
            DType::BF16 => want.abs() * 2.0_f32.powi(-7),
            DType::F16 => (want.abs() * 2.0_f32.powi(-10)).max(2.0_f32.powi(-24)),
            _ => 0.0,
        };
        units * f32::EPSILON * want.abs().max(least) + own
    }
}

/// Holds a result to the CPU's, in type, shape and every element; infinities and NaN are met exactly.
pub(crate) fn assert_agrees(
    got: &Tensor,
    want: &binade_cpu::Tensor,
    within: Within,
    what: &str,
) -> Result {
    assert_eq!((got.dtype(), got.shape()), (want.dtype(), want.shape()), "{what}");
    let dtype = got.dtype();
    let elements = cuda().download(got)?.into_iter().zip(Cpu.download(want)?);
    for (index, (got, want)) in elements.enumerate() {
        let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
        let near = want.is_finite() && (got - want).abs() <= within.bound(dtype, want);
        assert!(same || near, "{what}: {got:e} for {want:e} at {index}");
    }
    Ok(())
}

/// Holds the device to a refusal of the CPU's, in kind and words.
pub(crate) fn assert_refused<T, U>(
    got: std::result::Result<T, binade_cuda::Error>,
    want: std::result::Result<U, binade_cpu::Error>,
) {
    let (Err(got), Err(want)) = (got, want) else { panic!("this must be refused") };
    assert_eq!(got.to_string(), want.to_string());
    assert_eq!(kind::<(), _>(Err(got)), kind::<(), _>(Err(want)));
}

/// Holds the device to a refusal of what another handle has made.
pub(crate) fn assert_foreign<T>(got: std::result::Result<T, binade_cuda::Error>) {
    assert_eq!(kind(got), ErrorKind::Mismatch);
}
