//! Masters for an update rule of the user's own: the CPU's bits, and nothing read.

use crate::support::{Device, Result, coarse, exact, gpu, own, set, vector};
use binade_core::{DType, Handle, MultiTensor, Named, Optimizer};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, Scaler, StepOutcome};
use binade_master_weights::{
    Fp16Optimizer, MasterOptimizer, MasterSet, MasterStep, OptimizerConfig, Sgd, UpdateRule,
};

crate::tests![
    sgd_by_operations_on_sets_is_the_fused_sgd_bit_for_bit_and_reads_nothing,
    a_step_that_overflows_leaves_masters_state_and_parameters,
    masters_and_state_are_saved_and_loaded_to_the_bit,
];

const NAMES: [(&str, usize); 3] = [("weight", 261), ("bias", 37), ("norm", 23)];

type Tensors<D> = Vec<Named<<D as Handle>::Tensor>>;

fn params<D: Device>(device: &D, seed: u64, dtype: DType) -> Tensors<D> {
    let one = |(name, len)| Named::new(name, vector(device, &coarse(seed, len), dtype));
    NAMES.map(one).into()
}

/// Steps by torch's SGD with the numbers of [`exact`], undamped, on sets: decay, momentum, rate.
fn sgd<D: Device<Tensor: Clone> + MultiTensor>(
    device: &D,
) -> impl FnMut(MasterStep<'_, D::Tensor>) -> std::result::Result<MasterSet<D::Tensor>, D::Error> {
    let device = device.clone();
    move |step| {
        let (decayed, _) = device.axpby((1.0, &step.present()), (0.25, step.masters))?;
        let (momentum, _) = device.axpby((0.5, step.state), (1.0, &decayed))?;
        let (masters, _) = device.axpby((1.0, step.masters), (-0.5, &momentum))?;
        Ok(MasterSet { masters, state: momentum })
    }
}

/// Returns an optimizer of these parameters, with a momentum of zeros.
#[expect(clippy::type_complexity, reason = "a closure has no name")]
fn begun<D: Device<Tensor: Clone> + MultiTensor>(
    device: &D,
) -> Result<
    Fp16Optimizer<
        D,
        impl FnMut(MasterStep<'_, D::Tensor>) -> std::result::Result<MasterSet<D::Tensor>, D::Error>,
    >,
    D::Error,
> {
    let zeros: Vec<_> = NAMES
        .map(|(name, len)| Named::new(name, vector(device, &vec![0.0; len], DType::F32)))
        .into();
    Fp16Optimizer::new(device.clone(), params(device, 1, DType::F32), DType::F16, sgd(device))?
        .keep_f32(["norm"])?
        .with_state(&zeros)
}

fn grads<D: Device>(device: &D, seed: u64, last: f32) -> D::Grads {
    let one = |(name, len): (&'static str, usize)| {
        let mut values: Vec<f32> = coarse(seed, len).into_iter().map(|x| x * 1024.0).collect();
        values[len - 1] = last * 1024.0;
        (name, Some(values))
    };
    set(device, &NAMES.map(one), DType::F32)
}

fn all_bits<D: Device>(device: &D, sets: [&[Named<D::Tensor>]; 3]) -> Vec<Vec<u8>> {
    sets.iter().flat_map(|set| set.iter()).map(|tensor| device.bits(&tensor.value)).collect()
}

/// Steps by gradients of this seed, which overflow where `last` is not finite.
fn step<D: Device>(
    scaler: &mut Scaler<D>,
    optimizer: &mut impl Optimizer<D::Grads, D::Found, Error = D::Error>,
    (seed, last): (u64, f32),
) -> Result<StepOutcome<D>, D::Error> {
    let device = scaler.device().clone();
    let loss = vector(&device, &[1.0], DType::F32);
    let grads = scaler.scale(&loss)?.backward(|_| Ok(grads(&device, seed, last)))?;
    let step = grads.unscale()?.clip_norm(1e6)?.step(optimizer)?;
    scaler.update(step)
}

fn sgd_by_operations_on_sets_is_the_fused_sgd_bit_for_bit_and_reads_nothing() -> Result {
    let (gpu, rule) = (own(), LossScale::fixed(1024.0)?);
    let mut mine = begun(&gpu)?;
    let config = OptimizerConfig::new(UpdateRule::Sgd(Sgd { dampening: 0.0, ..exact() }))?;
    let config = config.with_storage(DType::F16).keep(["norm"]);
    let mut fused = MasterOptimizer::new(Cpu, params(&Cpu, 1, DType::F32), config)?;
    let (mut scaler, mut beside) = (Scaler::new(gpu.clone(), rule)?, Scaler::new(Cpu, rule)?);
    let before = gpu.counters();
    for seed in 0..6 {
        let last = if seed == 3 { f32::INFINITY } else { 0.5 };
        step(&mut scaler, &mut mine, (seed, last))?.ignore();
        step(&mut beside, &mut fused, (seed, last))?.ignore();
    }
    assert_eq!(gpu.counters().syncs, before.syncs);
    for (mine, fused) in mine.params.iter().zip(&fused.params) {
        assert_eq!(gpu.bits(&mine.value), Cpu.bits(&fused.value), "{}", fused.name);
    }
    Ok(())
}

fn a_step_that_overflows_leaves_masters_state_and_parameters() -> Result {
    let gpu = gpu();
    let mut run = begun(&gpu)?;
    let mut scaler = Scaler::new(gpu.clone(), LossScale::fixed(1024.0)?)?;
    let mut seen = Vec::new();
    for (seed, last) in [(1, 0.5), (2, f32::INFINITY), (3, f32::NAN), (4, 0.5)] {
        let outcome = step(&mut scaler, &mut run, (seed, last))?.resolve()?;
        assert_eq!(outcome.is_applied(), last.is_finite());
        seen.push(all_bits(&gpu, [run.masters(), run.state(), &run.params]));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
    assert_ne!(seen[2], seen[3]);
    Ok(())
}

fn masters_and_state_are_saved_and_loaded_to_the_bit() -> Result {
    let gpu = gpu();
    let mut run = begun(&gpu)?;
    let found = gpu.scale_all(1.0, &params(&gpu, 1, DType::F32))?.1;
    run.step(grads(&gpu, 1, 0.5), &found)?;
    let saved = run.save()?;
    let mut resumed = begun(&gpu)?;
    resumed.load(&saved)?;
    for seed in 2..5 {
        run.step(grads(&gpu, seed, 0.5), &found)?;
        resumed.step(grads(&gpu, seed, 0.5), &found)?;
    }
    let resumed = all_bits(&gpu, [resumed.masters(), resumed.state(), &resumed.params]);
    assert_eq!(all_bits(&gpu, [run.masters(), run.state(), &run.params]), resumed);
    Ok(())
}
