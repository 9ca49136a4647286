//! Small modules whose gradients are known, and one step of training.

use binade_burn::{Burn, BurnOptimizer, BurnTensor, Error, Views};
use binade_core::DType;
use binade_grad_scaler::{LossScale, Scaler, Step};
use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::optim::ModuleOptimizer;
use burn::tensor::{Device, FloatDType, Tensor, activation};

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Types that models compute in.
pub(crate) const MODES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// burn's backend for CPUs, with gradients.
pub(crate) fn device() -> Device {
    Device::flex().autodiff()
}

/// Vector of weights.
#[derive(Module, Debug)]
pub(crate) struct Weights {
    pub(crate) w: Param<Tensor<1>>,
}

impl Weights {
    pub(crate) fn new(values: &[f32]) -> Self {
        Self { w: Param::from_tensor(Tensor::from_floats(values, &device())) }
    }

    /// Returns `Σ slope · w`, multiplied in the type of `w`'s view and summed in `f32`. Its gradient is `slopes`.
    pub(crate) fn loss(&self, slopes: &[f32]) -> Tensor<1> {
        let w = self.w.val();
        let slopes = Tensor::from_floats(slopes, &w.device()).cast(w.dtype());
        (w * slopes).cast(FloatDType::F32).sum()
    }

    /// Returns the values of the trained parameter.
    pub(crate) fn values(&self) -> Vec<f32> {
        floats(self.w.base())
    }
}

/// Draws numbers in [-1, 1), the same in every run, from the highest 16 bits of the generator of Numerical Recipes.
pub(crate) fn draw(len: usize, mut state: u32) -> Vec<f32> {
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap_or(u16::MAX)) / 32768.0 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Layer of weights within ±`bound`, the same in every run and in every thread.
fn linear([inputs, outputs]: [usize; 2], bound: f32) -> Linear {
    let device = device();
    let weight = Tensor::<1>::from_floats(draw(inputs * outputs, 7).as_slice(), &device);
    let weight = weight.reshape([inputs, outputs]).mul_scalar(bound);
    let mut layer = LinearConfig::new(inputs, outputs).init(&device);
    layer.weight = Param::from_tensor(weight);
    layer.bias = Some(Param::from_tensor(Tensor::zeros([outputs], &device)));
    layer
}

/// Two layers.
#[derive(Module, Debug)]
pub(crate) struct Mlp {
    pub(crate) fc1: Linear,
    pub(crate) fc2: Linear,
}

impl Mlp {
    pub(crate) fn new() -> Self {
        Self { fc1: linear([4, 16], 0.5), fc2: linear([16, 1], 0.25) }
    }

    pub(crate) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.fc2.forward(activation::gelu(self.fc1.forward(x)))
    }

    /// Returns the mean squared error on 32 points of a curve, in `f32`.
    pub(crate) fn loss(&self) -> Tensor<1> {
        let dtype = self.fc1.weight.val().dtype();
        let points: Vec<f32> = (0..32_u8).map(|i| f32::from(i) / 16.0 - 1.0).collect();
        let x = Tensor::<1>::from_floats(points.as_slice(), &device()).reshape([32, 1]);
        let y = x.clone().mul_scalar(3.0).sin();
        let powers = Tensor::cat((1..5_i32).map(|n| x.clone().powi_scalar(n)).collect(), 1);
        let out = self.forward(powers.cast(dtype)).cast(FloatDType::F32);
        (out - y).powi_scalar(2).mean()
    }

    /// Returns the bits of all trained parameters.
    pub(crate) fn bits(&self) -> Vec<u32> {
        let biases =
            [&self.fc1, &self.fc2].map(|layer| layer.bias.as_ref().map(|b| floats(b.base())));
        let weights = [&self.fc1, &self.fc2].map(|layer| floats(layer.weight.base()));
        let all = weights.into_iter().chain(biases.into_iter().flatten()).flatten();
        all.map(f32::to_bits).collect()
    }
}

pub(crate) fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.cast(FloatDType::F32).into_data().try_to_vec::<f32>().expect("they are f32")
}

/// Returns `module` with views in `dtype`, to be stepped by `optimizer`.
pub(crate) fn trained<M: Module>(
    module: M,
    dtype: DType,
    optimizer: ModuleOptimizer,
    learning_rate: f64,
) -> std::result::Result<BurnOptimizer<M>, Error> {
    Ok(BurnOptimizer::new(Views::lower(dtype).attach(module)?, optimizer, learning_rate))
}

/// Scaler that stays at `2^exponent`.
pub(crate) fn fixed(exponent: i32) -> std::result::Result<Scaler<Burn>, Error> {
    Scaler::new(Burn, LossScale::fixed(2.0_f32.powi(exponent)).expect("in reach"))
}

/// Takes one step from `loss`, computed with `trained`'s module.
pub(crate) fn step<M: Module>(
    scaler: &mut Scaler<Burn>,
    trained: &mut BurnOptimizer<M>,
    loss: Tensor<1>,
) -> std::result::Result<Step, Error> {
    let grads =
        scaler.scale(&BurnTensor::from(loss))?.backward(|loss| loss.backward(&trained.module))?;
    let pending = grads.unscale()?.step(trained)?;
    scaler.update(pending)?.resolve()
}
