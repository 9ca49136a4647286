//! A recurrent net that learns the sign of a sum, on a strided tensor and an autograd of one's own.
#![forbid(unsafe_code)]

pub mod autograd;
pub mod tensor;

use autograd::{Tape, Var};
use binade::prelude::*;
use tensor::{NoSuchType, Strided};

const NAMES: [&str; 3] = ["input", "recur", "output"];
const HIDDEN: usize = 8;
const LENGTH: usize = 5;
/// Sequences in a micro-batch.
pub const ROWS: usize = 16;

/// Why training stopped.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
type Handle = HostDevice<Strided>;

/// A run.
#[derive(Debug)]
pub struct Run {
    /// The loss scale.
    pub scaler: Scaler<Handle>,
    /// Weights with their masters.
    pub optimizer: MasterOptimizer<Handle>,
    random: u32,
}

impl Run {
    /// A run in `dtype`.
    ///
    /// # Errors
    ///
    /// When the configuration does not hold.
    pub fn start(dtype: DType) -> Result<Self, Failure> {
        let mut random = 7;
        let shapes = [[HIDDEN, 1], [HIDDEN, HIDDEN], [1, HIDDEN]];
        let mut made = |shape: [usize; 2]| {
            let values = (0..shape[0] * shape[1]).map(|_| 0.6 * uniform(&mut random)).collect();
            Strided::new(values, shape)
        };
        let values = shapes.map(&mut made);
        let params =
            NAMES.into_iter().zip(values).map(|(name, value)| Named::new(name, value)).collect();
        // glue: loop
        let level = if dtype == DType::F32 { OptLevel::O0 } else { OptLevel::O2 };
        let (model, rule) = (Model::new(params), UpdateRule::adam(1e-2));
        let amp = initialize(HostDevice::new(), model, rule, level.with(dtype))?;
        // end of glue
        Ok(Self { scaler: amp.scaler, optimizer: amp.optimizer, random: 99 })
    }

    /// One window of two micro-batches, clipped to a norm of 1.
    ///
    /// # Errors
    ///
    /// When the run diverges.
    pub fn window(&mut self) -> Result<StepReport, Failure> {
        // glue: loop
        let mut window = self.scaler.accumulate(BadMicroBatch::Drop);
        for _ in 0..2 {
            window.add(self.micro_batch()?)?;
        }
        let grads = window.finish()?.ok_or("two micro-batches")?.clip_norm(1.0)?;
        let step = grads.step(&mut self.optimizer)?;
        Ok(self.scaler.update(step)?.resolve()?.unless_diverged()?)
        // end of glue
    }

    /// The unscaled gradients of the next micro-batch.
    ///
    /// # Errors
    ///
    /// When a tensor has no such type.
    pub fn micro_batch(&mut self) -> Result<UnscaledGrads<Handle>, Failure> {
        let (x, y) = self.data();
        let tape = Tape::default();
        let (weights, output) = self.forward(&tape, &x)?;
        let loss = tape.squared_error(output, y)?;
        // glue: loop
        let one = Strided::new(vec![1.0], [1, 1]);
        let grads = self.scaler.scale(&one)?.backward(|seed| {
            let grads = tape.backward(loss, seed, &weights)?;
            Ok(NAMES.into_iter().zip(grads).map(|(name, grad)| Named::new(name, grad)).collect())
        })?;
        Ok(grads.unscale()?)
        // end of glue
    }

    /// The share of `ROWS` fresh sequences whose sign is right.
    ///
    /// # Errors
    ///
    /// When a tensor has no such type.
    pub fn accuracy(&mut self) -> Result<f32, Failure> {
        let (x, y) = self.data();
        let tape = Tape::default();
        let output = tape.value(self.forward(&tape, &x)?.1);
        let right = (0..ROWS).filter(|i| output.at(*i, 0) * y.at(*i, 0) > 0.0);
        Ok(right.count() as f32 / ROWS as f32)
    }

    /// Takes the place in the data that `other` has.
    pub fn go_on_like(&mut self, other: &Self) {
        self.random = other.random;
    }

    fn forward(&self, tape: &Tape, x: &Strided) -> Result<(Vec<Var>, Var), NoSuchType> {
        let params = &self.optimizer.params;
        let weights: Vec<_> = params.iter().map(|param| tape.leaf(param.value.clone())).collect();
        let dtype = params[0].value.dtype();
        let mut hidden =
            tape.leaf(Strided::new(vec![0.0; ROWS * HIDDEN], [ROWS, HIDDEN]).cast(dtype)?);
        for time in 0..LENGTH {
            // A column of the batch, a row of the transposed view.
            let now = tape.leaf(x.transposed().rows(time, 1).transposed().cast(dtype)?);
            let state =
                tape.add(tape.linear(now, weights[0])?, tape.linear(hidden, weights[1])?)?;
            hidden = tape.tanh(state)?;
        }
        let output = tape.linear(hidden, weights[2])?;
        Ok((weights, output))
    }

    /// Sequences, and the sign of each one's sum.
    fn data(&mut self) -> (Strided, Strided) {
        let values: Vec<_> = (0..ROWS * LENGTH).map(|_| uniform(&mut self.random)).collect();
        let signs = values.chunks(LENGTH).map(|row| row.iter().sum::<f32>().signum()).collect();
        (Strided::new(values, [ROWS, LENGTH]), Strided::new(signs, [ROWS, 1]))
    }
}

/// A number between -1 and 1.
fn uniform(random: &mut u32) -> f32 {
    *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*random >> 8) as f32 / 8_388_608.0 - 1.0
}
