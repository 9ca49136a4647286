//! Rows of candle in the five-ways table: `Var`s in sixteen bits with `f32` masters; and candle alone, with its own `AdamW`.
//!
//! It prints its rows of the README's table.

use binade::prelude::*;
use binade_candle::{Candle, backward, candle_dtype, params, var_builder};
use binade_example_candle::Result;
use binade_example_shared::five_ways::{
    Batch, LEARNING_RATE, Row, Run, Scaling, Task, print, properties,
};
use binade_example_shared::mlp::{HIDDEN, layout};
use candle_core::{DType as Type, Device, Module, Tensor, Var};
use candle_nn::{AdamW, Linear, Optimizer as _, ParamsAdamW, VarBuilder, VarMap, linear};

/// Perceptron of the digits in candle's layers.
struct Net([Linear; 3]);

impl Net {
    fn new(vb: &VarBuilder<'_>, task: &Task) -> Result<Self> {
        let [first, second] = HIDDEN;
        Ok(Self([
            linear(task.test.area(), first, vb.pp("linear0"))?,
            linear(first, second, vb.pp("linear1"))?,
            linear(second, 10, vb.pp("head"))?,
        ]))
    }

    /// Computes logits in `f32`.
    fn forward(&self, pixels: &[f32], dtype: Type) -> Result<Tensor> {
        let [first, second, head] = &self.0;
        let inputs = first.weight().dim(1)?;
        let x = Tensor::from_slice(pixels, (pixels.len() / inputs, inputs), &Device::Cpu)?;
        let x = first.forward(&x.to_dtype(dtype)?)?.relu()?;
        Ok(head.forward(&second.forward(&x)?.relu()?)?.to_dtype(Type::F32)?)
    }

    fn loss(&self, batch: &Batch, dtype: Type) -> Result<Tensor> {
        let labels = Tensor::from_slice(&batch.labels, batch.labels.len(), &Device::Cpu)?;
        Ok(candle_nn::loss::cross_entropy(&self.forward(&batch.pixels, dtype)?, &labels)?)
    }
}

/// Returns `Var`s in `dtype` with the task's first weights.
fn start(task: &Task, dtype: Type) -> Result<VarMap> {
    let map = VarMap::new();
    Net::new(&VarBuilder::from_varmap(&map, dtype, &Device::Cpu), task)?;
    for param in params(&map) {
        let first = task.parameters.iter().find(|first| first.name == &*param.name);
        let first = first.ok_or("the layers have the layout's names")?;
        let values = Tensor::from_slice(&first.values, param.value.shape(), &Device::Cpu)?;
        Var::from_tensor(&param.value)?.set(&values.to_dtype(dtype)?)?;
    }
    Ok(map)
}

/// Trains with masters, a scaler and Binade's Adam.
fn with_binade(task: &Task, precision: DType) -> Result<Row> {
    let (map, rule) = (start(task, Type::F32)?, UpdateRule::adam(LEARNING_RATE));
    let mut amp = initialize(Candle, Model::new(params(&map)), rule, properties(precision)?)?;
    let net = Net::new(&var_builder(&amp.optimizer.params), task)?;
    let mut losses = Vec::new();
    for batch in task.batches() {
        let loss = net.loss(&batch, candle_dtype(precision)?)?;
        losses.push(loss.to_scalar()?);
        let grads =
            amp.scaler.scale(&loss)?.backward(|loss| backward(loss, &amp.optimizer.params))?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?;
        amp.scaler.update(step)?.resolve()?.unless_diverged()?;
    }
    let scaling = Some(Scaling::from(&amp.scaler.state()?));
    let run = Run { scaling, ..end(task, &net, &amp.optimizer.params, losses, precision)? };
    Ok(Row::new(("candle", precision, "Binade"), task, &run))
}

/// Trains the same `Var`s by candle's own `AdamW`, without decay as the task requires.
fn alone(task: &Task, precision: DType) -> Result<Row> {
    let map = start(task, candle_dtype(precision)?)?;
    let vb = VarBuilder::from_varmap(&map, candle_dtype(precision)?, &Device::Cpu);
    let net = Net::new(&vb, task)?;
    let config = ParamsAdamW { lr: LEARNING_RATE, weight_decay: 0.0, ..ParamsAdamW::default() };
    let mut optimizer = AdamW::new(map.all_vars(), config)?;
    let mut losses = Vec::new();
    for batch in task.batches() {
        let loss = net.loss(&batch, candle_dtype(precision)?)?;
        losses.push(loss.to_scalar()?);
        optimizer.backward_step(&loss)?;
    }
    let run = end(task, &net, &params(&map), losses, precision)?;
    Ok(Row::new(("candle", precision, "alone"), task, &run))
}

/// Returns the row of a finished run.
fn end(
    task: &Task,
    net: &Net,
    params: &[Named<Tensor>],
    losses: Vec<f32>,
    precision: DType,
) -> Result<Run> {
    let logits =
        net.forward(&task.test.pixels, candle_dtype(precision)?)?.flatten_all()?.to_vec1()?;
    let weight = |(name, _): (&str, Vec<usize>)| {
        let param = params.iter().find(|param| &*param.name == name);
        let param = param.ok_or("the layers have the layout's names")?;
        Ok(param.value.to_dtype(Type::F32)?.flatten_all()?.to_vec1()?)
    };
    let weights = layout(task.test.area()).into_iter().map(weight).collect::<Result<_>>()?;
    Ok(Run { losses, weights, logits, scaling: None })
}

fn main() -> Result<()> {
    print(&[with_binade, alone])
}
