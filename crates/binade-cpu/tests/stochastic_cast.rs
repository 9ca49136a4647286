//! Stochastic rounding of tensors: words by index, threads that do not show, and types that are refused.

use binade_core::stochastic::{Key, bits, round_bf16};
use binade_core::{DType, Error, ErrorKind};
use binade_cpu::{Cpu, Tensor};

const KEY: Key = Key { seed: 7, parameter: 1, step: 2 };

/// Long enough for many blocks, and no multiple of four.
const LENGTH: u16 = 50_003;

fn ramp() -> Vec<f32> {
    (0..LENGTH).cycle().take(4 * usize::from(LENGTH)).map(|n| f32::from(n) * 1e-3).collect()
}

#[test]
fn each_element_is_rounded_by_the_word_of_its_index() {
    let values = ramp();
    let tensor = Tensor::new(values.clone(), &[4, usize::from(LENGTH)]).unwrap();
    let rounded = Cpu.cast_stochastic(&tensor, DType::BF16, KEY).unwrap();
    assert_eq!((rounded.dtype(), rounded.shape()), (DType::BF16, tensor.shape()));
    let expected = values.iter().zip(0..).map(|(x, index)| round_bf16(*x, bits(KEY, index)));
    assert_eq!(rounded.as_slice::<half::bf16>().unwrap(), expected.collect::<Vec<_>>());
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let values = ramp();
    let tensor = Tensor::new(values.clone(), &[values.len()]).unwrap();
    for to in [DType::BF16, DType::F16, DType::E4M3, DType::E5M2] {
        let by = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Cpu.cast_stochastic(&tensor, to, KEY).unwrap().to_bits())
        };
        assert_eq!(by(1), by(3), "{to}");
    }
}

#[test]
fn to_f32_it_is_a_plain_cast() {
    let narrow = Tensor::from_f32(ramp(), &[4, usize::from(LENGTH)], DType::F16).unwrap();
    let wide = Cpu.cast_stochastic(&narrow, DType::F32, KEY).unwrap();
    assert_eq!(wide.to_bits(), narrow.cast(DType::F32).unwrap().to_bits());
}

#[test]
fn what_would_round_twice_or_has_no_fraction_is_refused() {
    let wide = Tensor::new(vec![1.0_f64], &[1]).unwrap();
    let whole = Tensor::new(vec![1_i64], &[1]).unwrap();
    let one = Tensor::new(vec![1.0_f32], &[1]).unwrap();
    for (tensor, to) in [(wide, DType::F16), (whole, DType::F16), (one, DType::F64)] {
        let error = Cpu.cast_stochastic(&tensor, to, KEY).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}
