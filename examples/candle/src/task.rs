//! Task of all runs, with the weights they begin with, and the result of a run.

use crate::{Mlp, Result};
use binade::prelude::*;
use candle_core::{DType as Type, Device, Tensor};
use candle_nn::{VarBuilder, VarMap};

/// Points with their targets, and the first `Var`s: the same in every run.
#[expect(missing_debug_implementations, reason = "candle's VarMap has none")]
pub struct Task {
    /// Points, one a row, in `f32`.
    pub x: Tensor,
    /// Targets, one value a row, in `f32`.
    pub y: Tensor,
    /// `Var`s of the model, in the type that was asked for.
    pub map: VarMap,
}

const POINTS: usize = 32;

impl Task {
    /// Creates the task, with `Var`s in `dtype`.
    ///
    /// # Errors
    ///
    /// candle's.
    pub fn new(dtype: Type) -> Result<Self> {
        let mut draw = Draw(1);
        let x: Vec<f32> = (0..POINTS * Mlp::INPUTS).map(|_| draw.signed()).collect();
        let y: Vec<f32> =
            x.chunks(Mlp::INPUTS).map(|p| (3.0 * p[0]).sin() + p[1] * p[2] + 1.0).collect();
        Ok(Self {
            x: Tensor::from_vec(x, (POINTS, Mlp::INPUTS), &Device::Cpu)?,
            y: Tensor::from_vec(y, (POINTS, 1), &Device::Cpu)?,
            map: start(dtype, &mut draw)?,
        })
    }
}

/// Returns biases of 0, and weights between 1/4 and 1/2 of either sign, so that a step of 1e-4 is lost in `bf16`.
fn start(dtype: Type, draw: &mut Draw) -> Result<VarMap> {
    let map = VarMap::new();
    Mlp::new(&VarBuilder::from_varmap(&map, dtype, &Device::Cpu))?;
    for param in binade_candle::params(&map) {
        let fill = |_| if param.name.ends_with("bias") { 0.0 } else { draw.away_from_zero() };
        let values: Vec<f32> = (0..param.value.elem_count()).map(fill).collect();
        let values = Tensor::from_vec(values, param.value.shape(), &Device::Cpu)?;
        candle_core::Var::from_tensor(&param.value)?.set(&values.to_dtype(dtype)?)?;
    }
    Ok(map)
}

/// Generator of Marsaglia's xorshift family (13, 7, 17): the same numbers on every machine.
struct Draw(u64);

impl Draw {
    fn signed(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bits = u16::try_from(self.0 >> 48).unwrap_or_default();
        f32::from(bits) / 32768.0 - 1.0
    }

    fn away_from_zero(&mut self) -> f32 {
        let x = self.signed();
        0.25 * x + 0.25_f32.copysign(x)
    }
}

/// Record of a run.
#[derive(Clone, Debug, Default)]
pub struct Trained {
    /// Loss of every step's forward pass.
    pub losses: Vec<f32>,
    /// Number of steps skipped for an overflow.
    pub skipped: usize,
    /// Scale after the last step; `None` if nothing was scaled.
    pub scale: Option<f32>,
    /// Share of weights that differ from the start.
    pub moved: f64,
    start: Vec<f32>,
}

impl Trained {
    /// Creates the record of a run that begins with these parameters.
    ///
    /// # Errors
    ///
    /// candle's.
    pub fn start(params: &[Named<Tensor>]) -> Result<Self> {
        Ok(Self { start: weights(params)?, ..Self::default() })
    }

    /// Records a step.
    ///
    /// # Errors
    ///
    /// The report of a run that has diverged.
    pub fn step(&mut self, loss: &Tensor, step: Step) -> Result<()> {
        self.losses.push(loss.to_scalar()?);
        self.skipped += usize::from(!step.is_applied());
        if step.is_applied() && step.report().is_remarkable() {
            eprintln!("{}", step.report());
        }
        let report = step.unless_diverged()?;
        self.scale = Some(report.scale.factor());
        Ok(())
    }

    /// Ends the record with these parameters.
    ///
    /// # Errors
    ///
    /// candle's.
    pub fn end(mut self, params: &[Named<Tensor>]) -> Result<Self> {
        let now = weights(params)?;
        let moved = self.start.iter().zip(&now).filter(|(before, now)| before != now).count();
        self.moved = f64::from(u32::try_from(moved)?) / f64::from(u32::try_from(now.len())?);
        Ok(self)
    }

    /// Returns the loss of the last forward pass; NaN if there was none.
    pub fn last(&self) -> f32 {
        self.losses.last().copied().unwrap_or(f32::NAN)
    }
}

/// Returns all weights, without the biases.
fn weights(params: &[Named<Tensor>]) -> Result<Vec<f32>> {
    let mut weights = Vec::new();
    for param in params.iter().filter(|param| param.name.ends_with("weight")) {
        weights.extend(param.value.to_dtype(Type::F32)?.flatten_all()?.to_vec1::<f32>()?);
    }
    Ok(weights)
}
