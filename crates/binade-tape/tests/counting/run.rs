//! Program that the tests share and that runs on any device, so that two may be compared.

use crate::common::values;
use binade_autocast::Region;
use binade_cast_policy::OpTable;
use binade_core::ops::{CrossEntropy, Linear, Mul, Relu, Upload};
use binade_core::{DType, Handle, Named};
use binade_cpu::Tensor;
use binade_grad_scaler::{BadMicroBatch, LossScale, Scaler, StepOutcome};
use binade_master_weights::{MasterOptimizer, MasterWeights, OptimizerConfig, UpdateRule};
use binade_tape::{ScalingDevice, Tape, TapeError, Var};

/// Device that a program of these tests trains on.
#[rustfmt::skip]
pub(crate) trait Trains:
    ScalingDevice + Upload + Linear + Relu + CrossEntropy + Mul
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

#[rustfmt::skip]
impl<D> Trains for D where
    D: ScalingDevice + Upload + Linear + Relu + CrossEntropy + Mul
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

pub(crate) type Outcome<D> = StepOutcome<D>;

pub(crate) fn tensor<D: Upload>(device: &D, shape: &[usize], seed: u32, dtype: DType) -> D::Tensor {
    device.upload(&values(shape.iter().product(), seed), shape, dtype).unwrap()
}

/// Training run, as far as it has come.
pub(crate) struct Run<D: Trains> {
    pub(crate) device: D,
    pub(crate) scaler: Scaler<D>,
    pub(crate) optimizer: MasterOptimizer<D>,
    pub(crate) region: Region,
}

impl<D: Trains> Run<D> {
    /// Makes a perceptron stored in `dtype`, in a region of that type, with a scale that overflows soon and grows again.
    pub(crate) fn new(device: D, dtype: DType) -> Self {
        let shapes: [(&str, &[usize]); 4] =
            [("0.weight", &[16, 8]), ("0.bias", &[16]), ("1.weight", &[4, 16]), ("1.bias", &[4])];
        let params = (0..)
            .zip(shapes)
            .map(|(seed, (name, shape))| Named::new(name, tensor(&device, shape, seed, dtype)));
        let rule = LossScale::dynamic().with_init_scale(2.0_f32.powi(20)).unwrap();
        let config = OptimizerConfig::new(UpdateRule::adamw(1e-2)).unwrap();
        let optimizer = MasterOptimizer::new(device.clone(), params.collect(), config).unwrap();
        let scaler = Scaler::new(device.clone(), rule.with_growth_interval(3).unwrap());
        let low = if dtype == DType::F32 { DType::F16 } else { dtype };
        let region = Region::new(low, OpTable::torch_cuda());
        Self { device, scaler: scaler.unwrap(), optimizer, region: region.unwrap() }
    }

    pub(crate) fn loss(&self, seed: u32) -> Result<Var<D>, TapeError<D::Error>> {
        let tape = Tape::new(self.device.clone(), &self.region);
        let p = tape.parameters(&self.optimizer.params);
        let batch = tape.constant(tensor(&self.device, &[4, 8], seed, DType::F32));
        let labels = self.device.upload_i64(&[3, 1, 0, 2], &[4])?;
        let hidden = batch.linear(&p[0], Some(&p[1]))?.relu()?;
        hidden.linear(&p[2], Some(&p[3]))?.cross_entropy(&labels)
    }

    /// Takes one step with clipping.
    pub(crate) fn step(&mut self, seed: u32) -> Outcome<D> {
        let loss = self.loss(seed).unwrap();
        let grads = self.scaler.scale(&loss).unwrap().backward(Var::backward).unwrap();
        let grads = grads.unscale().unwrap().clip_norm(1.0).unwrap();
        let step = grads.step(&mut self.optimizer).unwrap();
        self.scaler.update(step).unwrap()
    }

    /// Takes one step of two micro-batches, limited by value.
    pub(crate) fn window(&mut self, seed: u32) -> Outcome<D> {
        let mut window = self.scaler.accumulate(BadMicroBatch::Drop);
        for part in 0..2 {
            let loss = self.loss(2 * seed + part).unwrap().scaled_by(0.5).unwrap();
            let grads = self.scaler.scale(&loss).unwrap().backward(Var::backward).unwrap();
            window.add(grads.unscale().unwrap()).unwrap();
        }
        let grads = window.finish().unwrap().unwrap().clip_value(0.1).unwrap();
        let step = grads.step(&mut self.optimizer).unwrap();
        self.scaler.update(step).unwrap()
    }
}

pub(crate) fn bits(params: &[Named<Tensor>]) -> Vec<Vec<u8>> {
    params.iter().map(|param| param.value.to_bits()).collect()
}
