//! Memory that attention takes on the host: all that the thread of the test allocates.

use binade_core::DType;
use binade_core::ops::{AttentionConfig, AttentionOutput, ScaledDotProductAttention};
use binade_cpu::{Cpu, Tensor};

#[test]
fn attention_takes_memory_in_proportion_to_the_sequence() {
    const LENGTH: usize = 4096;
    let zeros = || Tensor::from_f32(vec![0.0; LENGTH], &[LENGTH, 1], DType::F32).unwrap();
    let (query, key, value, grad) = (zeros(), zeros(), zeros(), zeros());
    let config = AttentionConfig { causal: true, scale: None };
    // The work of other threads would not be counted.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    let counted = allocation_counter::measure(|| {
        one.install(|| {
            let AttentionOutput { output, statistics } =
                Cpu.scaled_dot_product_attention(&query, &key, &value, None, config).unwrap();
            let grads = Cpu.scaled_dot_product_attention_backward(
                &grad,
                &query,
                &key,
                &value,
                &output,
                &statistics,
                None,
                config,
            );
            assert_eq!(grads.unwrap().query.len(), LENGTH);
        });
    });
    // Weights and slopes of 64 queries, and a dozen vectors.
    let most = u64::try_from(size_of::<f32>() * LENGTH * (2 * 64 + 12)).unwrap();
    assert!(counted.bytes_max <= most, "{} bytes, not {most}", counted.bytes_max);
}
