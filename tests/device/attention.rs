//! Attention beyond the kit's cases: long sequences, and what they take of the device's memory.

use crate::support::{Result, gpu, own};
use binade_core::DType;
use binade_core::ops::{
    AttentionConfig, AttentionOutput, Download, ScaledDotProductAttention, Upload,
};

crate::tests![
    attention_takes_memory_in_proportion_to_the_sequence,
    more_queries_than_a_grid_has_warps_have_gradients,
];

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
        let AttentionOutput { output, statistics } = &results;
        let grads = gpu.scaled_dot_product_attention_backward(
            &grad, &query, &key, &value, output, statistics, None, config,
        )?;
        drop(grads);
        // Of each query output, two statistics, gradient and mean; of each key two gradients.
        let most = size_of::<f32>() * (5 * queries + 2 * keys) + 6 * ALIGNED;
        let taken = gpu.memory_use().peak_bytes - operands;
        assert!(taken <= most, "{taken} bytes for {queries} queries and {keys} keys, not {most}");
    }
    Ok(())
}

fn more_queries_than_a_grid_has_warps_have_gradients() -> Result {
    // A grid has at most 4096 blocks of 8 warps.
    const QUERIES: usize = 8 * 4096 + 100;
    let (gpu, config) = (gpu(), AttentionConfig::default());
    let ones = |shape: &[usize]| gpu.upload(&vec![1.0; shape.iter().product()], shape, DType::F32);
    let (query, key) = (ones(&[QUERIES, 1])?, ones(&[1, 1])?);
    // The one key's score is 1, and its weight 1.
    let statistics: Vec<f32> = [1.0, 0.0].into_iter().cycle().take(2 * QUERIES).collect();
    let statistics = gpu.upload(&statistics, &[QUERIES, 2], DType::F32)?;
    let grads = gpu.scaled_dot_product_attention_backward(
        &query,
        &query,
        &key,
        &key,
        &query,
        &statistics,
        None,
        config,
    )?;
    assert!(gpu.download(&grads.query)?.iter().all(|grad| *grad == 0.0));
    assert_eq!(gpu.download(&grads.value)?, [32868.0]);
    Ok(())
}
