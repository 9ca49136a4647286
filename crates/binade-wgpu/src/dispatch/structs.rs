//! Parameters of shaders, laid out as their `Params`, and the device's state, as in `shaders/lib/state.wgsl`. A test compares the
//! parameters' sizes with the composed shaders'.

pub(crate) use binade_gpu::FoundBits;

use crate::Error;
use binade_core::DType;

binade_gpu::layouts! {
    /// Parameters of `pointwise.wgsl`.
    Pointwise { u32: len, dtype; [u32; 3]: starts; }

    /// Parameters of `fill.wgsl`.
    Fill { u32: len, dtype, value; }

    /// Parameters of `cast.wgsl`.
    Cast { u32: len, dtype, to, start, saturates; }

    /// Parameters of `cast_stochastic`.
    CastStochastic {
        u32: len, dtype, to, start; [u32; 2]: seed; u32: step, parameter; [u32; 2]: block;
    }

    /// Parameters of `scale.wgsl`.
    Times { u32: len, dtype, start, is_inverse; }

    /// Parameters of `merge.wgsl`.
    Merge { u32: all; }

    /// Parameters of `scale_update.wgsl`: a `LossScale`, and the number of findings.
    Update {
        i32: growth, backoff, min, max; u32: growth_interval, patience, tolerance, amount;
        i32: ceiling; u32: deviations, weight, slow_weight, predicts, parts, count, pad;
    }

    /// Parameters of `unscale.wgsl`.
    Unscale { u32: len, dtype, start, parameter, chunks, first_partial, flag, before; }

    /// Parameters of `unscale_join`.
    Join { u32: count; }

    /// Parameters of `clip.wgsl`.
    Clip { u32: norm; f32: most; }

    /// Parameters of `clip_group`.
    ClipOfGroup { u32: norm; f32: most; u32: name, place; }

    /// Parameters of `materialise.wgsl`.
    Materialise { u32: len, dtype, start, flag, group; f32: limit; }

    /// Parameters of `accumulate.wgsl`.
    Accumulate { u32: len, dtype, start, sum_start, begun, there; }

    /// Parameters of `prepare.wgsl`: the number of parameters of the model.
    Prepare { u32: count; }

    /// `Asked` of `prepare.wgsl`.
    PrepareRow { u32: flag, slot, rule, pad; }

    /// `Rule` of `prepare.wgsl`.
    RuleRow (88) {
        [u32; 2]: negative_lr; u32: first, rows; [f32; 16]: constants; u32: has_divisors, pad;
    }

    /// `Applied` of `moves.wgsl`.
    AppliedRow (16) { u64: steps; u32: lost, moved; }

    /// Parameters of `step.wgsl`.
    Step {
        u32: len, block, gradient_dtype, start, dtype, store, slot, seed_low, seed_high, counts,
            chunk;
    }

    /// Parameters of `whole_tensors_join`.
    WholeJoin { u32: slot, chunks; }

    /// Parameters of `scaled.wgsl`.
    Scaled { u32: len, flag, slot, counts; }

    /// Parameters of `total.wgsl`.
    Total { u32: len, dtype; [u32; 2]: starts; u32: at; f32: divisor; }

    /// Parameters of `bias_add.wgsl`.
    Channels { u32: len, dtype; [u32; 2]: starts; u32: count, inner, first, samples, to; }

    /// Parameters of `rows.wgsl`.
    Rows {
        u32: len, dtype; [u32; 2]: starts;
        u32: first, count, width, team, at, labels_start, grad_start; f32: divisor;
        u32: weight_start, bias_start, parameter_dtype; f32: eps;
    }

    /// Parameters of `batch_norm.wgsl`.
    BatchNorm {
        u32: len, dtype; [u32; 2]: starts;
        u32: channels, inner, samples, team, weight_start, bias_start, parameter_dtype; f32: eps;
        u32: number; f32: factor, momentum, kept; u32: share, weights;
    }

    /// Parameters of `embedding.wgsl`.
    Embedding { u32: len, dtype; [u32; 2]: starts; u32: first, rows, width, count, indices_start; }

    /// Parameters of `dropout.wgsl`.
    Dropout { u32: len, dtype; [u32; 2]: starts; u32: first, key_start, threshold; f32: factor; }

    /// Parameters of `matmul.wgsl`.
    Product {
        u32: dtype, to, m, n, k, batch; Strides: a, b; u32: c_row, c_step, bias, bias_start, groups;
        [u32; 3]: group_steps;
    }

    /// Strides of an operand of `matmul.wgsl`: elements before the first, and to the next row, column and matrix.
    Strides { u32: start, row, column, step; }

    /// Parameters of `conv2d.wgsl`; extents are rows and columns.
    Convolution {
        u32: len, dtype; [u32; 2]: starts; u32: to, images, channels;
        [u32; 2]: image, kernel, output, stride, padding, dilation;
    }

    /// Parameters of `scaled_dot_product_attention.wgsl`.
    Attention {
        u32: dtype, to, mask_dtype, result, places, rows, keys, width, columns, causal; f32: scale;
        u32: has_mask, mask_has_rows, repeats, matrices; [u32; 5]: starts; u32: statistics_start;
    }

    /// Parameters of `permute.wgsl`: extents and strides of eight axes.
    Permute { u32: len, dtype, start, first; [u32; 8]: extents, strides; }

    /// Parameters of `narrow.wgsl`.
    Narrow { u32: len, dtype, start, first, line; [u32; 2]: from, to; }

    /// Parameters of `masked_fill.wgsl`.
    MaskedFill { u32: len, dtype, start, first, mask_dtype, mask_start, mask_len, value; }

    /// Parameters of `rotary_embedding.wgsl`.
    Rotary { u32: len, dtype, start, first, rows, half, cos_start, sin_start; f32: sign; }

    /// Parameters of `max_pool2d.wgsl`; extents are rows and columns.
    Pool { u32: len, dtype; [u32; 2]: starts, image, output, kernel, stride, padding; u32: pixel; }

    /// Parameters of `avg_pool2d.wgsl`.
    AvgPool { u32: len, dtype; [u32; 2]: starts; [u32; 6]: rows, columns; u32: divisor, pixel; }
}

/// Constant `NONE` of `materialise.wgsl`: a gradient that no group's factor multiplies.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// Bytes of `Move` of `moves.wgsl`.
pub(crate) const MOVE: usize = 80;

/// Bytes of `Partial` of `unscale.wgsl`.
pub(crate) const PARTIAL: usize = 40;

/// Bytes of the result of `whole_tensors_measure` for a chunk: two of its `Measured`.
pub(crate) const MEASURED: usize = 32;

/// Elements of a chunk, as `CHUNK` of `lib/chunks.wgsl`.
pub(crate) const CHUNK: usize = 16384;

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
