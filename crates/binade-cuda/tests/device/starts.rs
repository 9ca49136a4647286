//! Starts and tails of tensors: no kernel's result depends on a tensor's offset in memory, and the last one to seven elements are
//! like the others. Each start meets each remainder of a group; if `BINADE_FULL` is set, also each length and step.

use crate::support::{Device, Grads, Result, STORES, cuda, noise, set, shifted, vector};
use binade_autocast::Autocast;
use binade_core::ops::Download;
use binade_core::{
    DType, GradSet as _, Named,
    cast::OnOverflow,
    stochastic::{self, Key},
};
use binade_cpu::Cpu;
use binade_cuda::Cuda;
use binade_grad_scaler::{
    BadMicroBatch, GradScaler, Loss, LossScale, ScaleState, ScaleStore, Scaler,
};
use binade_master_weights::{Adam, MasterWeights, OptimizerConfig, Sgd, UpdateRule};

crate::tests![
    scaled_losses_and_casts_are_the_cpus_from_every_start,
    steps_change_no_bit_with_the_start,
    a_windows_sum_changes_no_bit_with_the_start,
    overflows_are_found_at_every_start,
];

const TYPES: [DType; 5] = [DType::BF16, DType::F16, DType::F32, DType::E4M3, DType::E5M2];
const GRADIENTS: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Offsets in elements. 16-byte accesses begin at multiples of eight or four elements; the others lie between.
const STARTS: [usize; 4] = [0, 1, 4, 7];

/// Returns lengths of groups of eight with tails of 0 to 7, and of tails alone. Every third length has each remainder once.
fn tails() -> impl Iterator<Item = usize> + Clone {
    (1..=23).step_by(if is_full() { 1 } else { 3 })
}

fn is_full() -> bool {
    std::env::var_os("BINADE_FULL").is_some()
}

/// Returns values of all sizes that `dtype` holds, zeros, infinities and NaN among them.
fn values(dtype: DType, len: usize) -> Vec<f32> {
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-40, 3e-8, 448.0];
    let mut values = noise(len as u64, len);
    for (i, x) in values.iter_mut().enumerate() {
        let binade = i32::try_from(i * 7 % 60).unwrap() - 40;
        *x = if i % 5 == 3 { special[i / 5 % 8] } else { *x * 2.0_f32.powi(binade) };
    }
    Cpu.download(&vector(&Cpu, &values, dtype)).unwrap()
}

/// Returns the bits, the same for every NaN.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| if x.is_nan() { f32::NAN } else { *x }.to_bits()).collect()
}

/// Calls `check` for each of the types and every start, with every tail and a few hundred elements.
fn each(types: &[DType], mut check: impl FnMut(DType, usize, &[f32]) -> Result) -> Result {
    for &dtype in types {
        for (start, len) in
            STARTS.into_iter().flat_map(|s| tails().chain([333]).map(move |l| (s, l)))
        {
            check(dtype, start, &values(dtype, len))?;
        }
    }
    Ok(())
}

/// Stochastic casts look at indices, and not at addresses.
fn scaled_losses_and_casts_are_the_cpus_from_every_start() -> Result {
    let cuda = cuda();
    let state = ScaleState::from_exponent(11);
    let (scale, wanted) = (cuda.upload_state(state)?, Cpu.upload_state(state)?);
    let key = Key { seed: 7, parameter: 1, step: 3 };
    each(&TYPES, |dtype, start, values| {
        let (here, there) = (shifted(&cuda, values, dtype, start), vector(&Cpu, values, dtype));
        let (got, want) = (here.scaled(&cuda, &scale)?, there.scaled(&Cpu, &wanted)?);
        assert_eq!(bits(&cuda.download(&got)?), bits(&Cpu.download(&want)?), "{dtype} + {start}");
        for to in TYPES {
            let got = cuda.download(&cuda.cast(&here, to)?)?;
            let want = Cpu.download(&Cpu.cast(&there, to)?)?;
            assert_eq!(bits(&got), bits(&want), "{dtype} + {start} to {to}");
            let got = cuda.download(&cuda.cast_stochastic(&here, to, key)?)?;
            let round = |(i, x): (u64, &f32)| {
                stochastic::round(*x, to, stochastic::bits(key, i), OnOverflow::NonFinite)
            };
            let want: Vec<f32> = (0..).zip(values).filter_map(round).collect();
            assert_eq!(bits(&got), bits(&want), "{dtype} + {start} to {to}, stochastic");
        }
        Ok(())
    })
}

/// Returns rules that together reach every branch of the arithmetic.
fn rules() -> [UpdateRule; 4] {
    let sgd = Sgd { lr: 0.1, momentum: 0.9, dampening: 0.0, weight_decay: 0.01, nesterov: true };
    let adam = Adam {
        lr: 1e-2,
        betas: [0.4, 0.99],
        eps: 1e-8,
        weight_decay: 0.1,
        decoupled: false,
        amsgrad: true,
    };
    [UpdateRule::sgd(0.1), UpdateRule::Sgd(sgd), UpdateRule::adamw(1e-2), UpdateRule::Adam(adam)]
}

/// Returns parameter, unscaled gradient and finding after two steps on tensors that begin at `start`.
fn step(
    config: &OptimizerConfig,
    [param, grad]: [DType; 2],
    start: usize,
    len: usize,
) -> Result<(Vec<u8>, Vec<u8>, String)> {
    let cuda = cuda();
    let scale = cuda.upload_state(ScaleState::from_exponent(5))?;
    let mut params = vec![Named::new("w", shifted(&cuda, &noise(1, len), param, start))];
    let mut masters = cuda.masters(&mut params, config)?;
    let mut last = None;
    for number in 0..2 {
        let grad = shifted(&cuda, &noise(2 + number, len), grad, start);
        let mut grads = Grads::<Cuda>::from(vec![Named::new("w", Some(grad))]);
        let found = cuda.unscale(&mut grads, &scale)?;
        let values = cuda.materialise(grads.clone())?.remove(0).value.ok_or("missing")?;
        cuda.step(&mut params, &mut masters, grads, &found)?;
        last = Some((cuda.bits(&values), cuda.read(&[&found], &scale)?.0.remove(0)));
    }
    let (values, finding) = last.ok_or("no step")?;
    Ok((cuda.bits(&params[0].value), values, format!("{finding:?}")))
}

/// Each combination runs from one start after another in turn, or from all of them.
fn steps_change_no_bit_with_the_start() -> Result {
    let mut turn = STARTS[1..].iter().cycle();
    for (rule, store) in rules().into_iter().flat_map(|rule| STORES.map(|store| (rule, store))) {
        let config = OptimizerConfig::new(rule)?.with_store(store);
        let params = GRADIENTS.into_iter().filter(|dtype| store.takes(*dtype));
        for dtypes in params.flat_map(|p| GRADIENTS.map(|g| [p, g])) {
            for len in [5, 2051] {
                let want = step(&config, dtypes, 0, len)?;
                let count = if is_full() { STARTS.len() - 1 } else { 1 };
                for start in turn.by_ref().take(count) {
                    let got = step(&config, dtypes, *start, len)?;
                    assert_eq!(got, want, "{rule:?} {store:?} {dtypes:?} + {start}");
                }
            }
        }
    }
    Ok(())
}

/// Returns a window's sum of three micro-batches that begin at `start`, the second of which has an infinity.
fn sum(dtype: DType, start: usize, len: usize) -> Result<Vec<Vec<u8>>> {
    let cuda = cuda();
    let scaler = Scaler::new(cuda.clone(), LossScale::dynamic())?;
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for number in 0..3 {
        let mut values = noise(number, len);
        values[len / 2] += if number == 1 { f32::INFINITY } else { 0.0 };
        let entry = Named::new("w", Some(shifted(&cuda, &values, dtype, start)));
        window.add(scaler.check_unscaled(vec![entry].into())?)?;
    }
    let sum = window.finish()?.ok_or("an empty window")?;
    let values = cuda.materialise(sum.grads().clone())?;
    Ok(values.iter().filter_map(|entry| entry.value.as_ref()).map(|t| cuda.bits(t)).collect())
}

fn a_windows_sum_changes_no_bit_with_the_start() -> Result {
    for (dtype, len) in
        GRADIENTS.into_iter().flat_map(|d| tails().chain([2051]).map(move |l| (d, l)))
    {
        let want = sum(dtype, 0, len)?;
        for start in &STARTS[1..] {
            assert_eq!(sum(dtype, *start, len)?, want, "{dtype} + {start}, {len}");
        }
    }
    Ok(())
}

fn overflows_are_found_at_every_start() -> Result {
    let cuda = cuda();
    let state = ScaleState::from_exponent(5);
    let (here, there) = (cuda.upload_state(state)?, Cpu.upload_state(state)?);
    each(&GRADIENTS, |dtype, start, values| {
        let mut grads: Grads<Cuda> =
            vec![Named::new("w", Some(shifted(&cuda, values, dtype, start)))].into();
        let found = cuda.unscale(&mut grads, &here)?;
        let mut wanted = set(&Cpu, &[("w", Some(values.to_vec()))], dtype);
        let want = Cpu.unscale(&mut wanted, &there)?;
        let got = cuda.read(&[&found], &here)?.0;
        let want = Cpu.read(&[&want], &there)?.0;
        assert_eq!(format!("{got:?}"), format!("{want:?}"), "{dtype} + {start}");
        Ok(())
    })
}
