//! Model whose whole step is captured: its data lies in tensors of fixed addresses.

use crate::support::{Device, Result, cast_all, noise, vector};
use binade_autocast::Autocast;
use binade_core::{DType, Named};
use binade_cuda::{Captured, Cuda, Error, Tensor};
use binade_grad_scaler::{BadMicroBatch, LossScale, Scaler, Step, StepOutcome};
use binade_master_weights::{MasterOptimizer, OptimizerConfig};

const NAMES: [&str; 3] = ["weight", "bias", "norm"];
const LENGTHS: [usize; 3] = [5000, 7, 33];

/// Number of steps. The first two are warm-ups; an overflow is at `BAD`, and the scale grows before and after it.
pub(crate) const STEPS: u64 = 12;
const BAD: u64 = 5;

/// Way to do a step.
pub(crate) type Stepping = fn(&mut Model) -> Result<StepOutcome<Cuda>, Error>;

/// Model whose gradients are written to it.
pub(crate) struct Model {
    pub(crate) cuda: Cuda,
    pub(crate) scaler: Scaler<Cuda>,
    pub(crate) optimizer: MasterOptimizer<Cuda>,
    /// Gradients that a backward pass would find, in `f32`.
    pub(crate) data: Vec<Tensor>,
    pub(crate) loss: Tensor,
    dtype: DType,
}

impl Model {
    pub(crate) fn new(cuda: &Cuda, config: OptimizerConfig, dtype: DType) -> Result<Self> {
        let one = |(name, len): (&&str, usize)| {
            Named::new(*name, vector(cuda, &noise(len as u64, len), dtype))
        };
        let params = NAMES.iter().zip(LENGTHS).map(one).collect();
        let rule = LossScale::dynamic().with_growth_interval(3)?;
        Ok(Self {
            cuda: cuda.clone(),
            scaler: Scaler::new(cuda.clone(), rule)?,
            optimizer: MasterOptimizer::new(cuda.clone(), params, config)?,
            data: LENGTHS.map(|len| vector(cuda, &vec![0.0; len], DType::F32)).into(),
            loss: vector(cuda, &[1.0], DType::F32),
            dtype,
        })
    }

    /// Writes the data of step `number`.
    pub(crate) fn write(&self, number: u64) -> Result {
        for (place, tensor) in self.data.iter().enumerate() {
            let mut values = noise(100 * number + place as u64, tensor.len());
            for x in &mut values {
                *x *= 300.0;
            }
            if number == BAD && place == 0 {
                values[4711] = f32::INFINITY;
            }
            self.cuda.write(tensor, &values)?;
        }
        Ok(())
    }

    /// Runs the whole step, with a cast of every gradient in place of a backward pass.
    pub(crate) fn step(&mut self) -> Result<StepOutcome<Cuda>, Error> {
        let grads = self.scaler.scale(&self.loss)?.backward(|_| {
            let cast = cast_all(&self.cuda, &self.data, self.dtype)?;
            let named = NAMES.iter().zip(cast).map(|(name, grad)| Named::new(*name, Some(grad)));
            Ok(named.collect::<Vec<_>>().into())
        })?;
        let step = grads.unscale()?.clip_norm(0.5)?.step(&mut self.optimizer)?;
        self.scaler.update(step)
    }

    /// Runs a window of two micro-batches, each with a half of the data.
    pub(crate) fn window(&mut self) -> Result<StepOutcome<Cuda>, Error> {
        let mut window = self.scaler.accumulate(BadMicroBatch::Drop);
        for first in [0, 1] {
            let grads = self.scaler.scale(&self.loss)?.backward(|_| {
                let one = |place: usize| {
                    let grad = self.cuda.cast(&self.data[place], self.dtype)?;
                    Ok(Named::new(NAMES[place], (place >= first).then_some(grad)))
                };
                (0..3).map(one).collect::<Result<Vec<_>, Error>>().map(Into::into)
            })?;
            window.add(grads.unscale()?)?;
        }
        let sum = window.finish()?.unwrap_or_else(|| panic!("an empty window"));
        let step = sum.clip_norm(0.5)?.step(&mut self.optimizer)?;
        self.scaler.update(step)
    }

    /// Returns parameters, masters, moments, counts and the scale as text.
    pub(crate) fn trace(&self) -> Result<String> {
        let read = |param: &Named<Tensor>| {
            let kept = self.optimizer.masters().read(&self.cuda, &param.name)?;
            Ok(format!("{}: {:?} {kept:?}\n", param.name, self.cuda.bits(&param.value)))
        };
        let params = self.optimizer.params.iter().map(read).collect::<Result<String>>()?;
        Ok(format!("{params}{:?}", self.scaler.state()?))
    }

    /// Captures the step after warm-ups on the data of steps 0 and 1, and returns these steps' outcomes too.
    pub(crate) fn captured(
        &mut self,
        step: Stepping,
    ) -> Result<(Captured<StepOutcome<Cuda>>, Vec<String>)> {
        let cuda = self.cuda.clone();
        self.write(0)?;
        let (first, capture) = cuda.capture().warm_up(|| step(self))?;
        let mut said = vec![say(&first.resolve()?)];
        self.write(1)?;
        let (second, capture) = capture.warm_up(|| step(self))?;
        said.push(say(&second.resolve()?));
        Ok((capture.capture(|| step(self))?, said))
    }
}

/// Returns all that a step reports: in words, and each finding with its bits.
pub(crate) fn say(step: &Step) -> String {
    format!("{step:?} {:?} {:?}", step.report().steps, step.report().scale)
}
