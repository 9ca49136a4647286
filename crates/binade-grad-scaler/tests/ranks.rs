//! Two ranks, as threads: what one finds, both skip, and both scales move alike.

use crate::common::sgd::Sgd;
use crate::common::{Host, HostScaler, Result, Set, Unscaled, f32s, finish, times};
use binade_core::{FoundInf, HostDevice, HostDeviceError, Named};
use binade_grad_scaler::{
    BadMicroBatch, ClipGroup, LossScale, Norm, Pass, ScaleState, ScaleStore as _, Scaler, Step,
    join_ranks,
};
use std::sync::{Arc, Barrier, Mutex};

/// A communicator of two.
#[derive(Clone)]
struct Group(Arc<Meeting>);

struct Meeting {
    slots: Mutex<[FoundInf; 2]>,
    barrier: Barrier,
    /// Calls of rank 0.
    passes: Mutex<Vec<Pass>>,
}

impl Group {
    fn new() -> Self {
        let (slots, barrier, passes) = (Mutex::default(), Barrier::new(2), Mutex::default());
        Self(Arc::new(Meeting { slots, barrier, passes }))
    }

    fn gather(&self, rank: usize, own: &FoundInf) -> [FoundInf; 2] {
        let Meeting { slots, barrier, .. } = &*self.0;
        slots.lock().expect("no panic")[rank] = own.clone();
        barrier.wait();
        let all = slots.lock().expect("no panic").clone();
        barrier.wait();
        all
    }

    fn join(&self, rank: usize, found: &mut FoundInf, pass: Pass) -> Result {
        if rank == 0 {
            self.0.passes.lock().expect("no panic").push(pass);
        }
        let all = self.gather(rank, found);
        join_ranks(found, pass, &all).map_err(|error| HostDeviceError::Train(error.into()))
    }
}

fn scaler(group: &Group, rank: usize, rule: LossScale) -> Result<HostScaler> {
    let group = group.clone();
    Scaler::with_reducer(HostDevice::new(), rule, move |found, pass| group.join(rank, found, pass))
}

/// Outcome of each step, the weights at the end, and the scale.
type Ran = (Vec<Step>, Vec<f32>, ScaleState);

fn run(group: &Group, rank: usize, rule: LossScale, sets: &[Set<'_>]) -> Result<Ran> {
    let (mut scaler, mut sgd) = (scaler(group, rank, rule)?, Sgd::new(&[("w", &[1.0])]));
    let mut steps = Vec::new();
    for set in sets {
        let grads = scaler.scale(&f32s(&[1.0]))?.backward(|factor| Ok(times(set, factor)))?;
        let step = grads.unscale()?.step(&mut sgd)?;
        steps.push(scaler.update(step)?.resolve()?);
    }
    Ok((steps, sgd.first(), scaler.state()?))
}

/// Runs `each` on two ranks and returns both results.
fn ranks<T: Send>(each: impl Fn(&Group, usize) -> T + Sync) -> ([T; 2], Vec<Pass>) {
    let group = Group::new();
    let ran = std::thread::scope(|threads| {
        let other = threads.spawn(|| each(&group, 1));
        [each(&group, 0), other.join().expect("no panic")]
    });
    let passes = group.0.passes.lock().expect("no panic").clone();
    (ran, passes)
}

fn by(rule: LossScale, here: &[Set<'_>], there: &[Set<'_>]) -> Result<[Ran; 2]> {
    let ([own, other], _) = ranks(|group, rank| run(group, rank, rule, [here, there][rank]));
    Ok([own?, other?])
}

fn both(here: &[Set<'_>], there: &[Set<'_>]) -> Result<[Ran; 2]> {
    by(LossScale::dynamic(), here, there)
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
    let scaler: HostScaler =
        Scaler::with_reducer(HostDevice::new(), LossScale::dynamic(), |_, _| {
            let lost = binade_core::AmpTensor::cast(&f32s(&[]), binade_core::DType::U8);
            Err(lost.expect_err("no bytes").into())
        })?;
    assert!(crate::common::unscaled(&scaler, GOOD).is_err());
    Ok(())
}

/// One step on gradients of `x` by each of two elements, whose loss nobody scaled, after `clip`: whether it was applied, the
/// weights, the scale, and elements counted as infinite.
type Clipped = (bool, Vec<f32>, ScaleState, u64);

fn clipped(
    (group, rank, x): (&Group, usize, f32),
    clip: impl Fn(&HostScaler, Unscaled) -> Result<Option<Unscaled>>,
) -> Result<Clipped> {
    let mut scaler = scaler(group, rank, LossScale::dynamic())?;
    let mut sgd = Sgd::new(&[("w", &[1.0, 1.0])]);
    let grads = vec![Named::new("w", Some(f32s(&[x, x])))];
    let clipped = clip(&scaler, scaler.check_unscaled(grads)?)?.expect("gradients");
    let step = finish(clipped, &mut scaler, &mut sgd)?;
    let counted = step.report().steps[0].verdict.infinities;
    Ok((step.is_applied(), sgd.first(), scaler.state()?, counted))
}

/// Finite, of a norm beyond f32.
const LARGE: f32 = 3e38;

fn skipped_on_both([own, other]: [Result<Clipped>; 2]) -> Result {
    let (own, other) = (own?, other?);
    assert_eq!(own, other);
    assert_eq!((own.0, own.1, own.2.exponent), (false, vec![1.0, 1.0], 15));
    Ok(())
}

#[test]
fn a_norm_beyond_f32_on_one_rank_skips_on_both_or_drops_the_micro_batch_on_both() -> Result {
    type Clip = fn(&HostScaler, Unscaled) -> Result<Option<Unscaled>>;
    let clips: [Clip; 3] = [
        |_, grads| grads.clip_norm(1.0).map(Some),
        |_, grads| grads.clip_groups(&[ClipGroup::new(["w"], Norm::L2, 1.0)]).map(Some),
        |scaler, grads| {
            let mut window = scaler.accumulate(BadMicroBatch::Drop);
            window.add(grads.clip_norm(1.0)?)?;
            window.finish()
        },
    ];
    for clip in clips {
        let (ran, passes) = ranks(|group, rank| clipped((group, rank, [LARGE, 0.25][rank]), clip));
        assert_eq!(passes[..2], [Pass::Gradients, Pass::Norm]);
        skipped_on_both(ran)?;
    }
    Ok(())
}

#[test]
fn ranks_that_hold_shards_are_refused_rather_than_clipped_each_by_its_own_norm() {
    let clip = |_: &HostScaler, grads: Unscaled| grads.clip_norm(1.0).map(Some);
    let (ran, _) = ranks(|group, rank| clipped((group, rank, [3.0, 4.0][rank]), clip));
    for refused in ran {
        let text = refused.expect_err("shards").to_string();
        assert!(text.starts_with("rank 1 clips by a norm of 5.656"), "{text}");
    }
}

#[test]
fn ranks_with_the_same_gradients_clip_alike() -> Result {
    let clip = |_: &HostScaler, grads: Unscaled| grads.clip_norm(1.0).map(Some);
    let (ran, _) = ranks(|group, rank| clipped((group, rank, 4.0), clip));
    let [own, other] = ran;
    let (own, other) = (own?, other?);
    assert_eq!(own, other);
    assert!(own.0 && own.1[0] < 1.0);
    let (ran, _) = ranks(|group, rank| clipped((group, rank, f32::INFINITY), clip));
    for ran in ran {
        assert_eq!(ran?.3, 4, "two elements on each of two ranks, though a clip joins them again");
    }
    Ok(())
}

#[test]
fn ranks_that_predict_the_scale_learn_from_the_largest_gradient_of_all() -> Result {
    const SMALL: Set<'_> = &[("w", &[0.001])];
    let rule = LossScale::preset("log-max").unwrap();
    let [own, other] = by(rule, &[SMALL; 9], &[GOOD; 9])?;
    let [alone, _] = by(rule, &[GOOD; 9], &[GOOD; 9])?;
    assert_eq!((own.2, other.2), (alone.2, alone.2));
    Ok(())
}

#[test]
fn joined_findings_name_the_first_ranks_overflow_and_keep_what_is_missing_here() {
    let name = |parameter: &str| std::sync::Arc::<str>::from(parameter);
    let mut bad = FoundInf { halted: true, nans: 0, ..FoundInf::default() };
    bad.check(&name("w"), 3, f32::NAN, f32::NAN);
    let mut worse = FoundInf { magnitude: 7.0, ..FoundInf::default() };
    worse.check(&name("v"), 1, f32::INFINITY, f32::INFINITY);
    let mut own = FoundInf { missing: vec![name("b")], magnitude: 2.0, ..FoundInf::default() };
    let all = [own.clone(), bad, worse];
    join_ranks(&mut own, Pass::Gradients, &all).expect("no norms");
    let overflow = own.overflow.as_ref().expect("raised");
    assert_eq!((&*overflow.parameter, overflow.index, own.halted), ("w", 3, true));
    assert_eq!((own.infinities, own.nans, own.magnitude), (1, 1, 7.0));
    assert_eq!(own.missing, [name("b")]);
}

#[test]
fn a_reduction_on_the_host_replaces_what_a_device_has_found() -> Result {
    let device = HostDevice::<Host>::new();
    let mut found = FoundInf { magnitude: 2.0, ..FoundInf::default() };
    device.reduce_on_host(&mut found, |own| {
        own.halted = own.magnitude > 1.0;
        Ok(())
    })?;
    assert_eq!((found.halted, found.magnitude), (true, 2.0));
    Ok(())
}

/// A window of two micro-batches of `x`, whose loss nobody scaled, on one rank.
fn window(group: &Group, rank: usize, x: f32) -> Result<(bool, Vec<f32>)> {
    let mut scaler = scaler(group, rank, LossScale::dynamic())?;
    let mut sgd = Sgd::new(&[("w", &[1.0])]);
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for _ in 0..2 {
        let grads = vec![Named::new("w", Some(f32s(&[x])))];
        window.add(scaler.check_unscaled(grads)?)?;
    }
    let step = finish(window.finish()?.expect("two"), &mut scaler, &mut sgd)?;
    Ok((step.is_applied(), sgd.first()))
}

#[test]
fn a_window_whose_sum_overflows_on_one_rank_is_skipped_on_both() -> Result {
    let ([own, other], _) = ranks(|group, rank| window(group, rank, [3e38, 1.0][rank]));
    assert_eq!((own?, other?), ((false, vec![1.0]), (false, vec![1.0])));
    Ok(())
}
