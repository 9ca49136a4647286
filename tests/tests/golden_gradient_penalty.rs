//! Training with a gradient penalty beside PyTorch's, by the recipe of its page of AMP examples.

use binade::prelude::*;
use binade_cast_policy::OpTable;
use binade_core::ops::{BatchNormConfig, Conv2dConfig, MaxPool2dConfig, RunningStats};
use binade_cpu::{Cpu, Error, Tensor};
use binade_grad_scaler::Scaler;
use binade_master_weights::{MasterOptimizer, OptimizerConfig, Sgd};
use binade_tape::{Tape, TapeError, Var};
use serde::Deserialize;
use std::collections::BTreeMap;

type Outcome<T> = Result<T, TapeError<Error>>;

/// Runs that `tests/data/golden/gradient_penalty.py` recorded.
#[derive(Deserialize)]
struct Recording {
    lr: f64,
    momentum: f64,
    penalty: f32,
    init_scale: f32,
    growth_interval: u32,
    runs: BTreeMap<String, Run>,
}

#[derive(Deserialize)]
struct Run {
    params: BTreeMap<String, Values>,
    batches: Vec<Batch>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Batch {
    input: Values,
    labels: Vec<i64>,
}

/// Loss before the penalty, penalty before its weight, and the scale and the parameters after some steps.
#[derive(Deserialize)]
struct Step {
    loss: f32,
    grad_norm: f32,
    scale: f32,
    params: Option<BTreeMap<String, Values>>,
}

#[derive(Deserialize)]
struct Values {
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Values {
    fn tensor(&self) -> Tensor {
        Tensor::new(self.values.clone(), &self.shape).unwrap()
    }

    /// Returns the largest difference from `got`, relative to the largest element.
    fn distance(&self, got: &Tensor) -> f32 {
        let largest = self.values.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
        let got = got.to_f32();
        assert_eq!(got.len(), self.values.len());
        let far = got.iter().zip(&self.values).map(|(got, want)| (got - want).abs());
        far.fold(0.0, |most: f32, x| if x <= most { most } else { x }) / largest
    }
}

/// Parameters of a model by name.
struct Model(BTreeMap<String, Var<Cpu>>);

impl Model {
    fn linear(&self, x: &Var<Cpu>, layer: &str) -> Outcome<Var<Cpu>> {
        x.linear(&self.0[&format!("{layer}.weight")], self.0.get(&format!("{layer}.bias")))
    }

    fn mlp(&self, x: &Var<Cpu>) -> Outcome<Var<Cpu>> {
        let hidden = self.linear(&self.linear(x, "up")?.tanh()?, "mid")?;
        self.linear(&hidden.gelu()?, "down")
    }

    /// Computes the convolutional net. Its running statistics are not read in training.
    fn net(&self, x: &Var<Cpu>) -> Outcome<Var<Cpu>> {
        let p = &self.0;
        let zeros = || Tensor::new(vec![0.0_f32; 3], &[3]);
        let running = RunningStats { mean: zeros()?, var: zeros()? };
        let config = Conv2dConfig { padding: [1, 1], ..Conv2dConfig::default() };
        let x = x.conv2d(&p["conv.weight"], Some(&p["conv.bias"]), config)?;
        let config = BatchNormConfig::default();
        let (x, _) = x.batch_norm(&p["norm.weight"], &p["norm.bias"], &running, config)?;
        let (stride, padding) = ([2, 2], [1, 1]);
        let config = MaxPool2dConfig { stride, padding, ..MaxPool2dConfig::square(3) };
        let x = x.silu()?.max_pool2d(config)?;
        let x = x.reshape(&[x.shape()[0], 27])?;
        let (weight, bias) = (&p["layer_norm.weight"], &p["layer_norm.bias"]);
        let x = self.linear(&x, "up")?.layer_norm(weight, bias, 1e-5)?.tanh()?;
        self.linear(&x, "down")
    }
}

/// Trains as the recording did, and asserts that losses, penalties and parameters are the recorded ones within `bound`.
fn agrees(name: &str, region: &Region, bound: f32) {
    let recorded = include_str!("../data/golden/gradient_penalty.json");
    let all: Recording = serde_json::from_str(recorded).unwrap();
    let run = &all.runs[name];
    let rule = LossScale::torch().with_init_scale(all.init_scale).unwrap();
    let rule = rule.with_growth_interval(all.growth_interval).unwrap();
    let mut scaler = Scaler::new(Cpu, rule).unwrap();
    let params = run.params.iter().map(|(name, values)| Named::new(&**name, values.tensor()));
    let (lr, momentum) = (all.lr, all.momentum);
    let sgd = Sgd { lr, momentum, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    let config = OptimizerConfig::new(UpdateRule::Sgd(sgd)).unwrap();
    let mut optimizer = MasterOptimizer::new(Cpu, params.collect(), config).unwrap();
    assert_eq!(run.steps.len(), 20);
    let mut worst = 0.0_f32;
    for (number, (step, batch)) in run.steps.iter().zip(run.batches.iter().cycle()).enumerate() {
        let found = train(name, region, all.penalty, batch, &mut scaler, &mut optimizer).unwrap();
        let mut far = vec![(found.0 - step.loss).abs() / step.loss];
        far.push((found.1 - step.grad_norm).abs() / step.grad_norm);
        for param in step.params.iter().flat_map(|_| &optimizer.params) {
            far.push(step.params.as_ref().unwrap()[&*param.name].distance(&param.value));
        }
        assert!(far.iter().all(|it| *it <= bound), "{name} step {number}: {far:?}");
        worst = far.into_iter().fold(worst, f32::max);
        let next = run.steps.get(number + 1).unwrap_or(step);
        assert_eq!(scaler.state().unwrap().factor(), next.scale, "{name} step {number}");
    }
    println!("{name}: {worst:e}");
}

/// Takes one step, and returns the loss and the norm of its gradient.
fn train(
    name: &str,
    region: &Region,
    weight: f32,
    batch: &Batch,
    scaler: &mut Scaler<Cpu>,
    optimizer: &mut MasterOptimizer<Cpu>,
) -> Outcome<(f32, f32)> {
    let tape = Tape::new(Cpu, region);
    let params = tape.parameters(&optimizer.params);
    let names = optimizer.params.iter().map(|param| param.name.to_string());
    let model = Model(names.zip(params.iter().cloned()).collect());
    let input = tape.constant(batch.input.tensor());
    let labels = Tensor::new(batch.labels.clone(), &[batch.labels.len()])?;
    let output = if name.starts_with("mlp") { model.mlp(&input)? } else { model.net(&input)? };
    let loss = output.cross_entropy(&labels)?;

    let inputs: Vec<_> = params.iter().collect();
    let grad_params =
        scaler.scale(&loss)?.grads(|loss| Ok(loss.grad(&inputs)?.into_iter().flatten()))?;
    assert_eq!(grad_params.len(), params.len());

    let squares = grad_params.iter().map(|grad| grad.mul(grad)?.sum());
    let sum = squares.reduce(|sum, square| sum?.add(&square?)).unwrap()?;
    let grad_norm = sum.sqrt()?;
    let total = loss.add(&grad_norm.scaled_by(weight)?)?;

    let grads = scaler.scale(&total)?.backward(Var::backward)?;
    let step = grads.unscale()?.step(optimizer)?;
    assert!(scaler.update(step)?.resolve()?.is_applied());
    Ok((loss.tensor().to_f32()[0], grad_norm.tensor().to_f32()[0]))
}

#[test]
fn twenty_steps_of_a_penalty_in_f32_are_those_of_pytorch() {
    let region = Region::bf16().off();
    agrees("mlp float32", &region, 1e-5);
    agrees("net float32", &region, 1e-5);
}

#[test]
fn twenty_steps_of_a_penalty_under_autocast_are_near_those_of_pytorch() {
    for (name, dtype) in [("mlp bfloat16", DType::BF16), ("mlp float16", DType::F16)] {
        agrees(name, &Region::new(dtype, OpTable::torch_cpu()).unwrap(), 2e-2);
    }
}
