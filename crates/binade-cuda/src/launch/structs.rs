//! Rows of tables and reports, laid out as in `kernels/lib` and the kernels. Each size is asserted on both sides.

pub(crate) use binade_gpu::{FoundBits, LossScaleBits, ScaleBits};

binade_gpu::layouts! {
    /// `Row` of `unscale.cu`.
    UnscaleRow (40) { u64: values, present, len, first_chunk; u32: parameter, dtype; }

    /// `Row` of `pack.cu`.
    PackRow (40) { u64: values, to, len, first_chunk; u32: parameter, dtype; }

    /// `Row` of `materialise.cu`.
    MaterialiseRow (48) { u64: values, result, present, len, first_chunk; u32: dtype, group; }

    /// `Row` of `clip_groups.cu`.
    ClipRow (40) { u64: values, present, len, first_chunk; u32: dtype, pad; }

    /// `Group` of `clip_groups.cu`.
    ClipGroupBits (24) { u64: first_chunk; u32: norm; f32: max; u32: name, pad; }

    /// `Row` of `accumulate.cu`.
    AccumulateRow (56) { u64: sum, values, present, also, len, first_chunk; u32: dtype, pad; }

    /// `Row` of `cast.cu`.
    CastRow (40) { u64: from, to, len, first_chunk; u32: from_dtype, to_dtype; }

    /// `Row` of `axpby.cu`.
    AxpbyRow (56) { u64: x, y, result, len, first_chunk; u32: parameter, x_dtype, y_dtype, pad; }

    /// `Row` of `norms.cu`.
    NormRow (32) { u64: values, len, first_chunk; u32: dtype, pad; }

    /// `StepRow` of `step.cuh`.
    StepRow (104) {
        u64: gradient, parameter, beside; [u64; 3]: moments; u64: present, len, first_chunk, seed;
        u32: slot, gradient_dtype, parameter_dtype, store, bf16_moments, pad;
    }

    /// `Move` of `prepare.cu`.
    MoveRow (16) { u64: present; u32: slot, rule; }

    /// `Rule` of `prepare.cu`.
    RuleBits (96) {
        f64: negative_lr; u64: corrections, correction_count; [f32; 16]: constants;
        u32: has_divisors, pad;
    }

    /// `Row` of `scaled_f16.cu`.
    ScaledRow (64) {
        u64: values, exponent, wide, between, present, len, first_chunk; u32: slot, pad;
    }

    /// `LostCount` of `lost.cuh`.
    LostBits (16) { u64: lost, moved; }

    /// `Shape` of `channels.cuh`.
    ChannelsBits (40) { u64: outer, channels, inner, chunk_len; u32: chunks, layout; }

    /// `Product` of `product.cuh`.
    ProductBits (120) {
        u64: a, b, bias, c, a_step, b_step, c_step, a_row, b_row, c_row;
        u32: m, n, k, dtype, c_dtype, a_transposed, b_transposed, ranges; f32: least; u32: unused;
    }

    /// `Attention` of `attention.cuh`.
    AttentionBits (88) {
        u64: query, key, value, mask, repeats, matrices;
        u32: rows, keys, width, columns, dtype, mask_dtype, mask_has_rows, causal; f32: scale; u32: unused;
    }

    /// `Permutation` of `permute.cu`.
    PermutationBits (160) { [u64; 8]: strides; [DivisorBits; 8]: by; }

    /// `Lines` of `narrow.cu`.
    LinesBits (48) { u64: from_first, from_stride, to_first, to_stride; DivisorBits: by_len; u32: pad; }

    /// `Fault` of `fault.cuh`.
    FaultBits (32) { u64: order; i64: index; u64: limit; u32: op, base; }

    /// `Pool` of `max_pool2d.cu`: rows and columns of each, and elements from one pixel to the next.
    PoolBits (88) { [u64; 2]: image, output, kernel, stride, padding; u64: pixel; }

    /// `Geometry` of `im2col.cu`.
    GeometryBits (136) {
        u32: images, channels; [u32; 2]: image, kernel, output, stride, padding, dilation;
        u32: groups, segments;
        DivisorBits: by_windows, by_columns, by_plane, by_width; [DivisorBits; 2]: by_stride;
    }

    /// `Pixels` of `im2col.cu`.
    PixelsBits (36) { DivisorBits: line, channels, kernel_columns; }

    /// `Divisor` of `divide.cuh`.
    DivisorBits { u32: by, multiplier, shift; }
}

/// Constant `NONE` of `materialise.cu`: a gradient that no group's factor multiplies.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// Bytes of `Constants` of `step.cuh`.
pub(crate) const CONSTANTS: usize = 64;

/// Bytes of `Correction` of `prepare.cu`.
pub(crate) const CORRECTION: usize = 16;

/// Bytes of `Between` of `scaled_f16.cu`.
pub(crate) const BETWEEN: usize = 8;

/// Bytes of `Partial` of `unscale.cu`.
pub(crate) const PARTIAL: usize = 40;

/// Bytes of `Partial` of `axpby.cu`.
pub(crate) const AXPBY_PARTIAL: usize = 24;

/// Bytes of `Partial` of `norms.cu`.
pub(crate) const NORM_PARTIAL: usize = 16;

/// Bytes of `WholePartial` of `whole.cuh`.
pub(crate) const WHOLE_PARTIAL: usize = 24;

/// Bytes of `Partial` of `clip_groups.cu`.
pub(crate) const CLIP_PARTIAL: usize = 16;
