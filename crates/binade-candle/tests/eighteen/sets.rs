//! Cases 13 and 15: gradients that are sums, and sets on two ranks.

use super::{Result, optimizer, set, step, values, var};
use binade::prelude::*;
use binade_candle::{Candle, backward};
use binade_core::Finding;
use candle_core::{DType as Type, Device, Tensor, Var};
use std::sync::{Arc, Barrier, Mutex};

#[test]
fn rows_looked_up_twice_whose_gradients_sum_to_infinity_are_found() -> Result {
    let table = Var::zeros((2, 1), Type::F16, &Device::Cpu)?.into_inner();
    let mut optimizer = optimizer(vec![Named::new("table", table)], UpdateRule::sgd(0.1))?;
    let mut scaler = Scaler::new(Candle, LossScale::dynamic())?;
    for (rows, overflows) in [([0_u32, 1, 1], true), ([0, 1, 0], true)] {
        let picked =
            optimizer.params[0].value.index_select(&Tensor::new(&rows, &Device::Cpu)?, 0)?;
        // Each row's own gradient is 40000 in f16, and two are 80000.
        let factor = 40_000.0 / f64::from(scaler.state()?.factor());
        let loss = (picked.to_dtype(Type::F32)?.sum_all()? * factor)?;
        let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &optimizer.params))?;
        let step = grads.unscale()?.step(&mut optimizer)?;
        let step = scaler.update(step)?.resolve()?;
        assert_eq!(!step.is_applied(), overflows);
        let found = step.report().overflow().ok_or("no overflow was told")?;
        assert_eq!((&*found.parameter, found.what()), ("table", "+inf"));
    }
    assert_eq!(values(&optimizer.params[0].value)?, [0.0, 0.0]);
    Ok(())
}

/// Findings of two ranks, and the barrier at which they meet.
type Group = Arc<(Mutex<[Finding; 2]>, Barrier)>;

/// Scaler whose ranks skip if either must.
fn scaler(group: &Group, rank: usize) -> Result<Scaler<Candle>> {
    let group = group.clone();
    Ok(Scaler::with_reducer(Candle, LossScale::dynamic(), move |found: &mut Finding, _| {
        let (slots, barrier) = &*group;
        slots.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[rank] = found.clone();
        barrier.wait();
        let slots = slots.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.overflow = slots.iter().find_map(|found| found.overflow.clone());
        drop(slots);
        barrier.wait();
        Ok(())
    })?)
}

/// Runs a rank; returns which steps were applied, the weight, and the scale.
fn run(group: &Group, rank: usize, grads: [f32; 3]) -> Result<(Vec<bool>, Vec<f32>, ScaleState)> {
    let mut scaler = scaler(group, rank)?;
    let mut sgd = optimizer(vec![var("w", &[1.0], Type::F16)?], UpdateRule::sgd(0.5))?;
    let mut applied = Vec::new();
    for grad in grads {
        let grads = set(&[("w", &[grad * scaler.state()?.factor()])], Type::F16)?;
        applied.push(step(&mut scaler, &mut sgd, grads)?.is_applied());
    }
    Ok((applied, values(&sgd.params[0].value)?, scaler.state()?))
}

#[test]
fn an_infinity_on_one_of_two_ranks_skips_on_both_and_both_scales_are_one() -> Result {
    let group: Group = Arc::new((Mutex::default(), Barrier::new(2)));
    let (here, there) = std::thread::scope(|threads| -> Result<_> {
        let other = threads.spawn(|| run(&group, 1, [0.5, f32::INFINITY, 0.5]));
        let own = run(&group, 0, [0.5, 0.5, 0.5])?;
        Ok((own, other.join().map_err(|_| "the rank panicked")??))
    })?;
    assert_eq!(here.0, [true, false, true]);
    assert_eq!(here, there);
    assert_eq!((here.1, here.2.exponent), (vec![0.5], 15));
    Ok(())
}
