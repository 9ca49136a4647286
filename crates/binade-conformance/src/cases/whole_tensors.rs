//! Steps by norms of whole tensors: LAMB, `NovoGrad`, LARS and LARC.
//!
//! The oracle takes a set of parameters through its steps in `f64`, by the formulas of Apex that each function names. A device need not match its
//! bits: a device's norms are sums in its own order, which may round differently, and every later step starts from them.

use super::prelude::*;
use super::steps::variant;
use super::training::{Move, Run};
use super::unscale::unscale;
use binade_master_weights::{GradNorm, Lamb, Lars, NovoGrad, UpdateRule};

/// Names and lengths of the parameters of a run. The second begins at zero, where no norm scales the step. A long run has only the first two.
const TENSORS: [(&str, usize); 4] = [("a", 300), ("zero", 1), ("c", 37), ("d", 5)];

const LAMB: Lamb = Lamb {
    lr: 0.01,
    betas: [0.9, 0.99],
    eps: 1e-6,
    weight_decay: 0.1,
    bias_correction: true,
    adam_w_mode: true,
    grad_averaging: true,
    max_grad_norm: 1.0,
    use_nvlamb: false,
};
const NOVOGRAD: NovoGrad = NovoGrad {
    lr: 0.02,
    betas: [0.9, 0.99],
    eps: 0.1,
    weight_decay: 0.1,
    bias_correction: true,
    reg_inside_moment: false,
    grad_averaging: true,
    norm: GradNorm::L2,
    init_zero: false,
};
const LARC: Lars = Lars {
    lr: 0.1,
    momentum: 0.9,
    dampening: 0.1,
    weight_decay: 0.1,
    nesterov: false,
    trust_coefficient: 0.02,
    clip: true,
    eps: 0.5,
};

/// Returns each rule in both of its modes, and LAMB in two more, by name. The sum of a gradient and its decay may be almost 0; a large `eps` keeps
/// the effect of that sum's error small.
fn rules() -> [(&'static str, UpdateRule); 8] {
    let inside = Lamb {
        weight_decay: 0.0,
        bias_correction: false,
        adam_w_mode: false,
        grad_averaging: false,
        max_grad_norm: 0.0,
        use_nvlamb: true,
        ..LAMB
    };
    let by_largest = NovoGrad {
        bias_correction: false,
        reg_inside_moment: true,
        grad_averaging: false,
        norm: GradNorm::Max,
        init_zero: true,
        ..NOVOGRAD
    };
    let decayed = Lamb { eps: 0.01, adam_w_mode: false, ..LAMB };
    let unadapted = Lamb { weight_decay: 0.0, ..LAMB };
    let scaled = Lars { dampening: 0.0, nesterov: true, clip: false, ..LARC };
    [
        ("lamb", UpdateRule::Lamb(LAMB)),
        ("unclipped_lamb", UpdateRule::Lamb(inside)),
        ("novograd", UpdateRule::NovoGrad(NOVOGRAD)),
        ("novograd_by_the_largest_gradient", UpdateRule::NovoGrad(by_largest)),
        ("larc", UpdateRule::Lars(LARC)),
        ("lars_with_nesterov", UpdateRule::Lars(scaled)),
        ("lamb_with_decay_in_the_gradient", UpdateRule::Lamb(decayed)),
        ("lamb_that_adapts_nothing", UpdateRule::Lamb(unadapted)),
    ]
}

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for (name, rule) in rules() {
        for dtypes in FLOATS.into_iter().flat_map(|param| FLOATS.map(|grad| [param, grad])) {
            for steps in [1, 2] {
                let sentence = format!("{steps}_steps_of_{name}");
                cases.add(variant(dtypes), sentence, move |s: &S, check| {
                    near(&run(dtypes, rule, steps, &TENSORS), s, check)
                });
            }
            skips(cases, dtypes, name, rule);
            absent(cases, dtypes, name, rule);
        }
        let (dtypes, sentence) = ([DType::F32; 2], format!("200_steps_of_{name}"));
        cases.add(variant(dtypes), sentence, move |s: &S, check| {
            near(&run(dtypes, rule, 200, &TENSORS[..2]), s, check)
        });
    }
    for dtype in FLOATS {
        lengths(cases, dtype);
        ratio(cases, dtype);
    }
}

/// Returns a run with gradients of all sizes. Those of the last parameter are zero at first.
fn run(
    dtypes: [DType; 2],
    rule: UpdateRule,
    steps: usize,
    tensors: &[(&'static str, usize)],
) -> Run {
    let mut draw = Draw::new(steps);
    let mut vector = |dtype, len, low, high| {
        Stored::vector(dtype, (0..len).map(|_| draw.spread(low, high)).collect::<Vec<_>>())
    };
    let params = tensors.iter().map(|&(name, len)| match name {
        "zero" => (name, Stored::vector(dtypes[0], [0.0])),
        _ => (name, vector(dtypes[0], len, -8.0, 2.0)),
    });
    let params = params.collect();
    let mut grads = |step: usize| {
        let one = |&(name, len): &(&'static str, usize)| match name {
            "d" if step < 2 => (name, Some(Stored::vector(dtypes[1], vec![0.0; len]))),
            _ => (name, Some(vector(dtypes[1], len, 0.0, 14.0))),
        };
        tensors.iter().map(one).collect()
    };
    Run::new(params, (0..steps).map(|step| Move::new(rule, grads(step), 10)).collect())
}

/// Trains, and compares every parameter with the oracle's.
fn near<S: Backend>(run: &Run, s: &S, check: &mut Check) -> Verdict {
    let wanted = oracle(run);
    run.compare(s, |index, inputs, got| check.tensor(inputs, got, &wanted[index]))
}

/// Adds cases of skipped steps, which leave moments and running norms as they were and are not counted.
fn skips<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2], name: &str, rule: UpdateRule) {
    let sentence = format!("a_skipped_step_of_{name}_leaves_no_trace");
    cases.add(variant(dtypes), sentence, move |s: &S, check| {
        let mut run = run(dtypes, rule, 4, &TENSORS);
        for place in [0, 2] {
            let (_, grad) = &mut run.moves[place].grads[2];
            *grad = grad.as_ref().map(|grad| grad.with(36, f64::INFINITY));
        }
        near(&run, s, check)
    });
}

/// Adds cases of a tensor without a gradient in a step: it keeps its state, and the norm of all gradients is that of the others.
fn absent<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2], name: &str, rule: UpdateRule) {
    let sentence = format!("a_step_of_{name}_goes_by_the_gradients_that_are_there");
    cases.add(variant(dtypes), sentence, move |s: &S, check| {
        let mut run = run(dtypes, rule, 3, &TENSORS);
        run.moves[1].grads[2].1 = None;
        near(&run, s, check)
    });
}

/// Adds cases of two steps of one tensor, whose norms are joined from its parts.
fn lengths<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let all = [0, 1, 4, 5, 8, 33, 257, 1025, 1026, 1027, 4097, LONG[2]];
    cases.lengths(variant([dtype; 2]), all, move |s: &S, check, length| {
        let layout = Layout::Offset(0);
        modes().try_for_each(|rule| near(&single(dtype, length, rule, layout), s, check))
    });
    cases.views(variant([dtype; 2]), move |s: &S, check, layout, length| {
        modes().try_for_each(|rule| near(&single(dtype, length, rule, layout), s, check))
    });
}

/// Returns each rule in one of its modes, and LAMB in one more.
fn modes() -> impl Iterator<Item = UpdateRule> {
    rules().into_iter().step_by(2).map(|(_, rule)| rule)
}

/// Returns a run of two steps of one tensor.
fn single(dtype: DType, length: usize, rule: UpdateRule, layout: Layout) -> Run {
    let mut draw = Draw::new(length);
    let mut vector = |low, high| {
        let values = (0..length).map(|_| draw.spread(low, high));
        Stored::vector(dtype, values.collect::<Vec<_>>()).view(layout)
    };
    let param = vector(-8.0, 2.0);
    let moves = [(); 2].map(|()| (rule, vector(0.0, 14.0)));
    Run::single(param, moves.into())
}

/// Adds cases of norms of 5 and 10, which no arithmetic rounds.
fn ratio<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "a_trust_ratio_is_the_norm_of_the_parameter_over_that_of_the_gradient";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
        let plain = Lars { momentum: 0.0, dampening: 0.0, weight_decay: 0.0, ..LARC };
        let lars = Lars { lr: 1.0, trust_coefficient: 0.5, eps: 0.0, clip: false, ..plain };
        let [param, grad] = [[3.0, 4.0], [6.0 * 1024.0, 8.0 * 1024.0]];
        let [param, grad] = [param, grad].map(|values| Stored::vector(dtype, values));
        let run = Run::single(param, vec![(UpdateRule::Lars(lars), grad)]);
        run.each(s, check, Some(Agreement::Bits), |_| vec![1.5, 2.0])
    });
}

// The oracle.

/// A parameter and its state.
struct Kept {
    values: Vec<f64>,
    mean: Vec<f64>,
    square: Vec<f64>,
    norm: f64,
    steps: i32,
}

impl Kept {
    fn new(param: &Stored) -> Self {
        let zeros = vec![0.0; param.len()];
        let values = param.values().collect();
        Self { values, mean: zeros.clone(), square: zeros, norm: 0.0, steps: 0 }
    }
}

/// Returns the parameters after a run, with room for errors: two roundings for each step, of the larger of the value and 1, and eight for the first
/// step.
fn oracle(run: &Run) -> Vec<Vec<Expected>> {
    let mut all: Vec<Kept> = run.params.iter().map(|(_, param)| Kept::new(param)).collect();
    for turn in &run.moves {
        let (grads, found) = unscale(&turn.grads, turn.scale);
        if found.is_raised() {
            continue;
        }
        let together: Vec<f64> = grads.iter().flatten().flatten().copied().collect();
        let norm = l2(&together);
        for (kept, grad) in all.iter_mut().zip(&grads) {
            let Some(grad) = grad else { continue };
            kept.steps += 1;
            match &turn.rule {
                UpdateRule::Lamb(rule) => lamb(rule, kept, grad, norm),
                UpdateRule::NovoGrad(rule) => novograd(rule, kept, grad),
                UpdateRule::Lars(rule) => lars(rule, kept, grad),
                other => panic!("{other:?} has no formula here"),
            }
        }
    }
    let near = |kept: Kept| {
        let room = 8.0 + 2.0 * f64::from(kept.steps);
        kept.values.into_iter().map(|x| Expected::near(x, room * x.abs().max(1.0))).collect()
    };
    all.into_iter().map(near).collect()
}

fn l2(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Apex's `csrc/multi_tensor_lamb.cu`; `all` is the norm of all gradients together.
fn lamb(rule: &Lamb, kept: &mut Kept, grad: &[f64], all: f64) {
    let [b1, b2] = rule.betas;
    let corrected =
        |beta: f64| if rule.bias_correction { 1.0 - beta.powi(kept.steps) } else { 1.0 };
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
fn novograd(rule: &NovoGrad, kept: &mut Kept, grad: &[f64]) {
    let [b1, b2] = rule.betas;
    let now = match rule.norm {
        GradNorm::L2 => l2(grad),
        GradNorm::Max => grad.iter().fold(0.0, |most: f64, g| most.max(g.abs())),
    };
    let before = if kept.steps == 1 && !rule.init_zero { now } else { kept.norm };
    kept.norm = match rule.norm {
        GradNorm::L2 => (b2 * before * before + (1.0 - b2) * now * now).sqrt(),
        GradNorm::Max => b2 * before + (1.0 - b2) * now,
    };
    let steps = kept.steps;
    let corrected = |beta: f64| if rule.bias_correction { 1.0 - beta.powi(steps) } else { 1.0 };
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
fn lars(rule: &Lars, kept: &mut Kept, grad: &[f64]) {
    let [w, g] = [l2(&kept.values), l2(grad)];
    let measured = w != 0.0 && g != 0.0;
    let rate = rule.trust_coefficient * w / (g + w * rule.weight_decay + rule.eps);
    let rate = if rule.clip { (rate / rule.lr).min(1.0) } else { rate };
    for ((p, m), g) in kept.values.iter_mut().zip(&mut kept.mean).zip(grad) {
        let mut g = if measured { (g + rule.weight_decay * *p) * rate } else { *g };
        *m = if kept.steps == 1 { g } else { rule.momentum * *m + (1.0 - rule.dampening) * g };
        g = if rule.nesterov { g + rule.momentum * *m } else { *m };
        *p -= rule.lr * g;
    }
}
