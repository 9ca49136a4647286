//! Parameters of shaders, laid out as their `Params`, and the device's state, as in `shaders/lib/state.wgsl`. A test compares the
//! parameters' sizes with the composed shaders'.

mod operations;

pub(crate) use operations::{
    BatchNorm, Channels, Convolution, Dropout, Embedding, Pool, Product, Rows, Strides, Total,
};

pub(crate) use binade_gpu::FoundBits;

use crate::Error;
use binade_core::DType;
use bytemuck::{Pod, Zeroable};

/// Parameters of `pointwise.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Pointwise {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
}

/// Parameters of `fill.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Fill {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) value: u32,
}

/// Parameters of `cast.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Cast {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) to: u32,
    pub(crate) start: u32,
    pub(crate) saturates: u32,
}

/// Parameters of `cast_stochastic`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CastStochastic {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) to: u32,
    pub(crate) start: u32,
    pub(crate) seed: [u32; 2],
    pub(crate) step: u32,
    pub(crate) parameter: u32,
    pub(crate) block: [u32; 2],
}

/// Parameters of `scale.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Times {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) start: u32,
    pub(crate) is_inverse: u32,
}

/// Parameters of `merge.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Merge {
    pub(crate) all: u32,
}

/// Parameters of `scale_update.wgsl`: a `LossScale`, and the number of findings.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Update {
    pub(crate) growth: i32,
    pub(crate) backoff: i32,
    pub(crate) min: i32,
    pub(crate) max: i32,
    pub(crate) growth_interval: u32,
    pub(crate) patience: u32,
    pub(crate) tolerance: u32,
    pub(crate) amount: u32,
    pub(crate) ceiling: i32,
    pub(crate) deviations: u32,
    pub(crate) weight: u32,
    pub(crate) slow_weight: u32,
    pub(crate) predicts: u32,
    pub(crate) parts: u32,
    pub(crate) count: u32,
    pub(crate) pad: u32,
}

/// Parameters of `unscale.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Unscale {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) start: u32,
    pub(crate) parameter: u32,
    pub(crate) chunks: u32,
    pub(crate) first_partial: u32,
    pub(crate) flag: u32,
    pub(crate) before: u32,
}

/// Parameters of `unscale_join`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Join {
    pub(crate) count: u32,
}

/// Parameters of `clip.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Clip {
    pub(crate) norm: u32,
    pub(crate) most: f32,
}

/// Parameters of `clip_group`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ClipOfGroup {
    pub(crate) norm: u32,
    pub(crate) most: f32,
    pub(crate) name: u32,
    pub(crate) place: u32,
}

/// Parameters of `materialise.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Materialise {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) start: u32,
    pub(crate) flag: u32,
    pub(crate) group: u32,
    pub(crate) limit: f32,
}

/// Constant `NONE` of `materialise.wgsl`: a gradient that no group's factor multiplies.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// Parameters of `accumulate.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Accumulate {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) start: u32,
    pub(crate) sum_start: u32,
    pub(crate) begun: u32,
    pub(crate) there: u32,
}

/// Parameters of `prepare.wgsl`: the number of parameters of the model.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Prepare {
    pub(crate) count: u32,
}

/// `Asked` of `prepare.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PrepareRow {
    pub(crate) flag: u32,
    pub(crate) slot: u32,
    pub(crate) rule: u32,
    pub(crate) pad: u32,
}

/// `Rule` of `prepare.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RuleRow {
    pub(crate) negative_lr: [u32; 2],
    pub(crate) first: u32,
    pub(crate) rows: u32,
    pub(crate) constants: [f32; 9],
    pub(crate) pad: u32,
}

/// `Correction` of `prepare.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CorrectionRow {
    pub(crate) bias: [u32; 2],
    pub(crate) root: u32,
    pub(crate) pad: u32,
}

/// `Applied` of `moves.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct AppliedRow {
    pub(crate) steps: u64,
    pub(crate) lost: u32,
    pub(crate) moved: u32,
}

/// Bytes of `Move` of `moves.wgsl`.
pub(crate) const MOVE: usize = 52;

/// Parameters of `step.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Step {
    pub(crate) len: u32,
    pub(crate) block: u32,
    pub(crate) gradient_dtype: u32,
    pub(crate) start: u32,
    pub(crate) dtype: u32,
    pub(crate) store: u32,
    pub(crate) slot: u32,
    pub(crate) seed_low: u32,
    pub(crate) seed_high: u32,
    pub(crate) counts: u32,
}

/// Parameters of `scaled.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Scaled {
    pub(crate) len: u32,
    pub(crate) flag: u32,
    pub(crate) slot: u32,
    pub(crate) counts: u32,
}

/// Bytes of `Partial` of `lib/chunks.wgsl`.
pub(crate) const PARTIAL: usize = 40;

/// Elements that one `Partial` covers, as its `CHUNK`.
pub(crate) const CHUNK: usize = 16384;

const _: () = {
    assert!(size_of::<RuleRow>() == 56);
    assert!(size_of::<AppliedRow>() == 16);
};

/// Returns the code of an element type in shaders. Other types are refused for the operation `what`.
pub(crate) fn code(what: &'static str, dtype: DType) -> Result<u32, Error> {
    match dtype {
        DType::BF16 => Ok(0),
        DType::F16 => Ok(1),
        DType::F32 => Ok(2),
        _ => Err(Error::Unsupported { what, dtype }),
    }
}

/// Returns the code of an element type that can be stored and cast, the eight-bit types among them.
pub(crate) fn stored_code(what: &'static str, dtype: DType) -> Result<u32, Error> {
    match dtype {
        DType::E4M3 => Ok(3),
        DType::E5M2 => Ok(4),
        dtype => code(what, dtype),
    }
}

/// Returns the lower and the upper half, in the order of WGSL's pairs.
pub(crate) fn halves(value: u64) -> [u32; 2] {
    bytemuck::cast(value.to_le_bytes())
}

/// Returns a count of elements or words of one part, which has fewer than 2^32.
pub(crate) fn count(elements: usize) -> u32 {
    u32::try_from(elements).unwrap_or(u32::MAX)
}
