//! Training with Binade: operands cast by a region, a scaled loss, weights of sixteen bits with `f32` masters.

use crate::mlp::{self, Device};
use crate::{BATCH, LR, Result, Row, digits::Digits, tensor::Mine};
use binade::prelude::*;
use binade_checkpoint::{Checkpoint, Draft};

/// Run between two epochs.
#[derive(Debug)]
pub struct Run {
    region: Region,
    scaler: Scaler<Device>,
    optimizer: MasterOptimizer<Device>,
    epoch: u64,
    /// Mean loss of the epoch before.
    loss: f32,
    /// Outcome of the last step, which a checkpoint begins with.
    last: Option<Step>,
}

impl Run {
    /// Creates a run with nothing trained yet: f16 under a dynamic scale, bf16 and f32 under none.
    ///
    /// # Errors
    ///
    /// If `dtype` is no type to train in.
    pub fn start(dtype: DType) -> Result<Self> {
        // The scale grows often, so that a short run sees it move.
        let dynamic = LossScale::dynamic().with_growth_interval(40)?;
        let rule = if dtype == DType::F16 { dynamic } else { LossScale::none() };
        let config = OptimizerConfig::new(UpdateRule::adamw(LR))?.with_storage(dtype);
        Ok(Self {
            region: Region::new(dtype, OpTable::torch_cuda())?,
            scaler: Scaler::new(Device::new(), rule)?,
            optimizer: MasterOptimizer::new(Device::new(), mlp::parameters(), config)?,
            epoch: 0,
            loss: 0.0,
            last: None,
        })
    }

    /// Runs one pass over the images.
    ///
    /// # Errors
    ///
    /// If the run diverges, or the tensor refuses.
    pub fn epoch(&mut self, images: &Digits) -> Result<()> {
        let batches = images.batches(self.epoch, BATCH);
        self.loss = 0.0;
        for batch in &batches {
            let pass = mlp::forward(&self.region, &self.optimizer.params, batch)?;
            self.loss += pass.loss.to_f32()[0] / batches.len() as f32;
            self.step(&pass)?;
        }
        self.epoch += 1;
        Ok(())
    }

    fn step(&mut self, pass: &mlp::Forward) -> Result<()> {
        // The gradient of the loss with respect to itself is 1; scaling that is scaling the loss.
        let grads = self
            .scaler
            .scale(&Mine::scalar(1.0))?
            .backward(|scaled| Ok(pass.backward(&self.optimizer.params, scaled.to_f32()[0])?))?;
        let step = grads.unscale()?.clip_norm(10.0)?.step(&mut self.optimizer)?;
        let step = self.scaler.update(step)?.resolve()?;
        let report = step.clone().unless_diverged()?;
        if report.is_remarkable() {
            eprintln!("{report}");
        }
        self.last = Some(step);
        Ok(())
    }

    /// Returns the whole state, as a file holds it.
    ///
    /// # Errors
    ///
    /// Before the first step, or if something is in flight.
    pub fn save(&self) -> Result<Vec<u8>> {
        let step = self.last.as_ref().ok_or("nothing has been trained yet")?;
        let draft = Draft::after(step).scaler("loss", &self.scaler)?;
        let draft = draft.optimizer("digits", &self.optimizer)?.word("epoch", self.epoch);
        Ok(draft.finish()?.to_bytes()?)
    }

    /// Resumes a run from the bytes of [`save`](Self::save).
    ///
    /// # Errors
    ///
    /// If they are of another run.
    pub fn resume(dtype: DType, saved: &[u8]) -> Result<Self> {
        let mut run = Self::start(dtype)?;
        let checkpoint = Checkpoint::from_bytes(saved)?;
        let mut restore = checkpoint.restore();
        restore.scaler("loss", &mut run.scaler)?;
        restore.optimizer("digits", &mut run.optimizer)?;
        restore.finish()?;
        run.epoch = checkpoint.words.get("epoch").ok_or("no epoch was saved")?.parse()?;
        Ok(run)
    }

    /// Trains to the end. Half-way the run is saved and resumed, and both go on.
    ///
    /// # Errors
    ///
    /// If the run diverges, or the resumed one ends with other bits.
    pub fn whole(dtype: DType, epochs: u64, [images, test]: &[Digits; 2]) -> Result<Row> {
        let mut run = Self::start(dtype)?;
        (0..epochs / 2).try_for_each(|_| run.epoch(images))?;
        let mut resumed = Self::resume(dtype, &run.save()?)?;
        for run in [&mut run, &mut resumed] {
            (run.epoch..epochs).try_for_each(|_| run.epoch(images))?;
        }
        if run.save()? != resumed.save()? {
            return Err("the resumed run ended elsewhere".into());
        }
        let accuracy = mlp::accuracy(&run.region, &run.optimizer.params, &test.whole())?;
        let (state, loss) = (run.scaler.state()?, run.loss);
        let what = format!("{dtype} with Binade");
        let (skipped, scale) = (Some(state.skipped), Some(state.factor()));
        Ok(Row { what, loss, accuracy, skipped, scale })
    }
}
