//! Gradients of look-ups that stay sparse, from the tape to the step.

use crate::common::{Outcome, f32s, plain, tensor};
use binade_core::ops::{Download, Upload};
use binade_core::{
    DType, ErrorKind, FoundInf, GradSet, Gradient, Named, SparseGradient, SparseGrads, SparseRows,
};
use binade_cpu::{Cpu, Error, Gradients, Tensor};
use binade_grad_scaler::{GradOps, GradScaler, LossScale, Norm, ScaleState, Scaler};
use binade_master_weights::{
    Adagrad, Adam, MasterOptimizer, MasterStore, MasterWeights, OptimizerConfig, Sgd, UpdateRule,
};
use binade_tape::{TapeError, Var};
use std::slice;

fn indices(values: &[i64], shape: &[usize]) -> Tensor {
    Cpu.upload_i64(values, shape).unwrap()
}

fn table(shape: &[usize], dtype: DType) -> Named<Tensor> {
    Named::new("table", tensor(shape, 1).cast(dtype).unwrap())
}

/// Look-up by an i64 tensor.
type LookUp = fn(&Var<Cpu>, &Tensor) -> Outcome;

/// Two look-ups of different shapes, of which rows 0 and 3 are in both and row 2 in none, each row with weights of its own.
fn loss(table: &Var<Cpu>, look_up: LookUp) -> Outcome {
    let weights = |shape: &[usize], seed| table.tape().constant(tensor(shape, seed));
    let first = look_up(table, &indices(&[3, 0, 3, 1], &[2, 2]))?.cast(DType::F32)?;
    let second = look_up(table, &indices(&[0, 4, 3], &[3]))?.cast(DType::F32)?;
    let first = first.mul(&weights(&[2, 2, 3], 2))?.sum()?;
    first.add(&second.mul(&weights(&[3, 3], 3))?.sum()?)
}

/// One look-up of the same rows.
fn one_lookup(table: &Var<Cpu>, look_up: LookUp) -> Outcome {
    let rows = look_up(table, &indices(&[3, 0, 3, 1, 0, 4, 3], &[7]))?.cast(DType::F32)?;
    rows.mul(&table.tape().constant(tensor(&[7, 3], 2)))?.sum()
}

#[test]
fn sums_of_several_lookups_are_rounded_once() {
    // 2^-8 is half a unit of 1 in bf16: alone it is lost, and two of them are not.
    let table = Named::new("table", Cpu.upload(&[0.0; 2], &[2, 1], DType::BF16).unwrap());
    let tape = plain();
    let var = tape.parameter(&table);
    let one = |weight: f32| {
        let rows = var.embedding_sparse(&indices(&[1], &[1]))?.cast(DType::F32)?;
        rows.mul(&tape.constant(Cpu.upload(&[weight], &[1, 1], DType::F32)?))?.sum()
    };
    let half = 2.0_f32.powi(-8);
    let loss = one(1.0).unwrap().add(&one(half).unwrap()).unwrap().add(&one(half).unwrap());
    let grads: Gradients = loss.unwrap().backward_sparse().unwrap();
    assert_eq!(whole(&grads), [0.0, 1.0 + 2.0 * half]);
}

#[test]
fn a_use_that_does_not_lead_to_the_loss_leaves_the_gradient_sparse() {
    let (table, tape) = (table(&[5, 3], DType::F32), plain());
    let var = tape.parameter(&table);
    let _logged = var.sum().unwrap();
    let loss = loss(&var, Var::embedding_sparse).unwrap();
    let grads: SparseGrads<Tensor> = loss.backward_sparse().unwrap();
    assert!(matches!(grads.0[0].value, Some(Gradient::Sparse(_))), "{grads:?}");
}

#[test]
fn sets_made_by_hand_that_are_no_sparse_gradients_are_refused_by_name() {
    let set = |values: Tensor, at: Tensor, shape: &[usize]| {
        let rows = SparseRows { indices: at, shape: shape.to_vec() };
        let sparse = Gradient::Sparse(SparseGradient { values, rows });
        Gradients::from(SparseGrads(vec![Named::new("table", Some(sparse))]))
    };
    for (values, at, shape) in [
        (tensor(&[2, 3], 1), indices(&[0, 5], &[2]), &[5, 3][..]),
        (tensor(&[2, 3], 1), indices(&[1, 1], &[2]), &[5, 3]),
        (tensor(&[2, 3], 1), indices(&[1, 0], &[2]), &[5, 3]),
        (tensor(&[2, 3], 1), indices(&[1], &[1]), &[5, 3]),
        (tensor(&[2, 2], 1), indices(&[0, 1], &[2]), &[5, 3]),
        (tensor(&[2, 3], 1), tensor(&[2], 1), &[5, 3]),
        (tensor(&[], 1), indices(&[], &[0]), &[]),
    ] {
        let grads = set(values, at, shape);
        let one = ScaleState::from_exponent(0);
        let error = Cpu.unscale(&mut grads.clone(), &one).unwrap_err();
        assert!(error.to_string().contains("`table`"), "{error}");
        assert!(Cpu.materialise(grads.clone()).is_err());
        assert!(Cpu.accumulate(None, grads, &FoundInf::default()).is_err());
    }
}

#[test]
fn a_sparse_gradient_has_the_rows_of_the_whole_one_bit_for_bit() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let (table, tape) = (table(&[5, 3], dtype), plain());
        // Of several look-ups a whole gradient in sixteen bits is rounded once more.
        let loss = if dtype == DType::F32 { loss } else { one_lookup };
        let whole: Gradients =
            loss(&tape.parameter(&table), Var::embedding).unwrap().backward().unwrap();
        let tape = plain();
        let of_rows = loss(&tape.parameter(&table), Var::embedding_sparse).unwrap();
        let grads: SparseGrads<Tensor> = of_rows.backward_sparse().unwrap();
        let Some(Gradient::Sparse(sparse)) = &grads.0[0].value else { panic!("{grads:?}") };
        assert_eq!(sparse.rows.indices.as_slice::<i64>(), Some(&[0, 1, 3, 4][..]));
        assert_eq!((sparse.values.dtype(), sparse.values.shape()), (dtype, &[4, 3][..]));
        let made_whole = |grads: Gradients| {
            let whole = Cpu.materialise(grads).unwrap().remove(0).value.unwrap();
            Cpu.download(&whole).unwrap()
        };
        let wanted = made_whole(whole);
        assert!(wanted[6..9].iter().all(|x| *x == 0.0) && wanted[9] != 0.0, "{wanted:?}");
        assert_eq!(made_whole(grads.into()), wanted);
        // A plain backward pass gives the whole gradient.
        assert_eq!(made_whole(of_rows.backward().unwrap()), wanted);
    }
}

#[test]
fn a_table_that_anything_else_uses_has_a_whole_gradient() {
    let table = table(&[5, 3], DType::F32);
    let tape = plain();
    let var = tape.parameter(&table);
    let tied = loss(&var, Var::embedding_sparse).unwrap().add(&var.sum().unwrap()).unwrap();
    let grads: SparseGrads<Tensor> = tied.backward_sparse().unwrap();
    let Some(Gradient::Dense(grad)) = &grads.0[0].value else { panic!("{grads:?}") };
    assert_eq!(f32s(grad)[6..9], [1.0; 3]);
    let refused = tied.grad(&[&var]).err();
    assert!(matches!(refused, Some(TapeError::NoDoubleBackward { op: "embedding_sparse" })));
}

/// Steps a table by look-ups, as the script of the recorded values does, and returns it.
fn recorded(config: OptimizerConfig, dtype: DType, sparse: bool) -> Vec<f32> {
    let number = |x: usize| f32::from(u8::try_from(x).unwrap());
    let start: Vec<f32> = (0..18).map(|i| (number((i / 3 * 3 + i % 3) % 7) - 3.0) / 8.0).collect();
    let params = vec![Named::new("table", Cpu.upload(&start, &[6, 3], dtype).unwrap())];
    let mut optimizer = MasterOptimizer::new(Cpu, params, config).unwrap();
    let mut scaler = Scaler::new(Cpu, LossScale::fixed(64.0).unwrap()).unwrap();
    for t in 0..17_usize {
        let at = [t * 5 % 6, (t * 3 + 1) % 6, t * 5 % 6].map(|row| i64::try_from(row).unwrap());
        let weights: Vec<f32> =
            (0..9).map(|i| (number((t + i / 3 * 3 + i % 3) % 5) - 2.0) / 4.0).collect();
        let tape = plain();
        let table = tape.parameter(&optimizer.params[0]);
        let look_up = if sparse { Var::embedding_sparse } else { Var::embedding };
        let rows = look_up(&table, &indices(&at, &[3])).unwrap().cast(DType::F32).unwrap();
        let weights = tape.constant(Cpu.upload(&weights, &[3, 3], DType::F32).unwrap());
        let loss = rows.mul(&weights).unwrap().sum().unwrap();
        let grads = scaler.scale(&loss).unwrap().backward(Var::backward_sparse).unwrap();
        let step = grads.unscale().unwrap().step(&mut optimizer).unwrap();
        assert!(!scaler.update(step).unwrap().resolve().unwrap().report().steps[0].skipped);
    }
    f32s(&optimizer.params[0].value)
}

#[test]
fn seventeen_steps_are_those_of_torchs_sparse_gradients() {
    for (rule, wanted) in [
        (UpdateRule::sgd(0.05), SGD),
        (UpdateRule::adagrad(0.05), ADAGRAD),
        (UpdateRule::sparse_adam(0.05), SPARSE_ADAM),
    ] {
        let got = recorded(OptimizerConfig::new(rule).unwrap(), DType::F32, true);
        for (got, wanted) in got.iter().zip(wanted) {
            assert!((got - wanted).abs() <= 2e-7, "{rule:?}: {got} for {wanted}");
        }
    }
}

#[test]
fn rules_that_keep_rows_without_a_gradient_step_to_the_bits_of_whole_gradients() {
    let stores =
        [MasterStore::Copy, MasterStore::Remainder, MasterStore::Kahan, MasterStore::NoMaster];
    for rule in [UpdateRule::sgd(0.05), UpdateRule::adagrad(0.05)] {
        for (store, dtype) in stores.into_iter().map(|store| (store, DType::BF16)).chain([
            (MasterStore::Copy, DType::F32),
            (MasterStore::Copy, DType::F16),
            (MasterStore::Kahan, DType::F16),
        ]) {
            let config = OptimizerConfig::new(rule).unwrap().with_store(store);
            let run = |sparse| recorded(config.clone(), dtype, sparse);
            assert_eq!(run(true), run(false), "{rule:?} {store:?} {dtype}");
        }
    }
}

#[test]
fn rows_of_state_in_bf16_step_to_the_bits_of_whole_gradients() {
    let UpdateRule::Adagrad(rule) = UpdateRule::adagrad(0.05) else { unreachable!() };
    // No number of bf16, so that sums are rounded in each step.
    let rule = Adagrad { initial_accumulator_value: 0.1, ..rule };
    let wide = OptimizerConfig::new(UpdateRule::Adagrad(rule)).unwrap();
    let low = wide.clone().with_bf16_state(["sum"]);
    let run = |sparse| recorded(low.clone(), DType::F32, sparse);
    assert_eq!(run(true), run(false));
    assert_ne!(run(true), recorded(wide, DType::F32, true));
}

/// Returns a sparse gradient of a table of four rows of two.
fn rows(at: &[i64], values: &[f32], dtype: DType) -> Gradients {
    let tape = plain();
    let table = Named::new("table", Cpu.upload(&[0.0; 8], &[4, 2], dtype).unwrap());
    let rows = tape.parameter(&table).embedding_sparse(&indices(at, &[at.len()])).unwrap();
    let weights = tape.constant(Cpu.upload(values, &[at.len(), 2], DType::F32).unwrap());
    let loss = rows.cast(DType::F32).unwrap().mul(&weights).unwrap().sum().unwrap();
    loss.backward_sparse().unwrap()
}

fn whole(grads: &Gradients) -> Vec<f32> {
    f32s(Cpu.materialise(grads.clone()).unwrap()[0].value.as_ref().unwrap())
}

#[test]
fn an_overflow_made_by_adding_up_is_found_at_its_element_of_the_table() {
    let mut grads = rows(&[3, 1, 3], &[1.0, 4e4, 2.0, 3.0, 4.0, 4e4], DType::F16);
    let found = Cpu.unscale(&mut grads, &ScaleState::from_exponent(0)).unwrap();
    let overflow = found.overflow.unwrap();
    assert_eq!((&*overflow.parameter, overflow.index, found.infinities), ("table", 7, 1));
    // f32 holds the sum.
    let mut grads = rows(&[3, 1, 3], &[1.0, 4e4, 2.0, 3.0, 4.0, 4e4], DType::F32);
    let found = Cpu.unscale(&mut grads, &ScaleState::from_exponent(0)).unwrap();
    assert_eq!((found.is_raised(), found.magnitude), (false, 8e4));
}

#[test]
fn windows_add_sparse_and_whole_gradients_up() {
    let good = FoundInf::default();
    let [first, second] = [
        rows(&[3, 1], &[1.0, 2.0, 3.0, 4.0], DType::F32),
        rows(&[0, 3], &[5.0, 6.0, 7.0, 8.0], DType::F16),
    ];
    let dense = || {
        let value = Some(Cpu.upload(&[1.0; 8], &[4, 2], DType::F32).unwrap());
        Gradients::from(vec![Named::new("table", value)])
    };
    let sum = |sets: &[&Gradients]| {
        let add =
            |sum, grads: &&Gradients| Some(Cpu.accumulate(sum, (*grads).clone(), &good).unwrap());
        sets.iter().fold(None, add).unwrap()
    };
    let both = sum(&[&first, &second]);
    assert_eq!(whole(&both), [5.0, 6.0, 3.0, 4.0, 0.0, 0.0, 8.0, 10.0]);
    // Still sparse: three rows.
    assert_eq!(both.as_stored()[0].value.as_ref().unwrap().shape(), [3, 2]);
    let more = [6.0, 7.0, 4.0, 5.0, 1.0, 1.0, 9.0, 11.0];
    assert_eq!(whole(&sum(&[&both, &dense()])), more);
    assert_eq!(whole(&sum(&[&dense(), &first, &second])), more);
    let bad = FoundInf { halted: true, ..FoundInf::default() };
    let kept = Cpu.accumulate(Some(both.clone()), dense(), &bad).unwrap();
    assert_eq!(whole(&kept), whole(&both));
    let names: Vec<Named<Tensor>> = vec![Named::new("table", tensor(&[4, 2], 1))];
    let saved = Cpu.load_grads(&names, &Cpu.save_grads(&both).unwrap()).unwrap();
    let rows = Cpu.save_rows(&both).unwrap();
    assert_eq!(rows[0].value, [0, 1, 3]);
    let loaded = Cpu.load_rows(saved, &rows).unwrap();
    assert_eq!((whole(&loaded), Cpu.save_rows(&loaded).unwrap()), (whole(&both), rows));
}

#[test]
fn clipping_measures_and_shrinks_the_rows() {
    let clipped = |clip: &dyn Fn(&mut Gradients, &mut FoundInf) -> Result<(), Error>| {
        let mut grads = rows(&[3, 1, 3], &[3.0, 0.0, 0.0, 8.0, 3.0, 0.0], DType::F32);
        let mut found = Cpu.unscale(&mut grads, &ScaleState::from_exponent(0)).unwrap();
        clip(&mut grads, &mut found).unwrap();
        whole(&grads)
    };
    let half = [0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 3.0, 0.0];
    assert_eq!(clipped(&|grads, found| Cpu.clip_norm(grads, Norm::L2, 5.0, found)), half);
    let group = binade_grad_scaler::ClipGroup::new(["table"], Norm::L2, 5.0);
    assert_eq!(
        clipped(&|grads, found| Cpu.clip_groups(grads, slice::from_ref(&group), found)),
        half
    );
    let capped = [0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 5.0, 0.0];
    assert_eq!(clipped(&|grads, _| Cpu.clip_value(grads, 5.0)), capped);
}

#[test]
fn a_rule_or_a_store_that_has_no_step_of_rows_is_refused_by_name_and_nothing_moves() {
    let momentum =
        Sgd { lr: 0.1, momentum: 0.9, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    let copy = MasterStore::Copy;
    for (rule, store, why) in [
        (UpdateRule::Sgd(momentum), copy, "rule"),
        (UpdateRule::adamw(0.1), copy, "rule"),
        (UpdateRule::lion(0.1), copy, "rule"),
        (UpdateRule::sgd(0.1), MasterStore::Stochastic { seed: 1 }, "chance"),
        (UpdateRule::sgd(0.1), MasterStore::ScaledF16, "exponent"),
    ] {
        let mut params = vec![table(&[4, 2], DType::BF16)];
        let config = OptimizerConfig::new(rule).unwrap().with_store(store);
        let mut masters = Cpu.masters(&mut params, &config).unwrap();
        let before = (f32s(&params[0].value), masters.clone());
        let grads = rows(&[1], &[1.0, 1.0], DType::BF16);
        let error = Cpu.step(&mut params, &mut masters, grads, &FoundInf::default()).unwrap_err();
        assert_eq!(binade_core::Error::kind(&error), ErrorKind::Unsupported);
        let text = error.to_string();
        assert!(text.contains("`table`") && text.contains(why), "{text}");
        assert_eq!((f32s(&params[0].value), masters), before);
    }
    let sparse = |change: fn(&mut Adam)| {
        let UpdateRule::Adam(mut adam) = UpdateRule::sparse_adam(0.1) else { unreachable!() };
        change(&mut adam);
        UpdateRule::Adam(adam).validate().is_err()
    };
    assert!(sparse(|adam| adam.weight_decay = 0.1) && sparse(|adam| adam.amsgrad = true));
}

// Recorded from torch 2.15: `nn.Embedding(6, 3, sparse=True)` whose weight at [r, c] is ((3 r + c) mod 7 - 3) / 8, stepped 17 times. In
// step t it is looked up at [5 t mod 6, (3 t + 1) mod 6, 5 t mod 6], and row i of that is weighed by ((t + 3 i + c) mod 5 - 2) / 4.
const SGD: [f32; 18] = [
    -0.3375,
    -0.2875,
    -0.17500001,
    0.0375,
    0.125,
    0.21249998,
    0.42499998,
    -0.3375,
    -0.2875,
    -0.125,
    0.05,
    0.16250001,
    0.17499998,
    0.375,
    -0.3,
    -0.2875,
    -0.17500001,
    -9.313226e-10,
];
const ADAGRAD: [f32; 18] = [
    -0.32426417,
    -0.28058204,
    -0.22243416,
    0.02387212,
    0.10933948,
    0.23430167,
    0.4408114,
    -0.32426417,
    -0.28058204,
    -0.13964465,
    0.06581139,
    0.17573582,
    0.1555454,
    0.3901595,
    -0.27320114,
    -0.28058204,
    -0.22243416,
    -0.014644659,
];
const SPARSE_ADAM: [f32; 18] = [
    -0.27841744,
    -0.22424676,
    -0.2329912,
    0.08372474,
    0.037318233,
    0.26041165,
    0.4279531,
    -0.30217978,
    -0.24739294,
    -0.17257902,
    0.05285012,
    0.19960567,
    0.03067504,
    0.3562491,
    -0.1813555,
    -0.23707633,
    -0.2196312,
    -0.05627684,
];
