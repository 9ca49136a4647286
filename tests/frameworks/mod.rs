//! Data-parallel training by a framework's own tensors and optimizer, on ranks that are threads: the tests that each framework runs.
//!
//! The model has weights `w` and a bias `b`. Its loss on a shard is `Σ slope · w + 2 · b`, whose gradients are the slopes and 2, so
//! that each test knows the average. Steps are of SGD at a rate of 1.

use binade_core::{DType, Handle};
use binade_grad_scaler::{LossScale, Scaler, Step, StepReport};
use binade_ranks::{Desync, RankDevice, Ranks, RanksError, Threads, threads};
use std::{fmt, thread, time::Duration};

/// Tensors, model and optimizer of a framework.
pub(crate) trait Framework: Sized {
    /// Handle of its tensors.
    type Device: RankDevice<Error: Send> + Clone;

    /// Returns the handle.
    fn device() -> Self::Device;

    /// Makes the model, which computes in `dtype`.
    fn new(weights: &[f32], bias: f32, dtype: DType) -> Self;

    /// Gives the model the parameters of rank 0.
    fn broadcast(&mut self, rank: &Rank<Self>) -> Result<(), Failed<Self>>;

    /// Checks that all ranks have the same parameters.
    fn check_equal(&self, rank: &Rank<Self>) -> Result<(), Failed<Self>>;

    /// Takes one step, clipped to a norm of [`LIMIT`].
    fn step(
        &mut self,
        scaler: &mut Scaler<Rank<Self>>,
        shards: &[Shard],
    ) -> Result<Step, Failed<Self>>;

    /// Returns the `f32` weights that are trained, and the bias.
    fn values(&self) -> Vec<f32>;
}

pub(crate) type Rank<F> = Ranks<<F as Framework>::Device, Threads>;
pub(crate) type Failed<F> = RanksError<<<F as Framework>::Device as Handle>::Error>;

/// Limit of the norm.
pub(crate) const LIMIT: f32 = 4.0;

/// Part of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Shard {
    pub(crate) slopes: Vec<f32>,
    /// True if the loss has the bias in it.
    pub(crate) has_bias: bool,
}

fn shard(slopes: &[f32]) -> Shard {
    Shard { slopes: slopes.to_vec(), has_bias: true }
}

/// Runs each rank in a thread, and returns their results in order.
fn each<T: Send>(ranks: usize, run: impl Fn(usize, Threads) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let run = &run;
        let groups = threads(ranks, Duration::from_mins(1)).into_iter().enumerate();
        let start = |(rank, group)| scope.spawn(move || run(rank, group));
        let running: Vec<_> = groups.map(start).collect();
        running.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// Trains on `shards` of each step, of which each rank has as many, and returns the weights and the bias, and the scale.
fn train<F: Framework>(ranks: usize, steps: &[Vec<Shard>], dtype: DType) -> Vec<(Vec<u32>, f32)> {
    each(ranks, |rank, group| {
        let device = Ranks::new(F::device(), group);
        // Other weights on each rank, until those of rank 0 are broadcast.
        let own = f32::from(u8::try_from(rank).unwrap());
        let mut model = F::new(&[0.5 + own, -0.25, 1.0], own, dtype);
        model.broadcast(&device).unwrap();
        let mut scaler = scaler::<F>(device.clone(), dtype);
        for shards in steps {
            let share = shards.len() / ranks;
            let own = &shards[rank * share..][..share];
            assert!(model.step(&mut scaler, own).unwrap().is_applied());
        }
        model.check_equal(&device).unwrap();
        let bits = model.values().into_iter().map(f32::to_bits).collect();
        (bits, scaler.state().unwrap().factor())
    })
}

/// Scaler whose scale of 2^10 overflows in f16 for slopes above 64.
fn scaler<F: Framework>(device: Rank<F>, dtype: DType) -> Scaler<Rank<F>> {
    let rule = match dtype {
        DType::F16 => LossScale::dynamic().with_init_scale(1024.0).unwrap(),
        _ => LossScale::none(),
    };
    Scaler::new(device, rule).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn one_two_and_four_ranks_end_with_the_same_bits<F: Framework>() {
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let slopes = |step: usize, shard: usize| {
            let x = f32::from(u8::try_from(7 * step + 3 * shard).unwrap());
            [0.1 * x - 1.0, x.sin(), 0.3 / (x + 1.0)]
        };
        let shards = |step| (0..4).map(|place| shard(&slopes(step, place))).collect();
        let steps: Vec<Vec<Shard>> = (0..6).map(shards).collect();
        let one = train::<F>(1, &steps, dtype).remove(0);
        assert_ne!(one.0, train::<F>(1, &steps[..5], dtype)[0].0);
        for ranks in [2, 4] {
            for all in train::<F>(ranks, &steps, dtype) {
                assert_eq!(all, one, "{ranks} ranks in {dtype}");
            }
        }
    }
}

pub(crate) fn shards_are_added_in_the_order_of_ranks<F: Framework>() {
    // 2^54 swallows a one that is added to it, and no other.
    let large = 2.0_f32.powi(54);
    for (terms, mean) in [([1.0, 1.0, large, -large], 0.0), ([large, -large, 1.0, 1.0], 0.5)] {
        let steps = [terms.map(|term| shard(&[term, 0.0, 0.0])).to_vec()];
        for ranks in [1, 2, 4] {
            for (bits, _) in train::<F>(ranks, &steps, DType::BF16) {
                assert_eq!(f32::from_bits(bits[0]), 0.5 - mean, "{ranks} ranks");
                assert_eq!(f32::from_bits(bits[3]), -2.0, "{ranks} ranks");
            }
        }
    }
}

pub(crate) fn an_overflow_of_one_rank_skips_all_at_one_scale_and_is_named<F: Framework>() {
    for bad in [0, 2] {
        let ran = each(3, |rank, group| {
            let device = Ranks::new(F::device(), group);
            let mut model = F::new(&[0.5, 0.25, 1.0], 0.0, DType::F16);
            let mut scaler = scaler::<F>(device, DType::F16);
            let slope = if rank == bad { 1000.0 } else { 1.0 };
            let skipped = model.step(&mut scaler, &[shard(&[1.0, slope, 1.0])]).unwrap();
            let values = model.values();
            // The next step is of all ranks again.
            let applied = model.step(&mut scaler, &[shard(&[1.0, 1.0, 1.0])]).unwrap();
            assert!(applied.is_applied());
            (skipped, values, scaler.state().unwrap())
        });
        for (step, values, scale) in ran {
            let Step::Skipped(report) = step else { panic!("not skipped: {step:?}") };
            let overflow = report.overflow().unwrap();
            let place = (overflow.rank, &*overflow.parameter, overflow.index);
            assert_eq!(place, (u32::try_from(bad).ok(), "w", 1));
            assert_eq!(overflow.scaled, f32::INFINITY);
            let text = report.to_string();
            assert!(text.contains(&format!("w[1] of rank {bad} is +inf")), "{text}");
            assert_eq!(values, [0.5, 0.25, 1.0, 0.0]);
            assert_eq!((scale.factor(), scale.skipped, scale.good_steps), (512.0, 1, 1));
        }
    }
}

pub(crate) fn another_model_or_scale_on_one_rank_is_told_on_all<F: Framework>() {
    let told = |error: Failed<F>| match error {
        RanksError::Desync(Desync { what, ranks, values }) => {
            assert_eq!(ranks, [1]);
            (what, values)
        }
        other => panic!("{}", fmt::from_fn(|f| fmt::Display::fmt(&other, f))),
    };
    let weights = |rank| if rank == 1 { &[1.0, 2.0][..] } else { &[1.0, 2.0, 3.0] };
    for (what, values) in each(3, |rank, group| {
        let mut model = F::new(weights(rank), 0.0, DType::F16);
        told(model.broadcast(&Ranks::new(F::device(), group)).unwrap_err())
    }) {
        assert_eq!(what, "the model");
        assert!(values[0].starts_with("`w` ") && values[0].ends_with(" [3]"), "{values:?}");
        assert!(values[1].starts_with("`w` ") && values[1].ends_with(" [2]"), "{values:?}");
    }
    for (what, values) in each(3, |rank, group| {
        let device = Ranks::new(F::device(), group);
        let mut model = F::new(weights(rank), 0.0, DType::F16);
        let mut scaler = scaler::<F>(device, DType::F16);
        told(model.step(&mut scaler, &[shard(weights(rank))]).unwrap_err())
    }) {
        assert_eq!(what, "the model");
        assert!(values[0].contains("`w`") && values[0].ends_with("[3]"), "{values:?}");
        assert!(values[1].contains("`w`") && values[1].ends_with("[2]"), "{values:?}");
    }
    for (what, values) in each(3, |rank, group| {
        let device = Ranks::new(F::device(), group);
        let mut model = F::new(&[1.0], 0.0, DType::F16);
        let rule = LossScale::fixed(if rank == 1 { 512.0 } else { 1024.0 }).unwrap();
        let mut scaler = Scaler::new(device, rule).unwrap_or_else(|error| panic!("{error}"));
        told(model.step(&mut scaler, &[shard(&[1.0])]).unwrap_err())
    }) {
        assert_eq!(what, "the loss scale");
        assert!(values[0].starts_with("1024") && values[1].starts_with("512"), "{values:?}");
    }
}

pub(crate) fn parted_weights_are_named<F: Framework>() {
    for error in each(3, |rank, group| {
        let bias = if rank == 2 { 1.5 } else { 1.0 };
        let model = F::new(&[1.0, 2.0], bias, DType::F32);
        model.check_equal(&Ranks::new(F::device(), group)).unwrap_err().to_string()
    }) {
        assert!(error.contains("`b with the hash "), "{error}");
        assert!(error.contains("ranks [2] have"), "{error}");
    }
}

pub(crate) fn a_gradient_that_one_rank_lacks_counts_as_zero_and_is_listed<F: Framework>() {
    let missing =
        |report: &StepReport| report.missing().map(ToString::to_string).collect::<Vec<_>>();
    for lacking in [0, 1] {
        for (report, values) in each(2, |rank, group| {
            let device = Ranks::new(F::device(), group);
            let mut model = F::new(&[1.0], 0.5, DType::F16);
            let mut scaler = scaler::<F>(device, DType::F16);
            let own = Shard { slopes: vec![0.5], has_bias: rank != lacking };
            let step = model.step(&mut scaler, &[own]).unwrap();
            (step.into_applied().unwrap(), model.values())
        }) {
            assert_eq!(values, [0.5, -0.5], "rank {lacking} lacks it");
            assert_eq!(missing(&report), ["b"]);
        }
    }
}

/// Makes a test of each function above.
macro_rules! framework_tests {
    ($framework:ty: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                $crate::frameworks::$name::<$framework>();
            }
        )*
    };
    ($framework:ty) => {
        $crate::frameworks::framework_tests! {
            $framework:
            one_two_and_four_ranks_end_with_the_same_bits
            shards_are_added_in_the_order_of_ranks
            an_overflow_of_one_rank_skips_all_at_one_scale_and_is_named
            another_model_or_scale_on_one_rank_is_told_on_all
            parted_weights_are_named
            a_gradient_that_one_rank_lacks_counts_as_zero_and_is_listed
        }
    };
}

pub(crate) use framework_tests;
