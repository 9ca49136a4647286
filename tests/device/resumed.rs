//! Runs that stop within a window and go on from what was saved, against one that was not interrupted.

use crate::support::{Gpu, Result, gpu, noise, set, vector};
use binade_core::{DType, FoundInf, MergeRule, Named, Overflow};
use binade_grad_scaler::ScaleState;
use binade_grad_scaler::{Accumulation, BadMicroBatch, LossScale, ScaleStore, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, SavedParameter, UpdateRule};

crate::tests![
    a_run_resumed_at_any_micro_batch_is_the_one_that_was_not_interrupted,
    a_finding_comes_back_as_it_was,
];

const LENGTHS: [(&str, usize); 3] = [("a", 300), ("b", 5), ("c", 0)];
const WINDOW: usize = 3;

struct Run {
    scaler: Scaler<Gpu>,
    optimizer: MasterOptimizer<Gpu>,
    window: Option<Accumulation<Gpu>>,
    said: String,
}

fn start(rule: UpdateRule) -> Result<Run> {
    let device = gpu();
    let params =
        LENGTHS.map(|(name, len)| Named::new(name, vector(&device, &noise(7, len), DType::F32)));
    let config = OptimizerConfig::new(rule)?.with_storage(DType::F16).keep(["b"]);
    let optimizer = MasterOptimizer::new(device.clone(), params.into(), config)?;
    let rule = LossScale::dynamic().with_growth_interval(2)?;
    Ok(Run { scaler: Scaler::new(device, rule)?, optimizer, window: None, said: String::new() })
}

impl Run {
    /// Runs micro-batches of these numbers: every fifth is bad, every other has no gradient of `b`.
    fn run(&mut self, numbers: std::ops::Range<usize>) -> Result {
        let device = gpu();
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

    /// A run of new handles, loaded with what this one saves.
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
    for rule in [UpdateRule::sgd(0.1), UpdateRule::adamw(0.1)] {
        let mut whole = start(rule)?;
        whole.run(0..12)?;
        for stop in [0, 1, 2, 4, 6, 8, 10] {
            let mut before = start(rule)?;
            before.run(0..stop)?;
            let mut after = before.resumed(rule)?;
            after.run(stop..12)?;
            assert_eq!(after.end()?, whole.end()?, "{rule:?} at {stop}");
        }
    }
    Ok(())
}

fn a_finding_comes_back_as_it_was() -> Result {
    let device = gpu();
    let scale = device.upload_state(ScaleState::from_exponent(0))?;
    let overflow = |parameter: &str| Overflow {
        parameter: parameter.into(),
        index: 7,
        rank: Some(0),
        scaled: f32::NEG_INFINITY,
        unscaled: -0.0,
    };
    let full = FoundInf {
        overflow: Some(overflow("someone new")),
        infinities: 3,
        nans: (1 << 40) + u64::from(u32::MAX),
        magnitude: 0.1,
        norm: Some(f32::INFINITY),
        halted: true,
        missing: vec!["b".into(), "c".into()],
    };
    let of_the_norm = FoundInf { overflow: Some(overflow(FoundInf::NORM)), ..FoundInf::default() };
    let (mut joined, mut wanted) = (device.upload_found(&full)?, full.clone());
    device.merge(&mut joined, &device.upload_found(&full)?, MergeRule::All)?;
    wanted.merge(&full, MergeRule::All);
    let (joined, _) = device.read(&[&joined], &scale)?;
    assert_eq!(
        format!("{joined:?}"),
        format!("[{wanted:?}]"),
        "counts of more than 32 bits add up"
    );
    for first in [&of_the_norm, &FoundInf::default()] {
        let (mut joined, mut wanted) = (device.upload_found(first)?, first.clone());
        device.merge(&mut joined, &device.upload_found(&full)?, MergeRule::Any)?;
        wanted.merge(&full, MergeRule::Any);
        let (joined, _) = device.read(&[&joined], &scale)?;
        assert_eq!(format!("{:?}", joined[0].overflow), format!("{:?}", wanted.overflow));
    }
    for found in [FoundInf::default(), full, of_the_norm] {
        let uploaded = device.upload_found(&found)?;
        let (back, _) = device.read(&[&uploaded], &scale)?;
        assert_eq!(format!("{back:?}"), format!("[{found:?}]"));
    }
    Ok(())
}
