//! Dropout: a mask that depends on key and index alone.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use binade_core::{DType, stochastic};
use binade_cpu::{Cpu, Tensor};
use binade_ops::{Dropout, Fill};
use common::{assert_same_bits, tensor};

fn key(seed: u64, counter: u64) -> Tensor {
    Tensor::new(vec![seed.cast_signed(), counter.cast_signed()], &[2]).unwrap()
}

fn ones(count: usize) -> Tensor {
    Cpu.fill(1.0, &[count], DType::F32).unwrap()
}

#[test]
fn elements_stay_where_the_random_word_says() {
    let (seed, counter) = (u64::MAX - 5, (7 << 32) | 9);
    let stream = stochastic::Key { seed, parameter: !7, step: 9 };
    let y = Cpu.dropout(&ones(1001), &key(seed, counter), 0.25).unwrap();
    for (i, y) in y.to_f32().iter().enumerate() {
        let stays = stochastic::bits(stream, i as u64) >= 1 << 30;
        assert_eq!(*y, if stays { 4.0 / 3.0 } else { 0.0 }, "{i}");
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "the word's last eight bits are zero")]
fn an_element_whose_word_is_the_threshold_stays() {
    let stream = stochastic::Key { seed: 1, parameter: !0, step: 2 };
    let word = |i: &usize| stochastic::bits(stream, *i as u64);
    let at = (0..4096).find(|i| word(i).trailing_zeros() >= 8).unwrap();
    let y = Cpu.dropout(&ones(at + 1), &key(1, 2), word(&at) as f32 / 4_294_967_296.0).unwrap();
    assert!(y.to_f32()[at] > 0.0);
}

#[test]
fn about_p_of_the_elements_drop_and_the_sum_stays() {
    for p in [0.1_f32, 0.5, 0.9] {
        let y = Cpu.dropout(&ones(100_000), &key(1, 2), p).unwrap();
        let dropped: f32 = y.to_f32().iter().map(|y| f32::from(*y == 0.0)).sum();
        // Five standard deviations of a binomial distribution: √(n·p·(1 − p)).
        let deviation = (1e5 * p * (1.0 - p)).sqrt();
        assert!((dropped - p * 1e5).abs() < 5.0 * deviation, "{p}: {dropped}");
    }
}

#[test]
fn another_seed_or_counter_is_another_mask() {
    let x = ones(256);
    let masks = [key(1, 1), key(1, 2), key(2, 1), key(1, 1 | 1 << 32)]
        .map(|key| Cpu.dropout(&x, &key, 0.5).unwrap().to_bits());
    for (i, mask) in masks.iter().enumerate() {
        assert!(!masks[..i].contains(mask), "{i}");
    }
}

#[test]
fn backward_drops_what_forward_dropped() {
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let (x, g) = (Cpu.fill(1.0, &[33, 3], dtype).unwrap(), tensor(&[33, 3], 1, dtype));
        let y = Cpu.dropout(&x, &key(3, 4), 0.5).unwrap();
        let dx = Cpu.dropout_backward(&g, &key(3, 4), 0.5).unwrap();
        let (y, g, dx) = (y.to_f32(), g.to_f32(), dx.to_f32());
        assert!(dx.iter().zip(&*y).zip(&*g).all(|((dx, y), g)| *dx == y * g), "{dtype}");
    }
}

#[test]
fn the_ends_of_p_keep_all_and_drop_all_even_nan() {
    let x = Tensor::new(vec![f32::NAN, f32::INFINITY, -1.0], &[3]).unwrap();
    assert_same_bits(&Cpu.dropout(&x, &key(5, 6), 0.0).unwrap(), &x, "p = 0");
    let nothing = Cpu.fill(0.0, &[3], DType::F32).unwrap();
    assert_same_bits(&Cpu.dropout(&x, &key(5, 6), 1.0).unwrap(), &nothing, "p = 1");
}

#[test]
fn the_mask_does_not_depend_on_the_number_of_threads() {
    let x = ones(300_001);
    let [one, two, three] = [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Cpu.dropout(&x, &key(7, 8), 0.3).unwrap())
    });
    assert_same_bits(&two, &one, "two threads");
    assert_same_bits(&three, &one, "three threads");
}
