//! Two ranks, as threads: what one finds, both skip, and both scales move alike.
mod common;

use binade_core::{Finding, Named, Native};
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Scaler, Step};
use common::host::Host;
use common::sgd::Sgd;
use common::{HostScaler, Result, Set, times};
use std::sync::{Arc, Barrier, Mutex};

/// A communicator of two: the first overflow of either reaches both.
#[derive(Clone)]
struct Group(Arc<(Mutex<[Option<Finding>; 2]>, Barrier)>);

impl Group {
    fn new() -> Self {
        Self(Arc::new((Mutex::new([None, None]), Barrier::new(2))))
    }

    /// Joins both ranks' findings; the lower rank's comes first.
    fn all_reduce(&self, rank: usize, found: &mut Finding) {
        let (slots, barrier) = &*self.0;
        slots.lock().expect("no panic")[rank] = Some(found.clone());
        barrier.wait();
        let first =
            slots.lock().expect("no panic").iter().flatten().find_map(|f| f.overflow.clone());
        found.overflow = first;
        barrier.wait();
    }
}

fn scaler(group: &Group, rank: usize) -> Result<HostScaler> {
    let group = group.clone();
    Scaler::reducing(Native::new(), LossScale::dynamic(), move |found| {
        group.all_reduce(rank, found);
        Ok(())
    })
}

/// What became of each step, the weights at the end, and the scale.
type Ran = (Vec<Step>, Vec<f32>, ScaleState);

fn run(group: &Group, rank: usize, sets: &[Set<'_>]) -> Result<Ran> {
    let (mut scaler, mut sgd) = (scaler(group, rank)?, Sgd::new(&[("w", &[1.0])]));
    let mut steps = Vec::new();
    for set in sets {
        let grads = scaler.scale(&Host::f32(&[1.0]))?.backward(|factor| Ok(times(set, factor)))?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut sgd)?;
        steps.push(scaler.update(step)?.resolve()?);
    }
    Ok((steps, sgd.params[0].value.data.clone(), scaler.state()?))
}

fn both(here: &[Set<'_>], there: &[Set<'_>]) -> Result<[Ran; 2]> {
    let group = Group::new();
    std::thread::scope(|threads| {
        let other = threads.spawn(|| run(&group, 1, there));
        let own = run(&group, 0, here)?;
        Ok([own, other.join().expect("no panic")?])
    })
}

fn applied(ran: &Ran) -> Vec<bool> {
    ran.0.iter().map(Step::is_applied).collect()
}

const GOOD: Set<'_> = &[("w", &[1.0])];
const EMPTY: Set<'_> = &[];
const BAD: Set<'_> = &[("w", &[f32::NAN])];

#[test]
fn an_overflow_on_one_rank_skips_on_both_and_both_scales_move_alike() -> Result {
    for (here, there) in [([GOOD; 3], [GOOD, BAD, GOOD]), ([GOOD, BAD, GOOD], [GOOD; 3])] {
        let [own, other] = both(&here, &there)?;
        assert_eq!(applied(&own), [true, false, true]);
        assert_eq!(applied(&own), applied(&other));
        assert_eq!((own.2, &own.1), (other.2, &other.1));
        assert_eq!((own.2.exponent, own.2.skipped), (15, 1));
        assert_eq!(*own.0[1].report().overflow().expect("theirs").parameter, *"w");
    }
    Ok(())
}

#[test]
fn an_overflow_on_both_ranks_is_one_skip_and_one_backoff() -> Result {
    for rank in both(&[GOOD, BAD, GOOD], &[GOOD, BAD, GOOD])? {
        assert_eq!(applied(&rank), [true, false, true]);
        assert_eq!((rank.2.exponent, rank.2.skipped, rank.2.overflows), (15, 1, 1));
    }
    Ok(())
}

#[test]
fn a_rank_with_an_empty_shard_takes_part() -> Result {
    let [own, other] = both(&[EMPTY; 3], &[GOOD, BAD, GOOD])?;
    assert_eq!(applied(&own), [true, false, true]);
    assert_eq!(own.2, other.2);
    assert_eq!((own.1, other.1), (vec![1.0], vec![0.9 - 0.1 * 1.5]));
    Ok(())
}

#[test]
fn a_reduction_that_fails_hands_its_error_through() -> Result {
    let scaler: HostScaler = Scaler::reducing(Native::new(), LossScale::dynamic(), |_| {
        let lost = binade_core::AmpTensor::cast(&Host::f32(&[]), binade_core::DType::U8);
        Err(lost.expect_err("no bytes").into())
    })?;
    assert!(common::unscaled(&scaler, GOOD).is_err());
    Ok(())
}

/// A window of two micro-batches of `x`, whose loss nobody scaled, on one rank.
fn window(group: &Group, rank: usize, x: f32) -> Result<(bool, Vec<f32>)> {
    let (mut scaler, mut sgd) = (scaler(group, rank)?, Sgd::new(&[("w", &[1.0])]));
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for _ in 0..2 {
        let grads = vec![Named::new("w", Some(Host::f32(&[x])))];
        window.add(scaler.never_scaled(grads)?)?;
    }
    let step = window.finish()?.expect("two").step(&mut sgd)?;
    let step = scaler.update(step)?.resolve()?;
    Ok((step.is_applied(), sgd.params[0].value.data.clone()))
}

#[test]
fn a_window_whose_sum_overflows_on_one_rank_is_skipped_on_both() -> Result {
    let group = Group::new();
    std::thread::scope(|threads| {
        let other = threads.spawn(|| window(&group, 1, 1.0));
        let own = window(&group, 0, 3e38)?;
        let other = other.join().expect("no panic")?;
        assert_eq!((own, other), ((false, vec![1.0]), (false, vec![1.0])));
        Ok(())
    })
}
