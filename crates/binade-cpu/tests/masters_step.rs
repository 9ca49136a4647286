//! Fused step, against the plain loop and the step on plain slices.

mod sets;

use binade_core::{DType, Finding, Named, Optimizer as _};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{GradOps, Norm};
use binade_master_weights::step::{Factor, Slices, step};
use binade_master_weights::{HostMasters, MasterOptimizer, MasterStore, Plan, StepConstants};
use sets::host::Host;
use sets::{
    BLOCK, LENGTHS, NATIVE, Part, Random, STORES, in_pools, name, native_params, native_unscaled,
    params, plan, rules, unscaled,
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

fn native_stored(params: &[Named<Host>]) -> Vec<Vec<u32>> {
    params.iter().map(|param| param.value.data.iter().map(|x| x.to_bits()).collect()).collect()
}

/// Trains on the CPU, unscaling and clipping lazily, and returns parameters and masters.
fn train(set: &[Part], steps: &[Vec<Part>], plan: &Plan) -> (Vec<Vec<u32>>, HostMasters) {
    let mut optimizer = MasterOptimizer::new(Cpu, params(set), plan.clone()).unwrap();
    for (i, grads) in (0..).zip(steps) {
        let (mut grads, mut found) = unscaled(grads, 4 - i);
        Cpu.clip_norm(&mut grads, Norm::L2, 1.0, &mut found).unwrap();
        optimizer.step(grads, &found).unwrap();
    }
    (stored(&optimizer.params), optimizer.masters().clone())
}

#[test]
fn steps_are_the_plain_loops_to_the_bit_on_any_number_of_threads() {
    for (seed, rule) in (0..).zip(rules().into_iter().cycle().take(15)) {
        let (drawn, steps) = random_run(seed);
        for store in STORES {
            let plan = plan(rule).with_store(store).with_lost_updates(seed % 2 == 0);
            let set = taken(store, &drawn);
            let mut native =
                MasterOptimizer::new(NATIVE, native_params(&set), plan.clone()).unwrap();
            for (i, grads) in (0..).zip(&steps) {
                let (mut grads, mut found) = native_unscaled(grads, 4 - i);
                NATIVE.clip_norm(&mut grads, Norm::L2, 1.0, &mut found).unwrap();
                native.step(grads, &found).unwrap();
            }
            for (values, masters) in in_pools(|| train(&set, &steps, &plan)) {
                assert!(values == native_stored(&native.params), "seed {seed}, {rule:?} {store:?}");
                assert!(&masters == native.masters(), "seed {seed}, {rule:?} {store:?}");
            }
        }
    }
}

#[test]
fn the_dispatched_step_is_the_plain_one_to_the_bit_for_every_length_and_type() {
    let factor = Factor { inverse: 0.25, clip: 0.3 };
    for (rule, len) in rules().into_iter().flat_map(|rule| LENGTHS.map(|len| (rule, len))) {
        let [at, to] = [1, 2].map(|seed| Random(seed).part(DType::F32, len).data);
        let grad: Vec<half::f16> = to.iter().map(|x| half::f16::from_f32(*x)).collect();
        let mut values = at.clone();
        let mut moments = [0, 1, 2].map(|i| vec![0.0; if i < rule.moments() { len } else { 0 }]);
        let part = Part { dtype: DType::F32, data: at };
        let mut optimizer = MasterOptimizer::new(Cpu, params(&[part]), plan(rule)).unwrap();
        for applied in 0..2 {
            let mut slices = Slices::<half::f16, f32>::new(&grad, &mut values);
            slices.moments = moments.each_mut().map(Vec::as_mut_slice);
            step(&StepConstants::at(&rule, applied), factor, slices).unwrap();
            let (mut grads, _) = unscaled(&[Part { dtype: DType::F16, data: to.clone() }], 2);
            clip_by_a_factor(&mut grads, &to, factor.clip);
            optimizer.step(grads, &Finding::default()).unwrap();
        }
        let bits: Vec<u32> = values.iter().map(|x| x.to_bits()).collect();
        assert!(stored(&optimizer.params) == [bits], "{rule:?}, {len} elements");
        assert!(optimizer.masters().get(&name(0)).unwrap().moments == moments, "{rule:?}, {len}");
    }
}

/// Clips by exactly `factor`: the limit is that factor of the largest of `data` unscaled by 4.
#[expect(clippy::cast_possible_truncation, reason = "a limit is f32")]
fn clip_by_a_factor(grads: &mut Gradients, data: &[f32], factor: f32) {
    let narrow = |x: &f32| f64::from(half::f16::from_f32(*x)).abs();
    let largest = data.iter().map(narrow).fold(0.0, f64::max) / 4.0;
    let max = (largest * f64::from(factor)) as f32;
    if largest > 0.0 {
        let mut found = Finding::default();
        Cpu.clip_norm(grads, Norm::Infinity, max, &mut found).unwrap();
    }
}

#[test]
fn masters_keep_the_bits_that_lowering_loses_and_what_is_kept_in_f32_has_none() {
    let exact = Random(6).part(DType::F32, 1000);
    for dtype in [DType::BF16, DType::F16] {
        let plan = plan(rules()[2]).with_storage(dtype).keep([name(1)]);
        let set = params(&[exact.clone(), exact.clone()]);
        let optimizer = MasterOptimizer::new(Cpu, set, plan).unwrap();
        let types = optimizer.params.iter().map(|param| param.value.dtype());
        assert_eq!(types.collect::<Vec<_>>(), [dtype, DType::F32]);
        let master = |i| optimizer.masters().get(&name(i)).unwrap().master.copy().cloned();
        assert_eq!((master(0), master(1)), (Some(exact.data.clone()), None));
    }
}

#[test]
fn many_small_tensors_are_stepped_like_one_large_one() {
    let small: Vec<Part> = (0..200).map(|i| Random(i).part(DType::F16, 1024)).collect();
    let large =
        Part { dtype: DType::F16, data: small.iter().flat_map(|p| p.data.clone()).collect() };
    assert!(large.data.len() > 8 * BLOCK, "enough for several threads");
    let plan = plan(rules()[4]);
    let whole = train(std::slice::from_ref(&large), &[vec![large.clone()]], &plan).0.concat();
    for parts in in_pools(|| train(&small, std::slice::from_ref(&small), &plan).0.concat()) {
        assert!(parts == whole);
    }
}

#[test]
fn a_parameter_widened_behind_the_optimizers_back_still_follows_its_master() {
    let half = Part { dtype: DType::F16, data: vec![1.0] };
    let mut optimizer = MasterOptimizer::new(Cpu, params(&[half]), plan(rules()[0])).unwrap();
    optimizer.params[0].value = optimizer.params[0].value.cast(DType::F32).unwrap();
    for _ in 0..2 {
        optimizer.step(sets::one(&[1e-5]), &Finding::default()).unwrap();
    }
    let master = optimizer.masters().get(&name(0)).unwrap().master.copy().cloned().expect("kept");
    assert_eq!(optimizer.params[0].value.as_slice(), Some(&master[..]));
    assert!(master[0] < 1.0);
}

#[test]
fn a_parameter_without_a_gradient_stays_and_its_steps_are_not_counted() {
    let part = Part { dtype: DType::BF16, data: vec![1.0] };
    let mut optimizer =
        MasterOptimizer::new(Cpu, params(&[part.clone(), part]), plan(rules()[3])).unwrap();
    let before = optimizer.params[1].value.stamp();
    let grads = vec![
        Named::new(name(1), None),
        Named::new(name(0), Some(Tensor::new(vec![1.0_f32], &[1]).unwrap())),
    ];
    optimizer.step(grads.into(), &Finding::default()).unwrap();
    let applied = [0, 1].map(|i| optimizer.masters().get(&name(i)).unwrap().applied);
    assert_eq!((applied, optimizer.params[1].value.stamp()), ([1, 0], before));
}
