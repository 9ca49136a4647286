//! Fused step, against the plain loop and the step on plain slices.

use crate::sets;

use binade_core::{DType, Error as _, ErrorKind, FoundInf, HostTensor, Named, Optimizer as _};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradOps, Norm};
use binade_master_weights::{
    HostMasters, MasterOptimizer, MasterStore, MasterWeights, OptimizerConfig, UpdateRule,
};
use sets::{
    BLOCK, NATIVE, Part, Random, STORES, all_rules, config, in_pools, name, native_params,
    native_unscaled, params, rules, unscaled,
};

/// Returns parameters, and gradients of the same lengths in types of their own for some steps.
fn random_run(seed: u64) -> (Vec<Part>, Vec<Vec<Part>>) {
    let mut random = Random(seed);
    let set = random.set();
    let steps = (0..3).map(|_| random.grads_for(&set)).collect();
    (set, steps)
}

/// Returns `set` with `bf16` in place of types that `store` does not take.
fn taken(store: MasterStore, set: &[Part]) -> Vec<Part> {
    let taken = |dtype| if store.takes(dtype) { dtype } else { DType::BF16 };
    set.iter().map(|part| Part { dtype: taken(part.dtype), ..part.clone() }).collect()
}

/// Returns the parameters' values as bits of f32: exact for every type.
fn stored(params: &[Named<Tensor>]) -> Vec<Vec<u32>> {
    let bits = |tensor: &Tensor| tensor.to_f32().iter().map(|x| x.to_bits()).collect();
    params.iter().map(|param| bits(&param.value)).collect()
}

fn native_stored(params: &[Named<HostTensor>]) -> Vec<Vec<u32>> {
    let bits = |tensor: &HostTensor| tensor.to_f32().into_iter().map(f32::to_bits).collect();
    params.iter().map(|param| bits(&param.value)).collect()
}

/// Trains on the CPU, unscaling and clipping lazily, and returns parameters and masters.
fn train(
    set: &[Part],
    steps: &[Vec<Part>],
    config: &OptimizerConfig,
) -> (Vec<Vec<u32>>, HostMasters) {
    let mut optimizer = MasterOptimizer::new(Cpu, params(set), config.clone()).unwrap();
    for (i, grads) in (0..).zip(steps) {
        let (mut grads, mut found) = unscaled(grads, 4 - i);
        Cpu.clip_norm(&mut grads, Norm::L2, 1.0, &mut found).unwrap();
        optimizer.step(grads, &found).unwrap();
    }
    (stored(&optimizer.params), optimizer.masters().clone())
}

#[test]
fn steps_are_the_plain_loops_to_the_bit_on_any_number_of_threads() {
    for (seed, rule) in (0..).zip(all_rules()) {
        let (drawn, steps) = random_run(seed);
        for store in STORES {
            let config = config(rule).with_store(store).with_lost_updates(seed % 2 == 0);
            let set = taken(store, &drawn);
            let mut native =
                MasterOptimizer::new(NATIVE, native_params(&set), config.clone()).unwrap();
            for (i, grads) in (0..).zip(&steps) {
                let (mut grads, mut found) = native_unscaled(grads, 4 - i);
                NATIVE.clip_norm(&mut grads, Norm::L2, 1.0, &mut found).unwrap();
                native.step(grads, &found).unwrap();
            }
            for (values, masters) in in_pools(|| train(&set, &steps, &config)) {
                assert!(values == native_stored(&native.params), "seed {seed}, {rule:?} {store:?}");
                assert!(&masters == native.masters(), "seed {seed}, {rule:?} {store:?}");
            }
        }
    }
}

#[test]
fn many_small_tensors_are_stepped_like_one_large_one() {
    let small: Vec<Part> = (0..200).map(|i| Random(i).part(DType::F16, 1024)).collect();
    let large =
        Part { dtype: DType::F16, data: small.iter().flat_map(|p| p.data.clone()).collect() };
    assert!(large.data.len() > 8 * BLOCK, "enough for several threads");
    let config = config(rules()[4]);
    let whole = train(std::slice::from_ref(&large), &[vec![large.clone()]], &config).0.concat();
    for parts in in_pools(|| train(&small, std::slice::from_ref(&small), &config).0.concat()) {
        assert!(parts == whole);
    }
}

#[test]
fn a_parameter_widened_behind_the_optimizers_back_still_follows_its_master() {
    let half = Part { dtype: DType::F16, data: vec![1.0] };
    let mut optimizer = MasterOptimizer::new(Cpu, params(&[half]), config(rules()[0])).unwrap();
    optimizer.params[0].value = optimizer.params[0].value.cast(DType::F32).unwrap();
    for _ in 0..2 {
        optimizer.step(sets::one(&[1e-5]), &FoundInf::default()).unwrap();
    }
    let master = optimizer.masters().get(&name(0)).unwrap().master.copy().cloned().expect("kept");
    assert_eq!(optimizer.params[0].value.as_slice(), Some(&master[..]));
    assert!(master[0] < 1.0);
}

#[test]
fn a_slice_is_rounded_by_the_words_that_its_elements_have_in_the_whole() {
    let (len, seed) = (BLOCK + 9, 3);
    let values: Vec<f32> = (0_u16..).map(f32::from).take(len).collect();
    for store in STORES.into_iter().chain([MasterStore::Stochastic { seed }]) {
        // The exponent of a whole tensor is of no slice.
        if store == MasterStore::ScaledF16 {
            continue;
        }
        let of = |range: std::ops::Range<usize>| {
            let tensor = |values: &[f32], dtype| {
                Tensor::from_f32(values[range.clone()].to_vec(), &[range.len()], dtype).unwrap()
            };
            let mut params = vec![Named::new("w", tensor(&values, DType::BF16))];
            let config = OptimizerConfig::new(UpdateRule::sgd(0.37)).unwrap().with_store(store);
            let mut masters = Cpu.masters(&mut params, &config).unwrap();
            let first = u64::try_from(range.start).unwrap();
            Cpu.set_offsets(&mut masters, &[Named::new("w", first)]).unwrap();
            for _ in 0..2 {
                let grads = vec![Named::new("w", Some(tensor(&values, DType::F32)))];
                Cpu.step(&mut params, &mut masters, grads.into(), &FoundInf::default()).unwrap();
            }
            params[0].value.to_bits()
        };
        let whole = of(0..len);
        // Words come by four: slices begin at each of them.
        for start in [0, 1, 2, 3, 7, BLOCK - 1, len] {
            let slices = [of(0..start), of(start..len)];
            assert!(slices.concat() == whole, "{store:?}, cut at {start}");
        }
    }
}

#[test]
fn an_offset_of_no_parameter_is_refused_by_name() {
    let mut params = vec![Named::new("w", Tensor::new(vec![1.0_f32], &[1]).unwrap())];
    let config = OptimizerConfig::new(UpdateRule::sgd(0.5)).unwrap();
    let mut masters = Cpu.masters(&mut params, &config).unwrap();
    let before = masters.clone();
    let error = Cpu.set_offsets(&mut masters, &[Named::new("v", 3)]).unwrap_err();
    assert!(error.to_string().contains("`v`") && error.kind() == ErrorKind::Mismatch, "{error}");
    assert_eq!(masters, before);
}
