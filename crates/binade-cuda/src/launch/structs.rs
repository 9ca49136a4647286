//! Rows of tables and reports, laid out as in `kernels/lib` and the kernels. Each size is asserted on both sides.

pub(crate) use binade_gpu::{FoundBits, LossScaleBits, ScaleBits};
use bytemuck::{Pod, Zeroable};

/// `Row` of `unscale.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct UnscaleRow {
    pub(crate) values: u64,
    pub(crate) present: u64,
    pub(crate) len: u64,
    pub(crate) first_chunk: u64,
    pub(crate) parameter: u32,
    pub(crate) dtype: u32,
}

/// `Row` of `materialise.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MaterialiseRow {
    pub(crate) values: u64,
    pub(crate) result: u64,
    pub(crate) present: u64,
    pub(crate) len: u64,
    pub(crate) first_chunk: u64,
    pub(crate) dtype: u32,
    pub(crate) group: u32,
}

/// Constant `NONE` of `materialise.cu`: a gradient that no group's factor multiplies.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// `Row` of `clip_groups.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ClipRow {
    pub(crate) values: u64,
    pub(crate) present: u64,
    pub(crate) len: u64,
    pub(crate) first_chunk: u64,
    pub(crate) dtype: u32,
    pub(crate) pad: u32,
}

/// `Group` of `clip_groups.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ClipGroupBits {
    pub(crate) first_chunk: u64,
    pub(crate) norm: u32,
    pub(crate) max: f32,
    pub(crate) name: u32,
    pub(crate) pad: u32,
}

/// `Row` of `accumulate.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct AccumulateRow {
    pub(crate) sum: u64,
    pub(crate) values: u64,
    pub(crate) present: u64,
    pub(crate) also: u64,
    pub(crate) len: u64,
    pub(crate) first_chunk: u64,
    pub(crate) dtype: u32,
    pub(crate) pad: u32,
}

/// `Row` of `cast.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CastRow {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) len: u64,
    pub(crate) first_chunk: u64,
    pub(crate) from_dtype: u32,
    pub(crate) to_dtype: u32,
}

/// `Row` of `l2norm.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct NormRow {
    pub(crate) values: u64,
    pub(crate) len: u64,
    pub(crate) first_chunk: u64,
    pub(crate) dtype: u32,
    pub(crate) pad: u32,
}

/// `StepRow` of `step.cuh`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct StepRow {
    pub(crate) gradient: u64,
    pub(crate) parameter: u64,
    pub(crate) beside: u64,
    pub(crate) moments: [u64; 3],
    pub(crate) present: u64,
    pub(crate) len: u64,
    pub(crate) first_chunk: u64,
    pub(crate) seed: u64,
    pub(crate) slot: u32,
    pub(crate) gradient_dtype: u32,
    pub(crate) parameter_dtype: u32,
    pub(crate) store: u32,
}

/// `Move` of `prepare.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MoveRow {
    pub(crate) present: u64,
    pub(crate) slot: u32,
    pub(crate) rule: u32,
}

/// `Rule` of `prepare.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RuleBits {
    pub(crate) negative_lr: f64,
    pub(crate) corrections: u64,
    pub(crate) correction_count: u64,
    pub(crate) constants: [f32; 9],
    pub(crate) pad: u32,
}

/// `Correction` of `prepare.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CorrectionRow {
    pub(crate) bias: f64,
    pub(crate) root: f32,
    pub(crate) pad: u32,
}

/// `Row` of `scaled_f16.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ScaledRow {
    pub(crate) values: u64,
    pub(crate) exponent: u64,
    pub(crate) wide: u64,
    pub(crate) between: u64,
    pub(crate) present: u64,
    pub(crate) len: u64,
    pub(crate) first_chunk: u64,
    pub(crate) slot: u32,
    pub(crate) pad: u32,
}

/// `LostCount` of `lost.cuh`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LostBits {
    pub(crate) lost: u64,
    pub(crate) moved: u64,
}

/// `Shape` of `channels.cuh`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ChannelsBits {
    pub(crate) outer: u64,
    pub(crate) channels: u64,
    pub(crate) inner: u64,
    pub(crate) chunk_len: u64,
    pub(crate) chunks: u32,
    pub(crate) layout: u32,
}

/// `Product` of `product.cuh`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ProductBits {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) bias: u64,
    pub(crate) c: u64,
    pub(crate) a_step: u64,
    pub(crate) b_step: u64,
    pub(crate) c_step: u64,
    pub(crate) a_row: u64,
    pub(crate) b_row: u64,
    pub(crate) c_row: u64,
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    pub(crate) dtype: u32,
    pub(crate) c_dtype: u32,
    pub(crate) a_transposed: u32,
    pub(crate) b_transposed: u32,
    pub(crate) ranges: u32,
    pub(crate) least: f32,
    pub(crate) unused: u32,
}

/// `Fault` of `fault.cuh`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FaultBits {
    pub(crate) order: u64,
    pub(crate) index: i64,
    pub(crate) limit: u64,
    pub(crate) op: u32,
    pub(crate) base: u32,
}

/// `Pool` of `max_pool2d.cu`: rows and columns of each.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PoolBits {
    pub(crate) image: [u64; 2],
    pub(crate) output: [u64; 2],
    pub(crate) kernel: [u64; 2],
    pub(crate) stride: [u64; 2],
    pub(crate) padding: [u64; 2],
}

/// `Geometry` of `im2col.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct GeometryBits {
    pub(crate) images: u32,
    pub(crate) channels: u32,
    pub(crate) image: [u32; 2],
    pub(crate) kernel: [u32; 2],
    pub(crate) output: [u32; 2],
    pub(crate) stride: [u32; 2],
    pub(crate) padding: [u32; 2],
    pub(crate) segments: u32,
    pub(crate) pad: u32,
    pub(crate) by_windows: DivisorBits,
    pub(crate) by_columns: DivisorBits,
    pub(crate) by_plane: DivisorBits,
    pub(crate) by_width: DivisorBits,
    pub(crate) by_stride: [DivisorBits; 2],
}

/// `Divisor` of `divide.cuh`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct DivisorBits {
    pub(crate) by: u32,
    pub(crate) multiplier: u32,
    pub(crate) shift: u32,
}

/// Bytes of `Constants` of `step.cuh`.
pub(crate) const CONSTANTS: usize = 36;

/// Bytes of `Between` of `scaled_f16.cu`.
pub(crate) const BETWEEN: usize = 8;

/// Bytes of `Partial` of `unscale.cu`.
pub(crate) const PARTIAL: usize = 40;

/// Bytes of `Partial` of `clip_groups.cu`.
pub(crate) const CLIP_PARTIAL: usize = 16;

const _: () = {
    assert!(size_of::<ChannelsBits>() == 40);
    assert!(size_of::<UnscaleRow>() == 40);
    assert!(size_of::<MaterialiseRow>() == 48);
    assert!(size_of::<ClipRow>() == 40);
    assert!(size_of::<ClipGroupBits>() == 24);
    assert!(size_of::<AccumulateRow>() == 56);
    assert!(size_of::<CastRow>() == 40);
    assert!(size_of::<NormRow>() == 32);
    assert!(size_of::<StepRow>() == 96);
    assert!(size_of::<MoveRow>() == 16);
    assert!(size_of::<RuleBits>() == 64);
    assert!(size_of::<CorrectionRow>() == 16);
    assert!(size_of::<ScaledRow>() == 64);
    assert!(size_of::<LostBits>() == 16);
    assert!(size_of::<GeometryBits>() == 128);
    assert!(size_of::<ProductBits>() == 120);
    assert!(size_of::<FaultBits>() == 32);
    assert!(size_of::<PoolBits>() == 80);
};
