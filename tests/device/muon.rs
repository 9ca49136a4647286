//! Muon, made of operations: the CPU's momentum to the bit, its weights nearly, and nothing read.

use crate::support::{Device, Result, gpu, noise, own, told};
use binade::Muon;
use binade_autocast::{Autocast, Region};
use binade_core::ops::{Download, Upload};
use binade_core::{DType, Error, ErrorKind, MultiTensor, Named, Optimizer};
use binade_cpu::Cpu;
use binade_grad_scaler::ScaleState;
use binade_master_weights::{Fp16Optimizer, MasterSet, MasterStep};

crate::tests![
    steps_are_near_those_of_the_cpu_and_read_nothing,
    a_step_that_overflows_leaves_momentum_masters_and_parameters,
    a_run_that_is_loaded_goes_on_with_the_same_bits,
    a_vector_is_refused_by_name_and_shape,
];

const SHAPES: [(&str, [usize; 2]); 3] = [("wide", [5, 9]), ("tall", [12, 7]), ("square", [8, 8])];
const LR: f32 = 0.125;

/// Returns a matrix of noise for each shape, the last element of the first being `last`.
fn matrices<D: Device>(device: &D, seed: u64, last: f32) -> Vec<Named<D::Tensor>> {
    let one = |(place, (name, shape)): (u64, (&'static str, [usize; 2]))| {
        let mut values = noise(seed + place, shape[0] * shape[1]);
        let end = values.len() - 1;
        values[end] = if place == 0 { last } else { values[end] };
        Named::new(name, device.upload(&values, &shape, DType::F32).unwrap())
    };
    (0..).zip(SHAPES).map(one).collect()
}

/// Returns an optimizer in bf16 of the same parameters on each device.
#[expect(clippy::type_complexity, reason = "a closure has no name")]
fn begun<D: Device<Tensor: Clone> + MultiTensor + Autocast>(
    device: &D,
    region: &Region,
) -> Result<
    Fp16Optimizer<
        D,
        impl FnMut(MasterStep<'_, D::Tensor>) -> Result<MasterSet<D::Tensor>, D::Error> + use<D>,
    >,
> {
    let muon = Muon { lr: LR.into(), ..Muon::default() };
    let params = matrices(device, 1, 0.5);
    let state = muon.state(device, &params).map_err(told)?;
    let (on, region) = (device.clone(), region.clone());
    let rule = move |step: MasterStep<'_, D::Tensor>| muon.step(&region.open(&on), step);
    let optimizer = Fp16Optimizer::new(device.clone(), params, DType::BF16, rule).map_err(told)?;
    Ok(optimizer.with_state(&state).map_err(told)?)
}

/// Steps by gradients of this seed, made at a scale of 2^10, which overflow where `last` is not finite.
fn step<D: Device<Tensor: Clone> + MultiTensor>(
    device: &D,
    optimizer: &mut impl Optimizer<D::Grads, D::Found, Error = D::Error>,
    (seed, last): (u64, f32),
) -> Result {
    let present = |grad: Named<D::Tensor>| Named::new(grad.name, Some(grad.value));
    let grads = matrices(device, seed, last).into_iter().map(present);
    let mut grads: D::Grads = grads.collect::<Vec<_>>().into();
    let scale = device.upload_state(ScaleState::from_exponent(10)).map_err(told)?;
    let found = device.unscale(&mut grads, &scale).map_err(told)?;
    Ok(optimizer.step(grads, &found).map_err(told)?)
}

fn all_bits<D: Device>(device: &D, sets: &[&[Named<D::Tensor>]]) -> Vec<Vec<u8>> {
    sets.iter().flat_map(|set| set.iter()).map(|tensor| device.bits(&tensor.value)).collect()
}

/// A direction's elements are below 1.2, torch's factor of `tall` below 1.4.
fn steps_are_near_those_of_the_cpu_and_read_nothing() -> Result {
    for (region, bound) in [(Region::bf16().off(), 2e-5), (Region::bf16(), 5e-2)] {
        let gpu = own();
        let (mut here, mut there) = (begun(&Cpu, &region)?, begun(&gpu, &region)?);
        let before = gpu.counters().syncs;
        for number in 0..5 {
            let last = if number == 2 { f32::NAN } else { 0.5 };
            step(&gpu, &mut there, (20 + number, last))?;
            step(&Cpu, &mut here, (20 + number, last))?;
        }
        assert_eq!(gpu.counters().syncs, before);
        assert_eq!(all_bits(&gpu, &[there.state()]), all_bits(&Cpu, &[here.state()]));
        for (got, want) in there.masters().iter().zip(here.masters()) {
            let (got, want) = (gpu.download(&got.value)?, Cpu.download(&want.value)?);
            for (got, want) in got.iter().zip(&want) {
                assert!((got - want).abs() <= 4.0 * LR * bound, "{got}, {want}: {region:?}");
            }
        }
        assert_ne!(
            all_bits(&gpu, &[&there.params]),
            all_bits(&gpu, &[&begun(&gpu, &region)?.params])
        );
    }
    Ok(())
}

fn a_step_that_overflows_leaves_momentum_masters_and_parameters() -> Result {
    let gpu = gpu();
    let mut run = begun(&gpu, &Region::bf16())?;
    let mut seen = Vec::new();
    for (seed, last) in [(10, 0.5), (20, f32::INFINITY), (30, f32::NAN), (40, 0.5)] {
        step(&gpu, &mut run, (seed, last))?;
        seen.push(all_bits(&gpu, &[run.masters(), run.state(), &run.params]));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
    assert!(seen[2].iter().zip(&seen[3]).all(|(before, after)| before != after));
    Ok(())
}

fn a_run_that_is_loaded_goes_on_with_the_same_bits() -> Result {
    let (gpu, region) = (gpu(), Region::bf16());
    let (mut run, mut resumed) = (begun(&gpu, &region)?, begun(&gpu, &region)?);
    step(&gpu, &mut run, (10, 0.5))?;
    resumed.load(&run.save()?)?;
    for seed in [20, 30, 40] {
        step(&gpu, &mut run, (seed, 0.5))?;
        step(&gpu, &mut resumed, (seed, 0.5))?;
    }
    let resumed = all_bits(&gpu, &[resumed.masters(), resumed.state(), &resumed.params]);
    assert_eq!(all_bits(&gpu, &[run.masters(), run.state(), &run.params]), resumed);
    Ok(())
}

fn a_vector_is_refused_by_name_and_shape() -> Result {
    let gpu = gpu();
    let params = [Named::new("bias", gpu.upload(&[1.0; 3], &[3], DType::F32)?)];
    let error = Muon::default().state(&gpu, &params).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().starts_with("`bias` has the shape [3]"), "{error}");
    Ok(())
}
