//! Skipped steps change no byte of parameters, masters or moments.

use crate::sets;

use binade_core::{FoundInf, Optimizer as _, Overflow};
use binade_cpu::Cpu;
use binade_master_weights::MasterOptimizer;
use sets::{ALL, Random, STORES, all_rules, config, name, params, unscaled};

fn stamps(optimizer: &MasterOptimizer<Cpu>) -> Vec<u64> {
    optimizer.params.iter().map(|param| param.value.stamp()).collect()
}

fn overflow() -> FoundInf {
    let (scaled, unscaled) = (f32::INFINITY, f32::INFINITY);
    let overflow = Overflow { parameter: name(0).into(), index: 0, rank: None, scaled, unscaled };
    FoundInf { overflow: Some(overflow), infinities: 1, ..FoundInf::default() }
}

#[test]
fn a_raised_finding_leaves_every_byte_and_every_stamp_alone() {
    let halted = FoundInf { halted: true, ..FoundInf::default() };
    for (rule, store) in all_rules().into_iter().flat_map(|r| STORES.map(|s| (r, s))) {
        let dtypes = ALL.into_iter().filter(|dtype| store.takes(*dtype));
        let set: Vec<_> = dtypes.map(|dtype| Random(7).part(dtype, 100)).collect();
        let config = config(rule).with_store(store);
        let mut optimizer = MasterOptimizer::new(Cpu, params(&set), config).unwrap();
        let (grads, found) = unscaled(&set, 3);
        optimizer.step(grads.clone(), &found).unwrap();
        let before = (optimizer.save().unwrap(), stamps(&optimizer));
        for found in [&overflow(), &halted] {
            optimizer.step(grads.clone(), found).unwrap();
            assert!(
                (optimizer.save().unwrap(), stamps(&optimizer)) == before,
                "{rule:?} {store:?}"
            );
        }
        optimizer.step(grads, &FoundInf::default()).unwrap();
        assert!(optimizer.save().unwrap() != before.0, "{rule:?} {store:?}: nothing moves at all");
    }
}
