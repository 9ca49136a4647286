//! Memory that attention takes on the host: all that the thread of the test allocates.

use binade_core::DType;
use binade_core::ops::{AttentionConfig, AttentionOutput, ScaledDotProductAttention};
use binade_cpu::{Cpu, Tensor};

/// Returns the most bytes that forward and backward over a sequence of this length hold at once.
fn bytes(length: usize) -> u64 {
    const WIDTH: usize = 16;
    let zeros = || Tensor::from_f32(vec![0.0; length * WIDTH], &[length, WIDTH], DType::F32);
    let (query, key, value, grad) =
        (zeros().unwrap(), zeros().unwrap(), zeros().unwrap(), zeros().unwrap());
    let config = AttentionConfig { causal: true, scale: None };
    // The work of other threads would not be counted.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    let both = || {
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
        assert_eq!(grads.unwrap().query.len(), length * WIDTH);
    };
    allocation_counter::measure(|| one.install(both)).bytes_max
}

#[test]
fn attention_takes_memory_in_proportion_to_the_sequence() {
    let (half, whole) = std::thread::scope(|scope| {
        let of = |length| scope.spawn(move || bytes(length)).join().unwrap();
        (of(2048), of(4096))
    });
    let scores = 4 * 4096 * 4096;
    assert!(whole < 5 * half / 2, "{half} bytes, and {whole} of twice the length");
    assert!(whole < scores / 4, "{whole} bytes, where all scores have {scores}");
}
