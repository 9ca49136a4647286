//! The same operands on the device and on the CPU, and how near what comes of them is.

mod within;

pub(crate) use within::{Within, assert_agrees};

use crate::support::{Result, cuda, kind, noise, shifted};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_cuda::{Cuda, Tensor, cudarc::driver::sys::CUdevice_attribute as Attribute};
use binade_ops::Upload;

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
    let here = shifted(&cuda(), values, dtype, offset).reshape(shape)?;
    Ok(Twin { here, there: Cpu.upload(values, shape, dtype)? })
}

/// Twins of noise.
pub(crate) fn noisy(seed: u64, shape: &[usize], dtype: DType, offset: usize) -> Result<Twin> {
    twin(&noise(seed, shape.iter().product()), shape, dtype, offset)
}

/// Numbers at which functions go wrong, in every element type.
pub(crate) const AWKWARD: [f32; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.55,
    -0.55,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    6e-8,
    -6e-5,
    3.0,
    -9.5,
    -13.9,
    88.8,
    65504.0,
    3.4e38,
    -3.4e38,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// So many of them in turn, from the one at `first`, with as many plain ones between.
pub(crate) fn mixed(first: usize, len: usize) -> Vec<f32> {
    let mut plain = fastrand::Rng::with_seed(first as u64 + 1);
    let one = |i: usize| match i % 2 {
        0 => AWKWARD[(first + i / 2) % AWKWARD.len()],
        _ => plain.f32() * 12.0 - 6.0,
    };
    (0..len).map(one).collect()
}

/// An expression of a device and of its operands, given as values and shape, on both devices, in each element type, with
/// operands that begin anywhere; `$within` is how far results may lie apart.
#[macro_export]
macro_rules! on_both {
    ($operands:expr, |$device:ident, $x:ident| $results:expr, $within:expr) => {{
        let operands = $operands;
        for dtype in $crate::agree::TYPES {
            for offset in [0, 3] {
                let twins = operands
                    .iter()
                    .map(|(values, shape)| $crate::agree::twin(values, shape, dtype, offset))
                    .collect::<$crate::support::Result<Vec<_>>>()?;
                let want = {
                    let $device = &binade_cpu::Cpu;
                    let $x: Vec<_> = twins.iter().map(|twin| twin.there.clone()).collect();
                    $results
                };
                let got = {
                    let $device = &$crate::support::cuda();
                    let $x: Vec<_> = twins.iter().map(|twin| twin.here.clone()).collect();
                    $results
                };
                assert_eq!(got.len(), want.len());
                for (number, (got, want)) in got.iter().zip(&want).enumerate() {
                    let name =
                        format!("{number} of {} {dtype} from {offset}", stringify!($results));
                    $crate::agree::assert_agrees(got, want, $within, &name)?;
                }
            }
        }
    }};
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

/// The device, and another one's tensor.
pub(crate) fn stranger() -> Result<(Cuda, Tensor)> {
    let there = Cuda::open(0)?;
    let tensor = there.upload(&[1.0, 2.0], &[2], DType::F32)?;
    Ok((cuda(), tensor))
}
