//! Skipped steps change no byte of parameters, masters or moments.

mod sets;

use binade_core::{DType, Finding, Named, Optimizer as _, Overflow};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradOps, Norm};
use binade_master_weights::MasterOptimizer;
use sets::{ALL, Part, Random, STORES, name, params, plan, rules, unscaled};

/// Type, shape and bytes of a parameter, and its slot's state as bits.
type Bytes = (DType, Vec<usize>, Vec<u8>, Vec<(&'static str, Vec<u8>)>, u64);

fn bytes(optimizer: &MasterOptimizer<Cpu>) -> Vec<Bytes> {
    let one = |param: &Named<Tensor>| {
        let slot = optimizer.masters().get(&param.name).expect("kept");
        let kept = slot.kept().into_iter().map(|kept| (kept.kind.name(), kept.values.to_bytes()));
        let tensor = &param.value;
        let shape = tensor.shape().to_vec();
        (tensor.dtype(), shape, tensor.to_bits(), kept.collect(), slot.applied)
    };
    optimizer.params.iter().map(one).collect()
}

fn stamps(optimizer: &MasterOptimizer<Cpu>) -> Vec<u64> {
    optimizer.params.iter().map(|param| param.value.stamp()).collect()
}

fn overflow() -> Finding {
    let (scaled, unscaled) = (f32::INFINITY, f32::INFINITY);
    let overflow = Overflow { parameter: name(0).into(), index: 0, scaled, unscaled };
    Finding { overflow: Some(overflow), infinities: 1, ..Finding::default() }
}

#[test]
fn a_raised_finding_leaves_every_byte_and_every_stamp_alone() {
    let halted = Finding { halted: true, ..Finding::default() };
    for (rule, store) in rules().into_iter().flat_map(|r| STORES.map(|s| (r, s))) {
        let dtypes = ALL.into_iter().filter(|dtype| store.takes(*dtype));
        let set: Vec<_> = dtypes.map(|dtype| Random(7).part(dtype, 100)).collect();
        let plan = plan(rule).with_store(store);
        let mut optimizer = MasterOptimizer::new(Cpu, params(&set), plan).unwrap();
        let (grads, found) = unscaled(&set, 3);
        optimizer.step(grads.clone(), &found).unwrap();
        let before = (bytes(&optimizer), stamps(&optimizer));
        for found in [&overflow(), &halted] {
            optimizer.step(grads.clone(), found).unwrap();
            assert!((bytes(&optimizer), stamps(&optimizer)) == before, "{rule:?} {store:?}");
        }
        optimizer.step(grads, &Finding::default()).unwrap();
        assert!(bytes(&optimizer) != before.0, "{rule:?} {store:?}: nothing moves at all");
    }
}

#[test]
fn fifty_steps_with_random_overflows_end_where_a_run_that_never_saw_them_ends() {
    for (seed, rule) in (0..).zip(rules()) {
        let mut random = Random(seed);
        let set = random.set();
        let mut optimizer = MasterOptimizer::new(Cpu, params(&set), plan(rule)).unwrap();
        let mut mirror = MasterOptimizer::new(Cpu, params(&set), plan(rule)).unwrap();
        let mut skipped = 0;
        for _ in 0..50 {
            let mut grads = random.grads_for(&set);
            let bad = random.below(3) == 0 && spoil(&mut random, &mut grads);
            let exponent = i32::try_from(random.below(20)).unwrap() - 4;
            let (mut grads, mut found) = unscaled(&grads, exponent);
            Cpu.clip_norm(&mut grads, Norm::L2, 1.0, &mut found).unwrap();
            assert_eq!(found.is_raised(), bad);
            optimizer.step(grads.clone(), &found).unwrap();
            if bad {
                skipped += 1;
            } else {
                mirror.step(grads, &found).unwrap();
            }
        }
        assert!((5..45).contains(&skipped), "{skipped} skipped");
        assert!(bytes(&optimizer) == bytes(&mirror), "{rule:?}");
    }
}

/// Puts a non-finite value at a random place; returns false if there is no element at all.
fn spoil(random: &mut Random, grads: &mut [Part]) -> bool {
    let part = random.below(grads.len());
    let part = &mut grads[part].data;
    let Some(last) = part.len().checked_sub(1) else { return false };
    let at = [0, last, random.below(last + 1)][random.below(3)];
    part[at] = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN][random.below(3)];
    true
}
