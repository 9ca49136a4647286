//! Masters in two halves, for every f32.
//!
//! A strided sample of all patterns; every one of the 2^32 where `BINADE_FULL` is set.

use crate::common::{config, fine, grads, masters, of_one, rules, values};
use binade_core::{DType, Optimizer as _};
use binade_master_weights::stores::remainder::{join, split};
use binade_master_weights::{MasterStore, UpdateRule};
use half::bf16;
use std::{env, ops::Range, thread};

/// A prime, so that the sample meets every low pattern.
const STRIDE: usize = 997;
const ALL: u64 = 1 << 32;

/// Checks a part of the patterns; says how many copies are not the nearest even one.
fn sweep(patterns: Range<u64>, stride: usize) -> u64 {
    let mut ties = 0;
    for pattern in patterns.step_by(stride) {
        let bits = u32::try_from(pattern).expect("below 2^32");
        ties += u64::from(comes_back(bits));
    }
    ties
}

/// Returns true if the copy is another than the nearest even one, which is so on exact ties to an even neighbour alone.
fn comes_back(bits: u32) -> bool {
    let master = f32::from_bits(bits);
    let (copy, remainder) = split(master);
    let nearest = bf16::from_f32(master);
    if master.is_nan() {
        assert!(bf16::from_bits(copy).is_nan() && join(copy, remainder).is_nan(), "{bits:#010x}");
        assert_eq!(copy, nearest.to_bits(), "{bits:#010x}");
        return false;
    }
    assert_eq!(join(copy, remainder).to_bits(), bits, "{bits:#010x}");
    let is_tie = bits & 0x0001_ffff == 0x8000;
    assert_eq!(copy, nearest.to_bits() + u16::from(is_tie), "{bits:#010x}");
    is_tie
}

fn sweep_everything() -> u64 {
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let part = |index: u64| ALL * index / threads..ALL * (index + 1) / threads;
    thread::scope(|scope| {
        let parts: Vec<_> =
            (0..threads).map(|index| scope.spawn(move || sweep(part(index), 1))).collect();
        parts.into_iter().map(|part| part.join().expect("a part that comes back")).sum()
    })
}

#[test]
fn every_master_comes_back_and_its_copy_is_the_nearest_but_for_ties() {
    if env::var_os("BINADE_FULL").is_none() {
        assert!(sweep(0..ALL, STRIDE) > 0);
        return;
    }
    // One for each even upper half, of which there are 2^15, but for the 2^7 of infinities and NaN.
    assert_eq!(sweep_everything(), (1 << 15) - (1 << 7));
}

#[test]
fn all_remainders_come_back_beside_the_copies_at_the_edges() {
    for upper in [0_u32, 1, 2, 0x7f, 0x80, 0x3f7f, 0x3f80, 0x3f81, 0x7f7e, 0x7f7f, 0x7f80, 0x7fff] {
        for sign in [0, 0x8000] {
            for lower in 0..=0xffff {
                comes_back((upper | sign) << 16 | lower);
            }
        }
    }
}

#[test]
fn a_thousand_steps_leave_the_masters_of_f32_copies_bit_for_bit() {
    for rule in [UpdateRule::adam(1e-3), rules()[1], rules()[4]] {
        let start = values(64, 1);
        let stored = |store| {
            let config = config(rule).with_store(store).with_storage(DType::BF16);
            of_one(DType::F32, &start, config)
        };
        let [mut copy, mut remainder] = [MasterStore::Copy, MasterStore::Remainder].map(stored);
        for seed in 0..1000 {
            let grad = values(64, 1000 + seed);
            for optimizer in [&mut copy, &mut remainder] {
                optimizer.step(grads(DType::BF16, [("w", &grad[..])]), &fine()).unwrap();
            }
        }
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(masters(&remainder)), bits(masters(&copy)), "{rule:?}");
        let slot = |optimizer: &crate::common::Optimizer| {
            optimizer.masters().get("w").unwrap().moments.clone()
        };
        assert_eq!(slot(&remainder), slot(&copy), "{rule:?}");
    }
}
