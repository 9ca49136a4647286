//! What a checkpoint takes out of the device and puts back, against a run that was not interrupted.

use crate::support::{Result, cuda, noise, set, vector};
use binade_core::{DType, Finding, Named, Overflow};
use binade_cpu::Cpu;
use binade_cuda::Cuda;
use binade_grad_scaler::{Accumulation, BadMicroBatch, LossScale, ScaleStore, Scaler};
use binade_grad_scaler::{Norm, ScaleState};
use binade_master_weights::{Adam, MasterOptimizer, Plan, SavedParameter, Sgd, UpdateRule};

crate::tests![
    a_run_resumed_at_any_micro_batch_is_the_one_that_was_not_interrupted,
    a_snapshot_of_the_device_is_the_cpus,
    a_finding_comes_back_as_it_was,
    a_snapshot_that_does_not_fit_changes_nothing,
];

const LENGTHS: [(&str, usize); 3] = [("a", 300), ("b", 5), ("c", 0)];
const WINDOW: usize = 3;

struct Run {
    scaler: Scaler<Cuda>,
    optimizer: MasterOptimizer<Cuda>,
    window: Option<Accumulation<Cuda>>,
    said: String,
}

fn rules() -> [UpdateRule; 3] {
    let momentum =
        Sgd { lr: 0.1, momentum: 0.9, dampening: 0.0, weight_decay: 0.0, nesterov: true };
    let amsgrad = Adam {
        lr: 0.01,
        betas: [0.9, 0.99],
        eps: 1e-8,
        weight_decay: 0.1,
        decoupled: true,
        amsgrad: true,
    };
    [UpdateRule::sgd(0.1), UpdateRule::Sgd(momentum), UpdateRule::Adam(amsgrad)]
}

fn start(rule: UpdateRule) -> Result<Run> {
    let device = cuda();
    let params =
        LENGTHS.map(|(name, len)| Named::new(name, vector(&device, &noise(7, len), DType::F32)));
    let plan = Plan::new(rule)?.with_storage(DType::F16).keep(["b"]);
    let optimizer = MasterOptimizer::new(device.clone(), params.into(), plan)?;
    let rule = LossScale::dynamic().with_growth_interval(2)?;
    Ok(Run { scaler: Scaler::new(device, rule)?, optimizer, window: None, said: String::new() })
}

impl Run {
    /// Micro-batches of these numbers: every fifth is bad, every other has no gradient of `b`.
    fn run(&mut self, numbers: std::ops::Range<usize>) -> Result {
        let device = cuda();
        for number in numbers {
            let mut first = noise(number as u64, 300);
            if number.is_multiple_of(5) {
                first[299] = f32::INFINITY;
            }
            let second = (number % 2 == 1).then(|| noise(99, 5));
            let batch = [("a", Some(first)), ("b", second), ("c", None)];
            let loss = vector(&device, &[1.0], DType::F32);
            let grads = self.scaler.scale(&loss)?;
            let grads = grads.backward(|_| Ok(set(&device, &batch, DType::F16)))?.unscale()?;
            let opened = self.window.take();
            let mut window = opened.unwrap_or_else(|| self.scaler.accumulate(BadMicroBatch::Drop));
            window.add(grads)?;
            if (number + 1).is_multiple_of(WINDOW) {
                let sum = window.finish()?.ok_or("an empty window")?.clip_norm(0.25)?;
                let step = sum.step(&mut self.optimizer)?;
                self.said = format!("{:?}", self.scaler.update(step)?.resolve()?);
            } else {
                self.window = Some(window);
            }
        }
        Ok(())
    }

    /// The same run in new hands.
    fn resumed(&self, rule: UpdateRule) -> Result<Self> {
        let mut run = start(rule)?;
        run.scaler.set_state(self.scaler.state()?)?;
        run.optimizer.load(&self.optimizer.save()?)?;
        let window = self.window.as_ref().map(Accumulation::save).transpose()?;
        let reopen = |saved| run.scaler.reopen(&run.optimizer.params, saved);
        run.window = window.as_ref().map(reopen).transpose()?;
        Ok(run)
    }

    fn end(&self) -> Result<(Vec<SavedParameter>, ScaleState, String)> {
        Ok((self.optimizer.save()?, self.scaler.state()?, self.said.clone()))
    }
}

fn a_run_resumed_at_any_micro_batch_is_the_one_that_was_not_interrupted() -> Result {
    for rule in rules() {
        let mut whole = start(rule)?;
        whole.run(0..12)?;
        for stop in 0..11 {
            let mut before = start(rule)?;
            before.run(0..stop)?;
            let mut after = before.resumed(rule)?;
            after.run(stop..12)?;
            assert_eq!(after.end()?, whole.end()?, "{rule:?} at {stop}");
        }
    }
    Ok(())
}

fn a_snapshot_of_the_device_is_the_cpus() -> Result {
    let plan = Plan::new(UpdateRule::adamw(0.1))?.with_storage(DType::BF16).keep(["b"]);
    let params = |name: &str| LENGTHS.iter().find(|row| row.0 == name).map_or(0, |row| row.1);
    let names = LENGTHS.map(|(name, _)| name);
    let cpu = names.map(|name| Named::new(name, vector(&Cpu, &noise(3, params(name)), DType::F32)));
    let gpu =
        names.map(|name| Named::new(name, vector(&cuda(), &noise(3, params(name)), DType::F32)));
    let cpu = MasterOptimizer::new(Cpu, cpu.into(), plan.clone())?;
    let gpu = MasterOptimizer::new(cuda(), gpu.into(), plan)?;
    assert_eq!(gpu.save()?, cpu.save()?);
    Ok(())
}

fn a_finding_comes_back_as_it_was() -> Result {
    let device = cuda();
    let scale = device.upload_state(ScaleState::from_exponent(0))?;
    let overflow = |parameter: &str| Overflow {
        parameter: parameter.into(),
        index: 7,
        scaled: f32::NEG_INFINITY,
        unscaled: -0.0,
    };
    let full = Finding {
        overflow: Some(overflow("someone new")),
        infinities: 3,
        nans: 1 << 40,
        magnitude: 0.1,
        norm: Some(f32::INFINITY),
        halted: true,
        missing: vec!["b".into(), "c".into()],
    };
    let of_the_norm = Finding { overflow: Some(overflow(Norm::NAME)), ..Finding::default() };
    for found in [Finding::default(), full, of_the_norm] {
        let uploaded = device.upload_found(&found)?;
        let (back, _) = device.read(&[&uploaded], &scale)?;
        assert_eq!(format!("{back:?}"), format!("[{found:?}]"));
    }
    Ok(())
}

fn a_snapshot_that_does_not_fit_changes_nothing() -> Result {
    let mut run = start(UpdateRule::adamw(0.1))?;
    let other = start(UpdateRule::sgd(0.1))?;
    let before = run.optimizer.save()?;
    let error = run.optimizer.load(&other.optimizer.save()?).err().ok_or("it was loaded")?;
    let expected = "the moment0 of `a`: found none, expected f32 [300]; ";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert_eq!(run.optimizer.save()?, before);
    Ok(())
}
