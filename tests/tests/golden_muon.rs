//! Steps of `torch.optim.Muon` beside ours, and both beside the formula in `f64`.

use crate::common::golden;
use binade::core::FoundInf;
use binade::core::ops::{Download, Upload};
use binade::prelude::*;
use binade::{AdjustLr, Muon};
use binade_cpu::{Cpu, Gradients};
use binade_master_weights::Fp16Optimizer;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Runs that `tests/data/golden/muon.py` recorded, all from these parameters and by these gradients.
#[derive(Deserialize)]
struct Recording {
    params: BTreeMap<String, Matrix>,
    grads: Vec<BTreeMap<String, Option<Matrix>>>,
    runs: BTreeMap<String, Run>,
}

#[derive(Deserialize)]
struct Run {
    settings: Settings,
    steps: Vec<Step>,
}

/// Arguments of `torch.optim.Muon`.
#[derive(Deserialize)]
struct Settings {
    lr: f64,
    weight_decay: f64,
    momentum: f64,
    nesterov: bool,
    ns_coefficients: [f64; 3],
    eps: f64,
    ns_steps: u32,
    adjust_lr_fn: Option<String>,
}

/// Parameters and momentum after a step.
#[derive(Deserialize)]
struct Step {
    #[serde(rename = "step")]
    number: usize,
    params: BTreeMap<String, Matrix>,
    momentum: BTreeMap<String, Matrix>,
}

/// Matrix, row by row.
#[derive(Clone, Deserialize)]
struct Matrix {
    shape: [usize; 2],
    values: Vec<f64>,
}

impl Matrix {
    fn from_fn(shape: [usize; 2], value: impl Fn(usize, usize) -> f64) -> Self {
        let places = (0..shape[0]).flat_map(|row| (0..shape[1]).map(move |column| (row, column)));
        Self { shape, values: places.map(|(row, column)| value(row, column)).collect() }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.shape[1] + column]
    }

    fn transposed(&self) -> Self {
        Self::from_fn([self.shape[1], self.shape[0]], |row, column| self.at(column, row))
    }

    fn times(&self, other: &Self) -> Self {
        Self::from_fn([self.shape[0], other.shape[1]], |row, column| {
            (0..self.shape[1]).map(|inner| self.at(row, inner) * other.at(inner, column)).sum()
        })
    }

    /// Returns `a * self + b * other`.
    fn sum(&self, a: f64, b: f64, other: &Self) -> Self {
        let one = |(x, y): (&f64, &f64)| a * x + b * y;
        Self { shape: self.shape, values: self.values.iter().zip(&other.values).map(one).collect() }
    }

    fn norm(&self) -> f64 {
        self.values.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// Returns the distance of `self` from `other`, relative to how far `other` is from `start`.
    fn distance(&self, other: &Self, start: &Self) -> f64 {
        let (far, way) = (self.sum(1.0, -1.0, other).norm(), other.sum(1.0, -1.0, start).norm());
        if far == 0.0 { 0.0 } else { far / way }
    }
}

impl Settings {
    fn muon(&self) -> Muon {
        let adjust_lr = match self.adjust_lr_fn.as_deref() {
            None | Some("original") => AdjustLr::Original,
            Some("match_rms_adamw") => AdjustLr::MatchRmsAdamW,
            Some("spectral_unclamped") => AdjustLr::SpectralUnclamped,
            Some(other) => panic!("{other}"),
        };
        let &Self { lr, weight_decay, momentum, nesterov, ns_coefficients, eps, ns_steps, .. } =
            self;
        Muon { lr, weight_decay, momentum, nesterov, ns_coefficients, eps, ns_steps, adjust_lr }
    }

    /// Takes a step by the formula.
    fn step(&self, param: &mut Matrix, momentum: &mut Matrix, grad: &Matrix) {
        *momentum = momentum.sum(self.momentum, 1.0 - self.momentum, grad);
        let direction = if self.nesterov {
            momentum.sum(self.momentum, 1.0 - self.momentum, grad)
        } else {
            momentum.clone()
        };
        let [a, b, c] = self.ns_coefficients;
        let mut x = direction.sum(1.0 / direction.norm().max(self.eps), 0.0, &direction);
        for _ in 0..self.ns_steps {
            let square = x.times(&x.transposed());
            let polynomial = square.sum(b, c, &square.times(&square));
            x = x.sum(a, 1.0, &polynomial.times(&x));
        }
        #[expect(clippy::cast_precision_loss, reason = "a dozen at most")]
        let [rows, columns] = param.shape.map(|extent| extent as f64);
        let factor = match self.adjust_lr_fn.as_deref() {
            Some("match_rms_adamw") => 0.2 * rows.max(columns).sqrt(),
            Some("spectral_unclamped") => (rows / columns).sqrt(),
            _ => (rows / columns).max(1.0).sqrt(),
        };
        *param = param.sum(1.0 - self.lr * self.weight_decay, -self.lr * factor, &x);
    }
}

type Set = Vec<Named<binade_cpu::Tensor>>;

#[expect(clippy::cast_possible_truncation, reason = "recorded from f32")]
fn tensor(matrix: &Matrix) -> binade_cpu::Tensor {
    let values: Vec<f32> = matrix.values.iter().map(|x| *x as f32).collect();
    Cpu.upload(&values, &matrix.shape, DType::F32).unwrap()
}

fn matrix(tensor: &Named<binade_cpu::Tensor>) -> Matrix {
    let values = Cpu.download(&tensor.value).unwrap().into_iter().map(f64::from).collect();
    Matrix { shape: tensor.value.shape().try_into().unwrap(), values }
}

fn gradients(step: &BTreeMap<String, Option<Matrix>>) -> Gradients {
    let one =
        |(name, grad): (&String, &Option<Matrix>)| Named::new(&**name, grad.as_ref().map(tensor));
    step.iter().map(one).collect::<Vec<_>>().into()
}

/// Distances of one parameter after one step: ours from the formula, torch's from the formula, and ours from torch's.
type Distances = [f64; 3];

/// Repeats a run in `region`.
fn repeat(all: &Recording, run: &Run, region: &Region) -> Vec<Distances> {
    let muon = run.settings.muon();
    let params: Set =
        all.params.iter().map(|(name, start)| Named::new(&**name, tensor(start))).collect();
    let state = muon.state(&Cpu, &params).unwrap();
    let ours =
        Fp16Optimizer::new(Cpu, params, DType::F32, |step| muon.step(&region.open(&Cpu), step));
    let mut ours = ours.unwrap().with_state(&state).unwrap();
    let mut exact = all.params.clone();
    let zeros = |start: &Matrix| start.sum(0.0, 0.0, start);
    let mut momentum: BTreeMap<_, _> =
        all.params.iter().map(|(name, start)| (name, zeros(start))).collect();
    let mut far = Vec::new();
    let mut recorded = run.steps.iter().peekable();
    for (number, grads) in all.grads.iter().enumerate() {
        ours.step(gradients(grads), &FoundInf::default()).unwrap();
        for (name, grad) in grads.iter().filter_map(|(name, it)| Some((name, it.as_ref()?))) {
            let momentum = momentum.get_mut(name).unwrap();
            run.settings.step(exact.get_mut(name).unwrap(), momentum, grad);
        }
        let Some(step) = recorded.next_if(|step| step.number == number) else { continue };
        for (own, own_momentum) in ours.masters().iter().zip(ours.state()) {
            let name = own.name.to_string();
            let (start, torchs) = (&all.params[&name], &step.params[&name]);
            let (own, exact) = (matrix(own), &exact[&name]);
            let found = [
                own.distance(exact, start),
                torchs.distance(exact, start),
                own.distance(torchs, start),
            ];
            assert!(found.iter().all(|it| it.is_finite()), "{name} step {number}: {found:?}");
            far.push(found);
            let momentum = (matrix(own_momentum), &step.momentum[&name]);
            let apart = momentum.0.sum(1.0, -1.0, momentum.1).norm();
            assert!(apart <= 1e-6 * momentum.1.norm(), "{name} step {number}: {apart:e}");
        }
    }
    assert!(recorded.next().is_none());
    far
}

/// Returns the distances of all runs, parameters and recorded steps.
fn repeat_all(region: &Region) -> Vec<Distances> {
    let all: Recording = serde_json::from_value(golden("muon.json.gz")).unwrap();
    assert_eq!((all.runs.len(), all.grads.len()), (5, 24));
    let far: Vec<_> = all.runs.values().flat_map(|run| repeat(&all, run, region)).collect();
    assert_eq!(far.len(), 5 * 3 * 5);
    far
}

/// Both round three products an iteration to bf16, by up to 2^-8 of a product each. An iteration multiplies what came before by up to 3.4, and
/// five of them leave a few hundredths of a step.
#[test]
fn twenty_four_steps_with_products_in_bf16_are_as_near_to_the_formula_as_torchs() {
    let far = repeat_all(&Region::bf16());
    #[expect(clippy::cast_precision_loss, reason = "75 of them")]
    let mean = |place: usize| far.iter().map(|it| it[place]).sum::<f64>() / far.len() as f64;
    let largest = |place: usize| far.iter().map(|it| it[place]).fold(0.0, f64::max);
    let found = [0, 1, 2].map(|place| (mean(place), largest(place)));
    println!("ours, torch's, apart: {found:?}");
    assert!(mean(0) <= 1.2 * mean(1), "{found:?}");
    assert!([0, 1, 2].iter().all(|place| largest(*place) <= 0.08), "{found:?}");
}

/// A singular value is multiplied by up to 485, and what `f32` rounded of it with it.
#[test]
fn twenty_four_steps_with_products_in_f32_are_the_formula() {
    let far = repeat_all(&Region::bf16().off());
    let largest = far.iter().map(|it| it[0]).fold(0.0, f64::max);
    println!("{largest:e}");
    assert!(largest <= 1e-4, "{largest:e}");
}
