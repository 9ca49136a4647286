//! An operation on the device and on the CPU, and how far apart the results may be.

use crate::support::{Result, cuda};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_cuda::{Cuda, Tensor};
use binade_ops::Upload;

pub(crate) const TYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

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

/// What an operation gives on one device: of each result the shape and the elements' bytes.
pub(crate) type Given = Vec<(Vec<usize>, Vec<u8>)>;

/// Tensors of a shape, from values.
pub(crate) fn on_cpu(values: &[f32], shape: &[usize], dtype: DType) -> Result<binade_cpu::Tensor> {
    Ok(Cpu.upload(values, shape, dtype)?)
}

/// The same on the device, beginning `offset` elements into its memory.
pub(crate) fn on_cuda(
    values: &[f32],
    shape: &[usize],
    dtype: DType,
    offset: usize,
) -> Result<Tensor> {
    let tensor = crate::support::shifted(&cuda(), values, dtype, offset);
    Ok(tensor.reshape(shape)?)
}

/// Results of the CPU.
pub(crate) fn of_cpu(results: &[binade_cpu::Tensor]) -> Given {
    results.iter().map(|result| (result.shape().to_vec(), result.to_bits())).collect()
}

/// Results of the device.
pub(crate) fn of_cuda(results: &[Tensor]) -> Result<Given> {
    let one = |result: &Tensor| Ok((result.shape().to_vec(), cuda().to_bits(result)?));
    results.iter().map(one).collect()
}

/// An expression of a device and of its operands, given as values and shape, on both devices, in each element type, with
/// operands that begin anywhere; `$check` is given a name, the type, what came and what the CPU says.
#[macro_export]
macro_rules! on_both {
    ($operands:expr, |$device:ident, $x:ident| $results:expr, $check:expr) => {{
        let operands = $operands;
        for dtype in $crate::both::TYPES {
            let want = {
                let $device = &binade_cpu::Cpu;
                let $x = operands
                    .iter()
                    .map(|(values, shape)| $crate::both::on_cpu(values, shape, dtype))
                    .collect::<$crate::support::Result<Vec<_>>>()?;
                $crate::both::of_cpu(&$results)
            };
            for offset in [0, 3] {
                let $device = &$crate::support::cuda();
                let $x = operands
                    .iter()
                    .map(|(values, shape)| $crate::both::on_cuda(values, shape, dtype, offset))
                    .collect::<$crate::support::Result<Vec<_>>>()?;
                let got = $crate::both::of_cuda(&$results)?;
                let name = format!("{} {dtype} from {offset}", stringify!($results));
                ($check)(&name, dtype, &got, &want);
            }
        }
    }};
}

/// The same bits, any NaN for any NaN.
pub(crate) fn bits(name: &str, dtype: DType, got: &Given, want: &Given) {
    codes_apart(name, dtype, got, want, 0);
}

/// In f32 at most so many codes apart, in 16 bits the next code.
pub(crate) fn ulps(most: u64) -> impl Fn(&str, DType, &Given, &Given) {
    move |name, dtype, got, want| {
        let most = if dtype == DType::F32 { most } else { most.min(1) };
        codes_apart(name, dtype, got, want, most);
    }
}

fn codes_apart(name: &str, dtype: DType, got: &Given, want: &Given, most: u64) {
    assert_eq!(got.len(), want.len(), "{name}");
    for ((shape, got), (expected, want)) in got.iter().zip(want) {
        assert_eq!(shape, expected, "{name}");
        assert_eq!(got.len(), want.len(), "{name}");
        let pairs = places(got, dtype).into_iter().zip(places(want, dtype));
        for (i, (got, want)) in pairs.enumerate() {
            let apart = match (got, want) {
                (Some(got), Some(want)) => got.abs_diff(want),
                (None, None) => 0,
                _ => u64::MAX,
            };
            assert!(apart <= most, "{name}: element {i} is {got:?}, expected {want:?}");
        }
    }
}

/// Of each element its place among the numbers of its type; `None` for NaN. The zeros differ, and infinity is nobody's
/// neighbour.
fn places(bytes: &[u8], dtype: DType) -> Vec<Option<i64>> {
    let (sign, infinite) = match dtype {
        DType::BF16 => (0x8000, 0x7f80),
        DType::F16 => (0x8000, 0x7c00),
        _ => (0x8000_0000_i64, 0x7f80_0000),
    };
    let place = |element: &[u8]| {
        let code = element.iter().rev().fold(0_i64, |code, byte| code << 8 | i64::from(*byte));
        let magnitude = code & (sign - 1);
        let far = if magnitude == infinite { sign } else { magnitude };
        (magnitude <= infinite).then_some(if code & sign == 0 { far } else { -1 - far })
    };
    bytes.chunks_exact(dtype.bytes()).map(place).collect()
}

/// The device, and another one's tensor.
pub(crate) fn stranger() -> Result<(Cuda, Tensor)> {
    let there = Cuda::open(0)?;
    let tensor = there.upload(&[1.0, 2.0], &[2], DType::F32)?;
    Ok((cuda(), tensor))
}
