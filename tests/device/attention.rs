//! Attention beyond the kit's cases: what a long sequence takes of the device's memory.

use crate::support::{Result, own};
use binade_core::DType;
use binade_core::ops::{AttentionConfig, AttentionOutput, ScaledDotProductAttention, Upload};

crate::tests![attention_takes_memory_in_proportion_to_the_sequence];

/// Bytes of a result begin at a multiple of this.
const ALIGNED: usize = 512;

fn attention_takes_memory_in_proportion_to_the_sequence() -> Result {
    let (gpu, config) = (own(), AttentionConfig::default());
    for (queries, keys) in [(64, 4096), (4096, 64)] {
        let zeros = |rows: usize| gpu.upload(&vec![0.0; rows], &[rows, 1], DType::F32);
        let (query, key, value) = (zeros(queries)?, zeros(keys)?, zeros(keys)?);
        let grad = zeros(queries)?;
        let operands = gpu.memory_use().bytes;
        gpu.reset_peak_memory();
        let results = gpu.scaled_dot_product_attention(&query, &key, &value, None, config)?;
        let AttentionOutput { output: y, log_sum_exp: l } = &results;
        let grads = gpu.scaled_dot_product_attention_backward(
            &grad, &query, &key, &value, y, l, None, config,
        )?;
        drop(grads);
        // Of each query output, logarithm, gradient and mean; of each key two gradients.
        let most = size_of::<f32>() * (4 * queries + 2 * keys) + 6 * ALIGNED;
        let taken = gpu.memory_use().peak_bytes - operands;
        assert!(taken <= most, "{taken} bytes for {queries} queries and {keys} keys, not {most}");
        assert!(most < size_of::<f32>() * queries * keys / 8, "scores would show");
    }
    Ok(())
}
