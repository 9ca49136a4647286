//! Ranks of which one is on this device: the hook reads this rank's finding, and writes that of all ranks.

use crate::support::{Device, Result, gpu, set};
use binade_core::{DType, Error, FoundInf, Handle, Optimizer};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, Pass, ScaleState, Scaler, join_ranks};
use std::marker::PhantomData;
use std::sync::{Arc, Barrier, Mutex};

crate::tests![
    a_norm_beyond_f32_on_either_rank_skips_on_both,
    ranks_that_predict_the_scale_learn_from_the_largest_gradient_of_all,
];

/// Two ranks, which meet here.
#[derive(Clone)]
struct Group(Arc<(Mutex<[FoundInf; 2]>, Barrier)>);

impl Group {
    fn join(&self, rank: usize, found: &mut FoundInf, pass: Pass) {
        let (slots, barrier) = &*self.0;
        slots.lock().unwrap()[rank] = found.clone();
        barrier.wait();
        let all = slots.lock().unwrap().clone();
        barrier.wait();
        join_ranks(found, pass, &all).unwrap();
    }
}

/// Optimizer without parameters: its outcome tells if a step was applied.
struct Idle<E>(PhantomData<E>);

impl<G, F, E: Error> Optimizer<G, F> for Idle<E> {
    type Error = E;

    fn step(&mut self, _grads: G, _found: &F) -> Result<(), E> {
        Ok(())
    }
}

/// Outcomes of the steps: true if it was applied, and the scale after it.
type Ran = Vec<(bool, ScaleState)>;

fn rank<D: Device + Send + Sync>(
    (device, group, rank): (D, Group, usize),
    rule: LossScale,
    clip: bool,
    each: &[f32],
) -> Ran {
    let here = device.clone();
    let mut scaler = Scaler::with_reducer(device.clone(), rule, move |found, pass| {
        here.reduce_on_host(found, |own| {
            group.join(rank, own, pass);
            Ok(())
        })
    })
    .unwrap();
    let mut idle = Idle::<<D as Handle>::Error>(PhantomData);
    let step = |x: &f32| {
        let grads = set(&device, &[("w", Some(vec![*x, *x]))], DType::F32);
        let grads = scaler.check_unscaled(grads).unwrap();
        let grads = if clip { grads.clip_norm(1.0).unwrap() } else { grads };
        let step = grads.step(&mut idle).unwrap();
        let applied = scaler.update(step).unwrap().resolve().unwrap().is_applied();
        (applied, scaler.state().unwrap())
    };
    each.iter().map(step).collect()
}

/// Runs this device as one rank and the CPU as another, and asserts that every step ends alike.
fn both(own: usize, rule: LossScale, clip: bool, each: [&[f32]; 2]) -> Ran {
    let group = Group(Arc::new((Mutex::default(), Barrier::new(2))));
    std::thread::scope(|threads| {
        let other = (Cpu, group.clone(), 1 - own);
        let other = threads.spawn(|| rank(other, rule, clip, each[1 - own]));
        let here = rank((gpu(), group, own), rule, clip, each[own]);
        assert_eq!(here, other.join().unwrap());
        here
    })
}

fn a_norm_beyond_f32_on_either_rank_skips_on_both() -> Result {
    for own in [0, 1] {
        let ran = both(own, LossScale::dynamic(), true, [&[0.25, 3e38, 0.5], &[0.25, 0.25, 0.5]]);
        let applied: Vec<bool> = ran.iter().map(|(applied, _)| *applied).collect();
        assert_eq!(applied, [true, false, true]);
        assert_eq!((ran[2].1.exponent, ran[2].1.skipped), (15, 1));
    }
    Ok(())
}

fn ranks_that_predict_the_scale_learn_from_the_largest_gradient_of_all() -> Result {
    let rule = LossScale::preset("log-max").unwrap();
    let (small, large): (&[f32], &[f32]) = (&[0.001; 5], &[1.0; 5]);
    let alone = both(0, rule, false, [large, large]);
    for own in [0, 1] {
        assert_eq!(both(own, rule, false, [small, large]), alone);
    }
    Ok(())
}
