//! Device, opened once, and comparisons.

pub(crate) use crate::shared::support::*;

use binade_core::DType;
use binade_core::ops::Upload;
use binade_cpu::Cpu;
use binade_wgpu::{Options, Tensor, Wgpu};
use std::sync::OnceLock;

/// The backend's handle, as the tests of every backend call it.
pub(crate) type Gpu = Wgpu;

/// Rules by which a run is killed: a process each, which compiles its shaders for a second.
pub(crate) const KILLED_RULES: usize = 2;

/// True if norms of whole tensors, and values computed from them, have the CPU's bits. On wgpu the driver computes quotients and roots.
pub(crate) const HAS_THE_CPUS_NORMS: bool = false;

/// Types that there are shaders for.
pub(crate) const TYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Device of this process, never closed: drivers on the CPU may fail with two of them, or at the end of one.
pub(crate) fn wgpu() -> Wgpu {
    match device() {
        Ok(wgpu) => wgpu.clone(),
        Err(error) => panic!("{error}"),
    }
}

/// The device, as the tests of every backend call it.
pub(crate) fn gpu() -> Gpu {
    wgpu()
}

/// Returns a device for one test only, which counts its work, or ends it.
pub(crate) fn own() -> Wgpu {
    opened(&Options::default())
}

/// Opens a device that gives each binding 4096 bytes.
pub(crate) fn narrow() -> Wgpu {
    opened(&Options { most_binding_bytes: Some(4096), ..Options::default() })
}

fn opened(options: &Options) -> Wgpu {
    Wgpu::open_with(options).unwrap_or_else(|error| panic!("{error}"))
}

fn device() -> &'static Result<Wgpu, binade_wgpu::Error> {
    static DEVICE: OnceLock<Result<Wgpu, binade_wgpu::Error>> = OnceLock::new();
    DEVICE.get_or_init(Wgpu::open)
}

/// Reason why the tests cannot run, unless they must.
pub(crate) fn absent() -> Option<String> {
    device().as_ref().err().filter(|_| !is_required(&["wgpu"])).map(ToString::to_string)
}

/// The device, in a line.
pub(crate) fn facts() -> String {
    match device() {
        Ok(wgpu) => wgpu.facts().to_string(),
        Err(error) => error.to_string(),
    }
}

/// A vector of these codes.
pub(crate) fn of_bits(wgpu: &Wgpu, bits: &[u8], dtype: DType) -> Tensor {
    wgpu.from_bits(bits, dtype, &[bits.len() / dtype.bytes()]).unwrap()
}

/// Vector of these codes on the CPU.
pub(crate) fn on_cpu(bits: &[u8], dtype: DType) -> binade_cpu::Tensor {
    binade_cpu::Tensor::from_bits(bits, dtype, &[bits.len() / dtype.bytes()]).unwrap()
}

/// Returns `len` values: noise of many sizes, with zeros of both signs, infinities, NaN and values that overflow f16. In f32 no value is subnormal,
/// nor is the sum or product of any two, since drivers may flush such numbers to 0.
pub(crate) fn mixed(seed: u64, len: usize) -> Vec<f32> {
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 65504.0, 1e30, -3e38];
    let mut values = noise(seed, len);
    values.iter_mut().zip((-40..20).cycle()).for_each(|(x, binade)| *x *= 2.0_f32.powi(binade));
    let start = usize::try_from(seed).unwrap_or(0);
    for (at, value) in values.iter_mut().enumerate().skip(start % 3).step_by(3) {
        *value = special[(at + start) % special.len()];
    }
    values
}

/// Panics if codes of elements differ, except that any NaN may stand for another.
pub(crate) fn assert_same(got: &[u8], want: &[u8], dtype: DType, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let size = dtype.bytes();
    let pairs = got.chunks_exact(size).zip(want.chunks_exact(size));
    for (index, (got, want)) in pairs.enumerate() {
        let both_nan = is_nan(got, dtype) && is_nan(want, dtype);
        assert!(got == want || both_nan, "{what}: {got:02x?} for {want:02x?} at {index}");
    }
}

fn is_nan(code: &[u8], dtype: DType) -> bool {
    let bits = code.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
    match dtype {
        DType::BF16 => bits & 0x7fff > 0x7f80,
        DType::F16 => bits & 0x7fff > 0x7c00,
        _ => bits & 0x7fff_ffff > 0x7f80_0000,
    }
}

/// Vector of these values on the CPU.
pub(crate) fn cpu_vector(values: &[f32], dtype: DType) -> binade_cpu::Tensor {
    Cpu.upload(values, &[values.len()], dtype).unwrap()
}

/// Panics if an element of `dtype` differs from the wanted value by more than the sum of `mass`·2^-24, one rounding to `dtype`, and the amount that a
/// driver flushes to 0. A wanted NaN matches only NaN, and a wanted infinity only itself.
pub(crate) fn assert_within(got: &[f32], want: &[(f32, f64)], dtype: DType, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let (relative, least) = match dtype {
        DType::BF16 => (2.0_f64.powi(-8), 2.0_f64.powi(-126)),
        DType::F16 => (2.0_f64.powi(-11), 2.0_f64.powi(-25)),
        _ => (2.0_f64.powi(-24), 2.0_f64.powi(-126)),
    };
    for (index, (got, (want, mass))) in got.iter().zip(want).enumerate() {
        let told = || format!("{what} {dtype}: {got:e} for {want:e} at {index}");
        if want.is_nan() {
            assert!(got.is_nan(), "{}", told());
        } else if want.is_infinite() {
            assert!(got == want, "{}", told());
        } else {
            let room = f64::from(want.abs()) * relative + least + 1.01 * mass * 2.0_f64.powi(-24);
            let off = (f64::from(*got) - f64::from(*want)).abs();
            assert!(off <= room, "{}: {off:e} off, {room:e} are allowed", told());
        }
    }
}

/// A tensor of these values in this shape, here and on the CPU.
pub(crate) fn both(
    wgpu: &Wgpu,
    values: &[f32],
    shape: &[usize],
    dtype: DType,
) -> (Tensor, binade_cpu::Tensor) {
    (wgpu.upload(values, shape, dtype).unwrap(), Cpu.upload(values, shape, dtype).unwrap())
}
