//! Attention beside PyTorch's, forward and backward.

use binade_core::DType;
use binade_core::ops::{AttentionConfig, ScaledDotProductAttention};
use binade_cpu::{Cpu, Tensor};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Calls that `tests/data/golden/attention.py` recorded.
#[derive(Deserialize)]
struct Recording {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    dtype: String,
    causal: bool,
    tensors: BTreeMap<String, Values>,
}

#[derive(Deserialize)]
struct Values {
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Case {
    fn tensor(&self, name: &str, dtype: DType) -> Option<Tensor> {
        let Values { shape, values } = self.tensors.get(name)?;
        Some(Tensor::from_f32(values.clone(), shape, dtype).unwrap())
    }

    /// Asserts that a result is the recorded one within `bound`, relative to the largest of its elements.
    fn agrees(&self, number: usize, name: &str, got: &Tensor, bound: f32) {
        let want = &self.tensors[name];
        assert_eq!(got.shape(), want.shape, "{number} {name}");
        let largest = want.values.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
        for (got, want) in got.to_f32().iter().zip(&want.values) {
            let is_near = (got - want).abs() <= bound * largest;
            assert!(is_near, "{number} {} {name}: {got}, {want}", self.dtype);
        }
    }
}

#[test]
fn attention_and_its_gradients_are_those_of_pytorch() {
    let recorded = include_str!("../data/golden/attention.json");
    let Recording { cases } = serde_json::from_str(recorded).unwrap();
    assert_eq!(cases.len(), 19);
    for (number, case) in cases.iter().enumerate() {
        // PyTorch rounds the weights of 16-bit values too.
        let (dtype, bound) = match &*case.dtype {
            "f32" => (DType::F32, 2e-6),
            "f16" => (DType::F16, 2e-3),
            _ => (DType::BF16, 2e-2),
        };
        let of = |name| case.tensor(name, dtype).unwrap();
        let (query, key, value, grad) = (of("query"), of("key"), of("value"), of("grad"));
        let mask = case.tensor("mask", dtype);
        let (mask, config) = (mask.as_ref(), AttentionConfig { causal: case.causal, scale: None });
        let forward = Cpu.scaled_dot_product_attention(&query, &key, &value, mask, config).unwrap();
        let (output, statistics) = (&forward.output, &forward.statistics);
        let grads = Cpu.scaled_dot_product_attention_backward(
            &grad, &query, &key, &value, output, statistics, mask, config,
        );
        let grads = grads.unwrap();
        let results = [
            ("output", output),
            ("of_query", &grads.query),
            ("of_key", &grads.key),
            ("of_value", &grads.value),
        ];
        for (name, got) in results {
            case.agrees(number, name, got, bound);
        }
    }
}
