//! Muon: what becomes of singular values, which steps change nothing, and what is refused.

use binade::autocast::CastStats;
use binade::cast_policy::Overrides;
use binade::core::ops::Upload;
use binade::core::{FoundInf, GradSet, LoadError};
use binade::master_weights::{Fp16Optimizer, MasterSet, MasterStep};
use binade::prelude::*;
use binade::{AdjustLr, Muon, MuonError};
use binade_cpu::{Cpu, Error, Gradients, Tensor};
use std::sync::Arc;

/// Muon whose step is the direction with its singular values changed, of a gradient that is its own momentum.
const BARE: Muon = Muon {
    lr: 1.0,
    weight_decay: 0.0,
    momentum: 0.0,
    nesterov: false,
    ns_coefficients: [3.4445, -4.7750, 2.0315],
    eps: 1e-7,
    ns_steps: 5,
    adjust_lr: AdjustLr::Original,
};

const SHAPES: [(&str, [usize; 2]); 3] = [("wide", [4, 7]), ("tall", [6, 3]), ("square", [5, 5])];

/// Returns values between -1 and 1, without a pattern.
fn noise(seed: usize, len: usize) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let one = |place: usize| ((seed * 100 + place).pow(2) as f64 * 0.7).sin();
    (1..=len).map(one).collect()
}

/// Returns an orthogonal matrix: the reflection at a vector.
fn orthogonal(seed: usize, len: usize) -> impl Fn(usize, usize) -> f64 {
    let v = noise(seed, len);
    let square: f64 = v.iter().map(|x| x * x).sum();
    move |row, column| f64::from(u8::from(row == column)) - 2.0 * v[row] * v[column] / square
}

/// Returns the matrix of these singular values, whose singular vectors follow from `seed`.
fn of_singular_values(seed: usize, [rows, columns]: [usize; 2], values: &[f64]) -> Vec<f64> {
    let (u, v) = (orthogonal(seed, rows), orthogonal(seed + 1, columns));
    let one = |row: usize, column: usize| {
        values.iter().enumerate().map(|(k, value)| u(row, k) * value * v(column, k)).sum()
    };
    (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(r, c)| one(r, c))
        .collect()
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn tensor(values: &[f64], shape: &[usize]) -> Tensor {
    let values: Vec<f32> = values.iter().map(|x| *x as f32).collect();
    Cpu.upload(&values, shape, DType::F32).unwrap()
}

/// Returns parameters of all shapes.
fn params() -> Vec<Named<Tensor>> {
    let one = |(name, shape): (&'static str, [usize; 2])| {
        Named::new(name, tensor(&noise(3, shape[0] * shape[1]), &shape))
    };
    SHAPES.map(one).into()
}

fn grads(seed: usize) -> Gradients {
    let one = |(name, shape): (&'static str, [usize; 2])| {
        Named::new(name, Some(tensor(&noise(seed, shape[0] * shape[1]), &shape)))
    };
    Vec::from(SHAPES.map(one)).into()
}

type Outcome = Result<MasterSet<Tensor>, Error>;

/// Returns an optimizer of [`params`] in bf16.
fn begun(
    muon: Muon,
    region: &Region,
) -> Fp16Optimizer<Cpu, impl FnMut(MasterStep<'_, Tensor>) -> Outcome + use<'_>> {
    let state = muon.state(&Cpu, &params()).unwrap();
    let rule = move |step: MasterStep<'_, Tensor>| muon.step(&region.open(&Cpu), step);
    Fp16Optimizer::new(Cpu, params(), DType::BF16, rule).unwrap().with_state(&state).unwrap()
}

fn bits<'t>(sets: impl IntoIterator<Item = &'t [Named<Tensor>]>) -> Vec<Vec<u8>> {
    sets.into_iter().flatten().map(|tensor| tensor.value.to_bits()).collect()
}

/// Returns the direction that `muon` goes for a gradient.
fn direction(muon: Muon, region: &Region, shape: [usize; 2], grad: &[f64]) -> Vec<f64> {
    let zeros = [Named::new("weight", tensor(&vec![0.0; grad.len()], &shape))];
    let grads = vec![Named::new("weight", Some(tensor(grad, &shape)))];
    let step = MasterStep { masters: &zeros, grads: &grads, state: &zeros };
    let next = muon.step(&region.open(&Cpu), step).unwrap();
    next.masters[0].value.to_f32().iter().map(|x| -f64::from(*x)).collect()
}

/// Returns the largest difference.
fn apart(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    assert!(got.iter().chain(want).all(|x| x.is_finite()), "{got:?}");
    got.iter().zip(want).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

#[test]
fn singular_values_go_through_the_polynomial_and_singular_vectors_stay() {
    let [a, b, c] = BARE.ns_coefficients;
    let off = Region::bf16().off();
    for (shape, factor) in [([4, 7], 1.0), ([6, 3], 2.0_f64.sqrt()), ([5, 5], 1.0)] {
        for ns_steps in [0, 1, 5] {
            let values: Vec<f64> =
                noise(9, shape[0].min(shape[1])).iter().map(|x| 3.0 * x.abs() + 0.5).collect();
            let norm = values.iter().map(|x| x * x).sum::<f64>().sqrt();
            let polynomial = |x: f64| a * x + b * x.powi(3) + c * x.powi(5);
            let after = values.iter().map(|x| (0..ns_steps).fold(x / norm, |x, _| polynomial(x)));
            let after: Vec<f64> = after.collect();
            let orthogonal = after.iter().all(|x| (0.67..=1.15).contains(x));
            assert!(orthogonal || ns_steps < 5, "{after:?}");
            let grad = of_singular_values(5, shape, &values);
            let got = direction(Muon { ns_steps, ..BARE }, &off, shape, &grad);
            let scaled: Vec<f64> = after.iter().map(|x| factor * x).collect();
            let want = of_singular_values(5, shape, &scaled);
            let far = apart(&got, &want);
            assert!(far <= 2e-5, "{shape:?} after {ns_steps}: {far:e}");
        }
    }
}

#[test]
fn products_are_cast_by_the_region_and_its_policy_goes_by_the_parameters_name() {
    let grad = noise(4, 28);
    let go = |region: &Region| direction(BARE, region, [4, 7], &grad);
    let exact = go(&Region::bf16().off());
    let rounded = apart(&go(&Region::bf16()), &exact);
    assert!((1e-4..=5e-2).contains(&rounded), "{rounded}");
    let finer = apart(&go(&Region::f16()), &exact);
    assert!(finer <= rounded / 3.0, "{finer}, {rounded}");
    let named = Overrides::over(OpTable::torch_cuda()).path("weight", CastRule::F32);
    assert_eq!(go(&Region::bf16().with_policy(named).unwrap()), exact);
    let other = Overrides::over(OpTable::torch_cuda()).path("other", CastRule::F32);
    assert_eq!(go(&Region::bf16().with_policy(other).unwrap()), go(&Region::bf16()));
}

#[test]
fn an_operand_that_is_both_of_a_product_is_cast_once() {
    let (region, stats) = (Region::bf16(), Arc::new(CastStats::default()));
    let zeros = [Named::new("weight", tensor(&[0.0; 28], &[4, 7]))];
    let grads = vec![Named::new("weight", Some(tensor(&noise(4, 28), &[4, 7])))];
    let step = MasterStep { masters: &zeros, grads: &grads, state: &zeros };
    BARE.step(&region.open(&Cpu).with_stats(stats.clone()), step).unwrap();
    // Results of products are in bf16, so that the first X alone is cast: for its product with itself, once, and for the last one. The
    // polynomial, a sum in f32, is cast in each of five iterations.
    assert_eq!(stats.total().casts, 1 + 1 + 5);
}

#[test]
fn a_gradient_of_zeros_or_below_epsilon_gives_no_step_of_full_size() {
    let off = Region::bf16().off();
    let zeros = direction(Muon { ns_steps: 0, ..BARE }, &off, [2, 2], &[0.0; 4]);
    assert_eq!(zeros, [0.0; 4]);
    let small =
        direction(Muon { ns_steps: 0, eps: 0.5, ..BARE }, &off, [2, 2], &[0.125, 0.0, 0.0, 0.125]);
    assert_eq!(small, [0.25, 0.0, 0.0, 0.25]);
}

#[test]
fn a_step_that_overflows_keeps_momentum_masters_and_parameters() {
    let region = Region::bf16();
    let mut run = begun(Muon::default(), &region);
    let mut raised = FoundInf::default();
    raised.check(&"wide".into(), 0, f32::INFINITY, f32::INFINITY);
    let mut seen = Vec::new();
    for found in [FoundInf::default(), raised.clone(), raised, FoundInf::default()] {
        run.step(grads(seen.len()), &found).unwrap();
        seen.push(bits([run.masters(), run.state(), &run.params]));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
    assert!(seen[2].iter().zip(&seen[3]).all(|(before, after)| before != after));
}

#[test]
fn a_parameter_without_a_gradient_keeps_master_and_momentum_and_others_step_as_before() {
    let region = Region::bf16();
    let (mut run, mut whole) = (begun(Muon::default(), &region), begun(Muon::default(), &region));
    for run in [&mut run, &mut whole] {
        run.step(grads(1), &FoundInf::default()).unwrap();
    }
    let before = bits([run.masters(), run.state()]);
    let all = Cpu.materialise(grads(2)).unwrap();
    let less = all.into_iter().map(|grad| match &*grad.name {
        "tall" => Named::new("tall", None),
        _ => grad,
    });
    run.step(less.collect::<Vec<_>>().into(), &FoundInf::default()).unwrap();
    whole.step(grads(2), &FoundInf::default()).unwrap();
    let [less, whole] = [&run, &whole].map(|run| bits([run.masters(), run.state()]));
    for (place, (less, whole)) in less.iter().zip(&whole).enumerate() {
        let of_tall = place % SHAPES.len() == 1;
        assert_eq!(less, if of_tall { &before[place] } else { whole }, "{place}");
    }
}

#[test]
fn a_run_that_is_loaded_goes_on_with_the_same_bits() {
    let region = Region::bf16();
    let (mut run, mut resumed) = (begun(Muon::default(), &region), begun(Muon::default(), &region));
    run.step(grads(1), &FoundInf::default()).unwrap();
    let saved = run.save().unwrap();
    resumed.load(&saved).unwrap();
    for seed in 2..8 {
        for run in [&mut run, &mut resumed] {
            run.step(grads(seed), &FoundInf::default()).unwrap();
        }
        let [run, resumed] =
            [&run, &resumed].map(|it| bits([it.masters(), it.state(), &it.params]));
        assert_eq!(run, resumed, "{seed}");
    }
    let mut other = saved;
    other.state.remove(1);
    let refused: LoadError<Error> = resumed.load(&other).unwrap_err();
    assert!(refused.to_string().contains("the state of `tall`"), "{refused}");
}

#[test]
fn others_than_matrices_are_refused_by_name_and_shape() {
    for (name, shape) in
        [("bias", &[3][..]), ("kernel", &[2, 1, 3, 3]), ("scale", &[]), ("none", &[0, 3])]
    {
        let len = shape.iter().product();
        let mut all = params();
        all.push(Named::new(name, tensor(&vec![1.0; len], shape)));
        let error = Muon::default().state(&Cpu, &all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let words = format!("`{name}` has the shape {shape:?}");
        assert!(error.to_string().starts_with(&words), "{error}");
    }
}

#[test]
fn hyper_parameters_out_of_range_are_refused_by_name() {
    let muon = Muon::default();
    let table = [
        (Muon { lr: -1e-3, ..muon }, "lr"),
        (Muon { lr: f64::NAN, ..muon }, "lr"),
        (Muon { weight_decay: -0.1, ..muon }, "weight_decay"),
        (Muon { momentum: f64::INFINITY, ..muon }, "momentum"),
        (Muon { eps: 0.0, ..muon }, "eps"),
        (Muon { eps: 1e-60, ..muon }, "eps"),
        (Muon { ns_steps: 100, ..muon }, "ns_steps"),
        (Muon { ns_coefficients: [f64::NAN, 0.0, 0.0], ..muon }, "ns_coefficients[0]"),
        (Muon { ns_coefficients: [1.0, f64::NAN, 0.0], ..muon }, "ns_coefficients[1]"),
        (Muon { ns_coefficients: [1.0, 0.0, f64::INFINITY], ..muon }, "ns_coefficients[2]"),
    ];
    for (muon, name) in table {
        let error = muon.state(&Cpu, &params()).unwrap_err();
        assert!(matches!(&error, MuonError::Rule(rule) if rule.name == name), "{error}");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_policy_that_bans_products_and_a_state_that_is_missing_are_refused_by_name() {
    let banned = Overrides::over(OpTable::torch_cuda()).op("matmul", CastRule::Banned("no".into()));
    let region = Region::bf16().with_policy(banned).unwrap();
    let mut run = begun(Muon::default(), &region);
    let before = bits([run.masters(), run.state()]);
    let error = run.step(grads(1), &FoundInf::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("`wide`: the region's policy refuses"), "{error}");
    assert_eq!(bits([run.masters(), run.state()]), before);

    let rule =
        |step: MasterStep<'_, Tensor>| Muon::default().step(&Region::bf16().open(&Cpu), step);
    let mut stateless = Fp16Optimizer::new(Cpu, params(), DType::BF16, rule).unwrap();
    let error = stateless.step(grads(1), &FoundInf::default()).unwrap_err();
    assert!(error.to_string().contains("`wide`"), "{error}");
}
