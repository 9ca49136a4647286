//! Whole training steps, against the CPU bit by bit.

use crate::support::{Device, Grads, Result, noise, optimizer, own, vector};
use binade_core::{DType, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{OptimizerConfig, UpdateRule};

crate::tests![a_hundred_steps_with_overflows_at_random_are_the_cpus_bit_for_bit];

const NAMES: [&str; 3] = ["weight", "bias", "norm"];
const LENGTHS: [usize; 3] = [5000, 7, 33];

/// Result of a run: the parameters' bits, and each step's outcome.
#[derive(Debug, PartialEq)]
struct Trace {
    params: Vec<Vec<u8>>,
    said: Vec<String>,
}

/// Gradients of step `number`, one element of which is infinite or NaN in one step of seven or so.
fn grads<D: Device>(device: &D, number: u64, dtype: DType) -> Grads<D> {
    let mut random = fastrand::Rng::with_seed(number);
    let spoilt = (random.u32(..7) == 0).then(|| random.usize(..3));
    let bad = if random.bool() { f32::NAN } else { f32::NEG_INFINITY };
    let one = |(place, name): (usize, &&str)| {
        let mut values = noise(1000 * number + place as u64, LENGTHS[place]);
        for x in &mut values {
            *x *= 300.0;
        }
        if spoilt == Some(place) {
            let at = random.usize(..values.len());
            values[at] = bad;
        }
        Named::new(*name, Some(vector(device, &values, dtype)))
    };
    NAMES.iter().enumerate().map(one).collect::<Vec<_>>().into()
}

/// Trains for a hundred steps of f16, clipped by norm.
fn train<D: Device>(device: &D) -> Result<Trace> {
    let mut scaler = Scaler::new(device.clone(), LossScale::dynamic().with_growth_interval(3)?)?;
    let start: Vec<_> = NAMES.into_iter().zip(LENGTHS.map(|len| noise(len as u64, len))).collect();
    let config = OptimizerConfig::new(UpdateRule::adamw(1e-2))?;
    let mut optimizer = optimizer(device, &start, DType::F16, config);
    let loss = vector(device, &[1.0], DType::F32);
    let mut said = Vec::new();
    for number in 0..100 {
        let grads = scaler.scale(&loss)?.backward(|_| Ok(grads(device, number, DType::F16)))?;
        let step = grads.unscale()?.clip_norm(0.5)?.step(&mut optimizer)?;
        said.push(format!("{:?}", scaler.update(step)?.resolve()?));
    }
    let params = optimizer.params.iter().map(|param| device.bits(&param.value)).collect();
    Ok(Trace { params, said })
}

fn a_hundred_steps_with_overflows_at_random_are_the_cpus_bit_for_bit() -> Result {
    let want = train(&Cpu)?;
    let skipped = want.said.iter().filter(|said| said.starts_with("Skipped")).count();
    assert!((5..50).contains(&skipped), "{skipped} of 100 skipped");
    let cuda = own();
    let before = cuda.counters();
    let got = train(&cuda)?;
    for (step, (got, want)) in got.said.iter().zip(&want.said).enumerate() {
        assert_eq!(got, want, "step {step}");
    }
    assert_eq!(got, want);
    // One wait for each outcome that was read, and one for each parameter that was compared.
    assert_eq!(cuda.counters().syncs - before.syncs, 100 + NAMES.len() as u64);
    Ok(())
}
