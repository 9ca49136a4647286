//! Cases 13 to 16: several gradients, optimizers, ranks and micro-batches.

use crate::common::{Result, Weights, device, fixed, step, trained};
use binade_burn::{Burn, BurnOptimizer, BurnTensor, Views};
use binade_core::{DType, Finding};
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Scaler, Step};
use burn::nn::{Embedding, EmbeddingConfig};
use burn::optim::SgdConfig;
use burn::tensor::{FloatDType, Int, Tensor};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

fn one(dtype: DType) -> Result<BurnOptimizer<Weights>> {
    Ok(trained(Weights::new(&[1.0]), dtype, SgdConfig::new().init(), 0.5)?)
}

/// Case 13: pytorch PR #36786. burn's gradient of a table is whole: rows that repeat are added in the view's type.
#[test]
fn rows_that_repeat_and_add_up_to_infinity_are_found() -> Result {
    let table: Embedding = EmbeddingConfig::new(3, 1).init(&device());
    let table = Views::lower(DType::F16).attach(table)?;
    let mut trained = BurnOptimizer::new(table, SgdConfig::new().init(), 1.0);
    let rows = Tensor::<2, Int>::from_ints([[1, 1]], &device());
    let taken = trained.module.forward(rows).mul_scalar(40_000.0);
    let loss = taken.cast(FloatDType::F32).sum();
    let Step::Skipped(report) = step(&mut fixed(0)?, &mut trained, loss)? else {
        panic!("twice 40000 is beyond f16");
    };
    let overflow = report.overflow().expect("it overflowed");
    assert_eq!((&*overflow.parameter, overflow.index), ("weight", 1));
    Ok(())
}

/// Case 14: accelerate#328, "No inf checks were recorded for this optimizer".
#[test]
fn an_optimizer_without_gradients_is_an_error_that_says_so() -> Result {
    let (mut used, mut unused, scaler) = (one(DType::F16)?, one(DType::F16)?, fixed(4)?);
    let loss = used.module.loss(&[1.0]);
    let grads =
        scaler.scale(&BurnTensor::from(loss))?.backward(|loss| loss.backward(&unused.module))?;
    let refused = grads.unscale()?.step(&mut unused).map(|_| ()).expect_err("no gradient");
    assert!(
        refused.to_string().starts_with("no gradient came for any of 1 parameters"),
        "{refused}"
    );
    let loss = used.module.loss(&[1.0]);
    assert!(step(&mut fixed(4)?, &mut used, loss)?.is_applied());
    Ok(())
}

/// Two ranks: a finding of either is known to both.
#[derive(Clone)]
struct Group(Arc<(Mutex<[Option<Finding>; 2]>, Barrier)>);

impl Group {
    fn reduce(&self, rank: usize, found: &mut Finding) {
        let (slots, barrier) = &*self.0;
        slots.lock().expect("no panic")[rank] = Some(found.clone());
        barrier.wait();
        let all = slots.lock().expect("no panic").clone();
        found.overflow = all.into_iter().flatten().find_map(|found| found.overflow);
        barrier.wait();
    }
}

fn rank(group: Group, rank: usize, slopes: [f32; 2]) -> (Vec<f32>, Vec<bool>, ScaleState) {
    let reduce = move |found: &mut Finding, _| {
        group.reduce(rank, found);
        Ok(())
    };
    let mut scaler = Scaler::with_reducer(Burn, LossScale::dynamic(), reduce).expect("a CPU");
    let mut trained = one(DType::F32).expect("a CPU");
    let applied = slopes.map(|slope| {
        let loss = trained.module.loss(&[slope]);
        step(&mut scaler, &mut trained, loss).expect("a CPU").is_applied()
    });
    (trained.module.values(), applied.to_vec(), scaler.state().expect("a CPU"))
}

/// Case 15: fairscale#179.
#[test]
fn two_ranks_of_which_one_overflows_both_skip_and_keep_one_scale() {
    let group = Group(Arc::new((Mutex::new([None, None]), Barrier::new(2))));
    let other = group.clone();
    let there = thread::spawn(|| rank(other, 1, [1.0, f32::INFINITY]));
    let here = rank(group, 0, [1.0, 1.0]);
    let there = there.join().expect("no panic");
    assert_eq!(here.1, [true, false]);
    assert_eq!(here, there);
    assert_eq!((here.0, here.2.factor()), (vec![0.5], 32768.0));
}

/// Runs four micro-batches, the third with a NaN, in a window of this kind.
fn window(bad: BadMicroBatch) -> Result<(Vec<f32>, Step)> {
    let (mut trained, mut scaler) = (one(DType::F16)?, fixed(4)?);
    let mut window = scaler.accumulate(bad);
    for slope in [0.25, 0.25, f32::NAN, 0.5] {
        let loss = trained.module.loss(&[slope]);
        let grads = scaler
            .scale(&BurnTensor::from(loss))?
            .backward(|loss| loss.backward(&trained.module))?;
        window.add(grads.unscale()?)?;
    }
    let sum = window.finish()?.expect("four were added");
    let pending = sum.step(&mut trained)?;
    Ok((trained.module.values(), scaler.update(pending)?.resolve()?))
}

/// Case 16: espnet#3283.
#[test]
fn a_nan_in_the_third_of_four_micro_batches_is_named_and_left_out() -> Result {
    let (values, step) = window(BadMicroBatch::Drop)?;
    assert_eq!(values, [0.5], "{step:?}");
    let parts = &step.report().steps[0].parts;
    let raised: Vec<&str> =
        parts.iter().filter(|part| part.finding.is_raised()).map(|part| &*part.name).collect();
    assert_eq!(raised, ["micro-batch 2"]);
    Ok(())
}

/// Case 16, the other way.
#[test]
fn a_nan_in_the_third_of_four_micro_batches_skips_the_window_where_that_is_asked() -> Result {
    let (values, step) = window(BadMicroBatch::SkipWindow)?;
    assert!(!step.is_applied());
    assert_eq!(values, [1.0]);
    Ok(())
}
