//! Sums that are unscaled once, and runs that follow a recording, against the CPU.

use crate::support::{Device, Grads, Result, cuda, noise, own, set, vector};
use binade_core::{DType, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, ReplayScales, Scaler, StepOutcome, Trajectory};
use binade_master_weights::{MasterOptimizer, Plan, UpdateRule};

crate::tests![
    a_sum_that_is_unscaled_once_is_the_cpus_bit_for_bit,
    a_run_led_by_the_cpus_recording_ends_at_its_bits_and_waits_for_nothing,
];

/// A model of one parameter, which trains on `device`.
struct Run<D: Device> {
    device: D,
    scaler: Scaler<D>,
    optimizer: MasterOptimizer<D>,
}

const LEN: usize = 300;

impl<D: Device> Run<D> {
    fn new(device: &D) -> Result<Self> {
        let params = vec![Named::new("w", vector(device, &noise(7, LEN), DType::F16))];
        let plan = Plan::new(UpdateRule::adamw(1e-2))?;
        let rule = LossScale::dynamic().with_growth_interval(2)?;
        Ok(Self {
            device: device.clone(),
            scaler: Scaler::new(device.clone(), rule)?,
            optimizer: MasterOptimizer::new(device.clone(), params, plan)?,
        })
    }

    /// Gradients of a loss under whatever scale: as they are scaled, since no backward pass is run.
    fn grads(device: &D, number: u64, bad: bool) -> Grads<D> {
        let mut values = noise(number, LEN);
        if bad {
            values[LEN - 1] = f32::NAN;
        }
        set(device, &[("w", Some(values))], DType::F16)
    }

    fn step(&mut self, number: u64, bad: bool) -> Result<StepOutcome<D>> {
        let loss = self.scaler.scale(&vector(&self.device, &[1.0], DType::F32))?;
        let grads = loss.backward(|_| Ok(Self::grads(&self.device, number, bad)))?;
        let step = grads.unscale()?.step(&mut self.optimizer)?;
        Ok(self.scaler.update(step)?)
    }

    fn bits(&self) -> Vec<u8> {
        self.device.bits(&self.optimizer.params[0].value)
    }
}

/// The parameter after windows of each pattern of good and bad passes, and what each said.
fn summed<D: Device>(device: &D) -> Result<(Vec<u8>, Vec<String>)> {
    let mut run = Run::new(device)?;
    let (loss, mut said) = (vector(device, &[1.0], DType::F32), Vec::new());
    for pattern in 0..4_u64 {
        let mut sum = run.scaler.sum_scaled();
        for number in 0..2 {
            let bad = pattern >> number & 1 == 1;
            sum.backward(&loss, |_| Ok(Run::grads(device, 10 * pattern + number, bad)))?;
        }
        let grads = sum.unscale()?.ok_or("an empty sum")?;
        let step = grads.clip_norm(1e-4)?.step(&mut run.optimizer)?;
        said.push(format!("{:?}", run.scaler.update(step)?.resolve()?));
    }
    Ok((run.bits(), said))
}

fn a_sum_that_is_unscaled_once_is_the_cpus_bit_for_bit() -> Result {
    let (want, wanted) = summed(&Cpu)?;
    let (got, said) = summed(&cuda())?;
    assert_eq!(said, wanted);
    assert_eq!(got, want);
    Ok(())
}

fn a_run_led_by_the_cpus_recording_ends_at_its_bits_and_waits_for_nothing() -> Result {
    let mut first = Run::new(&Cpu)?;
    let mut trajectory = Trajectory::new(first.scaler.state()?);
    for number in 0..6 {
        trajectory.record(&first.step(number, number % 3 == 1)?.resolve()?)?;
    }
    let cuda = own();
    let (mut second, mut follow) = (Run::new(&cuda)?, ReplayScales::new(trajectory));
    let (before, mut outcomes) = (cuda.ledger().syncs, Vec::new());
    for number in 0..6 {
        follow.begin_step(&mut second.scaler)?;
        outcomes.push(second.step(number, false)?);
    }
    assert_eq!(cuda.ledger().syncs, before);
    for outcome in outcomes {
        drop(follow.check(outcome.resolve()?)?);
    }
    assert_eq!(second.bits(), first.bits());
    Ok(())
}
