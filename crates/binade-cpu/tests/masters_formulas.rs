//! 200 steps by each rule that steps whole tensors, beside Apex's formulas in `f64`.

use crate::sets::{Part, Random, config, name, params, unscaled, whole_rules};
use binade_core::{DType, Optimizer as _};
use binade_cpu::Cpu;
use binade_master_weights::{GradNorm, Lamb, Lars, MasterOptimizer, NovoGrad, UpdateRule};

const LENGTHS: [usize; 4] = [300, 37, 1, 5];
const STEPS: i32 = 200;
/// Largest difference, beside 1 or the value: 200 steps of a few roundings of 2^-24 each.
const BOUND: f64 = 2e-5;

/// A parameter and its state in `f64`, by the rules' papers.
#[derive(Default)]
struct Kept {
    values: Vec<f64>,
    mean: Vec<f64>,
    square: Vec<f64>,
    norm: f64,
}

fn l2(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Apex's `csrc/multi_tensor_lamb.cu`.
fn lamb(rule: &Lamb, kept: &mut Kept, grad: &[f64], (all, t): (f64, i32)) {
    let [b1, b2] = rule.betas;
    let corrected = |beta: f64| if rule.bias_correction { 1.0 - beta.powi(t) } else { 1.0 };
    let divisor = if rule.max_grad_norm > 0.0 { (all / rule.max_grad_norm).max(1.0) } else { 1.0 };
    let share = if rule.grad_averaging { 1.0 - b1 } else { 1.0 };
    let mut update = Vec::new();
    for (i, grad) in grad.iter().enumerate() {
        let (param, mean, square) = (kept.values[i], &mut kept.mean[i], &mut kept.square[i]);
        let (inside, outside) =
            if rule.adam_w_mode { (0.0, rule.weight_decay) } else { (rule.weight_decay, 0.0) };
        let grad = grad / divisor + inside * param;
        *mean = b1 * *mean + share * grad;
        *square = b2 * *square + (1.0 - b2) * grad * grad;
        let root = (*square / corrected(b2)).sqrt() + rule.eps;
        update.push(*mean / corrected(b1) / root + outside * param);
    }
    let [w, u] = [l2(&kept.values), l2(&update)];
    let adapts = (rule.use_nvlamb || rule.weight_decay != 0.0) && w != 0.0 && u != 0.0;
    let rate = if adapts { rule.lr * w / u } else { rule.lr };
    kept.values.iter_mut().zip(update).for_each(|(p, u)| *p -= rate * u);
}

/// Apex's `csrc/multi_tensor_novograd.cu`, and the beginning of `apex/optimizers/fused_novograd.py`.
fn novograd(rule: &NovoGrad, kept: &mut Kept, grad: &[f64], t: i32) {
    let [b1, b2] = rule.betas;
    let now = match rule.norm {
        GradNorm::L2 => l2(grad),
        GradNorm::Max => grad.iter().fold(0.0, |most: f64, g| most.max(g.abs())),
    };
    let before = if t == 1 && !rule.init_zero { now } else { kept.norm };
    kept.norm = match rule.norm {
        GradNorm::L2 => (b2 * before * before + (1.0 - b2) * now * now).sqrt(),
        GradNorm::Max => b2 * before + (1.0 - b2) * now,
    };
    let corrected = |beta: f64| if rule.bias_correction { 1.0 - beta.powi(t) } else { 1.0 };
    let divisor = kept.norm / corrected(b2).sqrt() + rule.eps;
    let share = if rule.grad_averaging { 1.0 - b1 } else { 1.0 };
    for ((p, m), g) in kept.values.iter_mut().zip(&mut kept.mean).zip(grad) {
        let decay = rule.weight_decay * *p;
        if rule.reg_inside_moment {
            *m = b1 * *m + share * (g / divisor + decay);
            *p -= rule.lr * *m / corrected(b1);
        } else {
            *m = b1 * *m + share * g;
            *p -= rule.lr * (*m / corrected(b1) / divisor + decay);
        }
    }
}

/// Apex's `apex/parallel/LARC.py`, around torch's SGD.
fn lars(rule: &Lars, kept: &mut Kept, grad: &[f64], t: i32) {
    let [w, g] = [l2(&kept.values), l2(grad)];
    let measured = w != 0.0 && g != 0.0;
    let rate = rule.trust_coefficient * w / (g + w * rule.weight_decay + rule.eps);
    let rate = if rule.clip { (rate / rule.lr).min(1.0) } else { rate };
    for ((p, m), g) in kept.values.iter_mut().zip(&mut kept.mean).zip(grad) {
        let mut g = if measured { (g + rule.weight_decay * *p) * rate } else { *g };
        *m = if t == 1 { g } else { rule.momentum * *m + (1.0 - rule.dampening) * g };
        g = if rule.nesterov { g + rule.momentum * *m } else { *m };
        *p -= rule.lr * g;
    }
}

fn wide(part: &Part) -> Vec<f64> {
    part.data.iter().map(|x| f64::from(*x)).collect()
}

/// Parameters of some size: the third begins at zero, where no norm scales anything.
fn start(dtype: DType) -> Vec<Part> {
    let part = |(seed, len): (u64, usize)| Random(seed).part(dtype, len);
    let mut set: Vec<Part> = (1..).zip(LENGTHS).map(part).collect();
    set[2].data = vec![0.0];
    set
}

/// Gradients of all sizes; those of the last parameter are zero at first.
fn grads(step: i32) -> Vec<Part> {
    let seed = u64::try_from(step).unwrap() * 100;
    let part = |(seed, len): (u64, usize)| Random(seed).part(DType::F32, len);
    let mut set: Vec<Part> = (seed..).zip(LENGTHS).map(part).collect();
    if step <= 2 {
        set[3].data = vec![0.0; LENGTHS[3]];
    }
    set
}

fn follow(rule: UpdateRule, dtype: DType) {
    let set = start(dtype);
    let mut optimizer = MasterOptimizer::new(Cpu, params(&set), config(rule)).unwrap();
    let fresh = |part: &Part| {
        let zeros = vec![0.0; part.data.len()];
        // The masters are what the optimizer was given.
        let values = optimizer_values(part);
        Kept { values, mean: zeros.clone(), square: zeros, norm: 0.0 }
    };
    let mut all: Vec<Kept> = set.iter().map(fresh).collect();
    for t in 1..=STEPS {
        let set = grads(t);
        let wide: Vec<Vec<f64>> = set.iter().map(wide).collect();
        let scaled: Vec<Part> = set;
        let (grads, found) = unscaled(&scaled, 0);
        optimizer.step(grads, &found).unwrap();
        let norm = l2(&wide.concat());
        for (kept, grad) in all.iter_mut().zip(&wide) {
            match &rule {
                UpdateRule::Lamb(rule) => lamb(rule, kept, grad, (norm, t)),
                UpdateRule::NovoGrad(rule) => novograd(rule, kept, grad, t),
                UpdateRule::Lars(rule) => lars(rule, kept, grad, t),
                other => panic!("{other:?} has no formula here"),
            }
        }
        for (number, (now, kept)) in optimizer.export_f32().unwrap().iter().zip(&all).enumerate() {
            assert_eq!(&*now.name, name(number));
            for (got, want) in now.value.iter().zip(&kept.values) {
                let off = (f64::from(*got) - want).abs() / want.abs().max(1.0);
                assert!(off <= BOUND, "{rule:?} {dtype}, step {t}, {number}: {got} for {want}");
            }
        }
    }
}

/// The values that a parameter of its type begins with.
fn optimizer_values(part: &Part) -> Vec<f64> {
    crate::sets::tensor(part).to_f32().iter().map(|x| f64::from(*x)).collect()
}

#[test]
fn two_hundred_steps_of_whole_tensors_follow_apexs_formulas() {
    for rule in whole_rules() {
        for dtype in [DType::F32, DType::F16] {
            follow(rule, dtype);
        }
    }
}

/// The exact norms are 5 and 10; in halves the gradient has twice its norm.
#[test]
fn a_trust_ratio_is_the_norm_of_the_parameter_over_that_of_the_gradient() {
    let UpdateRule::Lars(larc) = UpdateRule::larc(1.0) else { unreachable!() };
    let rule = UpdateRule::Lars(Lars { trust_coefficient: 0.5, eps: 0.0, clip: false, ..larc });
    let set = [Part { dtype: DType::F32, data: vec![3.0, 4.0] }];
    let mut optimizer = MasterOptimizer::new(Cpu, params(&set), config(rule)).unwrap();
    let (grads, found) = unscaled(&[Part { dtype: DType::F32, data: vec![6.0, 8.0] }], 0);
    optimizer.step(grads, &found).unwrap();
    assert_eq!(optimizer.params[0].value.as_slice::<f32>(), Some(&[1.5, 2.0][..]));
}
