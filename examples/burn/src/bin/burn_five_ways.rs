//! Rows of burn in the five-ways table: `f32` parameters that the model sees in sixteen bits, stepped by burn's Adam; and burn
//! alone.
//!
//! It prints its rows of the README's table.

use binade_burn::{Burn, BurnOptimizer, BurnTensor, Views, require_dtype};
use binade_core::DType;
use binade_example_shared::five_ways::{
    Batch, LEARNING_RATE, Row, Run, Scaling, Task, print, properties,
};
use binade_example_shared::mlp::Parameter;
use binade_grad_scaler::Scaler;
use burn::module::{Module, Param};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData, activation::relu};
use std::error::Error;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Perceptron of the digits in burn's layers.
#[derive(Module, Debug)]
struct Net {
    linear0: Linear,
    linear1: Linear,
    head: Linear,
}

impl Net {
    /// Creates the network with the task's first weights, stored in `dtype`.
    fn new(task: &Task, dtype: FloatDType, device: &Device) -> Self {
        let [w0, b0, w1, b1, w2, b2] = &task.parameters;
        let layer = |weight, bias| layer(weight, bias, dtype, device);
        Self { linear0: layer(w0, b0), linear1: layer(w1, b1), head: layer(w2, b2) }
    }

    /// Computes logits in `f32`; the layers compute in `dtype`.
    fn forward(&self, pixels: &[f32], dtype: FloatDType, device: &Device) -> Tensor<2> {
        let inputs = self.linear0.weight.dims()[0];
        let pixels = TensorData::new(pixels.to_vec(), [pixels.len() / inputs, inputs]);
        let x = Tensor::<2>::from_data(pixels, device).cast(dtype);
        let x = relu(self.linear1.forward(relu(self.linear0.forward(x))));
        self.head.forward(x).cast(FloatDType::F32)
    }

    fn loss(&self, batch: &Batch, dtype: FloatDType, device: &Device) -> Tensor<1> {
        let labels = Tensor::<1, Int>::from_ints(batch.labels.as_slice(), device);
        let logits = self.forward(&batch.pixels, dtype, device);
        CrossEntropyLossConfig::new().init(device).forward(logits, labels)
    }

    /// Returns the weights in the order and layout of the task; burn's own layout is [inputs, outputs].
    fn weights(&self) -> Result<Vec<Vec<f32>>> {
        let mut weights = Vec::new();
        for layer in [&self.linear0, &self.linear1, &self.head] {
            weights.push(values(layer.weight.val().transpose())?);
            weights.push(layer.bias.as_ref().map_or(Ok(Vec::new()), |bias| values(bias.val()))?);
        }
        Ok(weights)
    }
}

fn layer(weight: &Parameter, bias: &Parameter, dtype: FloatDType, device: &Device) -> Linear {
    let [outputs, inputs] = [weight.shape[0], weight.shape[1]];
    let rows = TensorData::new(weight.values.clone(), [outputs, inputs]);
    let rows = Tensor::<2>::from_data(rows, device).transpose().cast(dtype);
    let values = Tensor::<1>::from_floats(bias.values.as_slice(), device).cast(dtype);
    let mut layer = LinearConfig::new(inputs, outputs).init(device);
    layer.weight = Param::from_tensor(rows.detach());
    layer.bias = Some(Param::from_tensor(values.detach()));
    layer
}

fn values<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    Ok(tensor
        .cast(FloatDType::F32)
        .into_data()
        .try_to_vec()
        .map_err(|error| format!("{error:?}"))?)
}

/// Trains with views, a scaler, and burn's Adam behind them, with the task's epsilon.
fn with_binade(task: &Task, precision: DType) -> Result<Row> {
    let device = Device::flex().autodiff();
    let float = require_dtype(&device, precision)?;
    let rule = properties(precision)?.loss_scale;
    let net = Views::lower(precision).attach(Net::new(task, FloatDType::F32, &device))?;
    let adam = AdamConfig::new().with_epsilon(1e-8).init();
    let mut trained = BurnOptimizer::new(net, adam, LEARNING_RATE);
    let mut scaler = Scaler::new(Burn, rule)?;
    let mut losses = Vec::new();
    for batch in task.batches() {
        let loss = trained.module.loss(&batch, float, &device);
        losses.push(loss.clone().into_scalar());
        let grads = scaler
            .scale(&BurnTensor::from(loss))?
            .backward(|loss| loss.backward(&trained.module))?;
        let step = grads.unscale()?.step(&mut trained)?;
        scaler.update(step)?.resolve()?.unless_diverged()?;
    }
    let scaling = Some(Scaling::from(&scaler.state()?));
    let logits = values(trained.module.forward(&task.test.pixels, float, &device))?;
    let run = Run { losses, weights: trained.module.weights()?, logits, scaling };
    Ok(Row::new(("burn", precision, "Binade"), task, &run))
}

/// Trains parameters stored in the precision by burn's Adam with its defaults, but for the rate.
fn alone(task: &Task, precision: DType) -> Result<Row> {
    let device = Device::flex().autodiff();
    let float = require_dtype(&device, precision)?;
    let mut net = Net::new(task, float, &device);
    let mut adam = AdamConfig::new().init();
    let mut losses = Vec::new();
    for batch in task.batches() {
        let loss = net.loss(&batch, float, &device);
        losses.push(loss.clone().into_scalar());
        let grads = GradientsParams::from_grads(loss.backward(), &net);
        net = adam.step(LEARNING_RATE, net, grads);
    }
    let logits = values(net.forward(&task.test.pixels, float, &device))?;
    let run = Run { losses, weights: net.weights()?, logits, scaling: None };
    Ok(Row::new(("burn", precision, "alone"), task, &run))
}

fn main() -> Result<()> {
    print(&[with_binade, alone])
}
