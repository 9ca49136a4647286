//! Found-inf results of clips and windows, and magnitudes: in a naive loop they make ranks diverge, while `Ranks` keeps them together.
//!
//! The naive loop averages in its optimizer: each rank unscales and clips its own gradients, and steps by the mean in `f32`. It skips
//! on one rank what it applies on the other.

use crate::common::{each, set, tensor};
use binade_core::{DType, FoundInf, GradSet, Named, NamedGrads, Optimizer};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{BadMicroBatch, GradOps, LossScale, ScaleState, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_ranks::{Group, Ranks, Threads};

/// Gradients of one parameter: by step, by micro-batch, by rank.
type Steps<'a> = &'a [&'a [[[f32; 2]; 2]]];

/// Outcome of a run: each step's, true if it was applied, then the weights' bits and the scale.
type Ran = (Vec<bool>, Vec<u8>, ScaleState);

/// Settings of a loop.
#[derive(Clone, Copy)]
struct Loop {
    rule: LossScale,
    clip: Option<f32>,
    bad: BadMicroBatch,
}

fn run<D, O>(
    device: D,
    rank: usize,
    mut optimizer: O,
    Loop { rule, clip, bad }: Loop,
    steps: Steps<'_>,
) -> (Vec<bool>, ScaleState, O)
where
    D: GradOps<Grads: From<NamedGrads<Tensor>>>,
    O: Optimizer<D::Grads, D::Found, Error = D::Error>,
{
    let mut scaler = Scaler::new(device, rule).unwrap();
    let step = |micro_batches: &&[[[f32; 2]; 2]]| {
        let mut window = scaler.accumulate(bad);
        for micro_batch in *micro_batches {
            let grads = set(&[("w", &micro_batch[rank])], DType::F32);
            window.add(scaler.check_unscaled(grads.into()).unwrap()).unwrap();
        }
        let mut grads = window.finish().unwrap().unwrap();
        if let Some(max) = clip {
            grads = grads.clip_norm(max).unwrap();
        }
        let step = grads.step(&mut optimizer).unwrap();
        scaler.update(step).unwrap().resolve().unwrap().is_applied()
    };
    let applied = steps.iter().map(step).collect();
    (applied, scaler.state().unwrap(), optimizer)
}

fn weights() -> (Vec<Named<Tensor>>, OptimizerConfig) {
    let params = vec![Named::new("w", tensor(&[1.0, -1.0], DType::F32))];
    (params, OptimizerConfig::new(UpdateRule::sgd(0.125)).unwrap())
}

/// Optimizer that steps by the mean of the ranks' gradients.
struct Averaging {
    inner: MasterOptimizer<Cpu>,
    group: Threads,
}

impl Optimizer<Gradients, FoundInf> for Averaging {
    type Error = binade_cpu::Error;

    fn step(&mut self, grads: Gradients, found: &FoundInf) -> Result<(), binade_cpu::Error> {
        let mut grads = Cpu.materialise(grads)?;
        for grad in &mut grads {
            let own = grad.value.as_ref().map_or(vec![0; 8], Tensor::to_bits);
            let mut all = vec![0; 2 * own.len()];
            self.group.all_gather(&own, &[own.len(); 2], &mut all).unwrap();
            let ranks: Vec<_> = all
                .chunks(own.len())
                .map(|bits| Tensor::from_bits(bits, DType::F32, &[2]).unwrap())
                .collect();
            let [a, b] = [0, 1].map(|rank| ranks[rank].to_f32());
            let mean: Vec<f32> = a.iter().zip(&*b).map(|(a, b)| (a + b) / 2.0).collect();
            grad.value = Some(tensor(&mean, DType::F32));
        }
        self.inner.step(grads.into(), found)
    }
}

fn naive(settings: Loop, steps: Steps<'_>) -> [Ran; 2] {
    let ran = each(2, |group| {
        let rank = group.rank();
        let (params, config) = weights();
        let inner = MasterOptimizer::new(Cpu, params, config).unwrap();
        let (applied, scale, optimizer) =
            run(Cpu, rank, Averaging { inner, group }, settings, steps);
        (applied, optimizer.inner.params[0].value.to_bits(), scale)
    });
    ran.try_into().unwrap()
}

fn together(settings: Loop, steps: Steps<'_>) -> Ran {
    let ran = each(2, |group| {
        let (rank, device) = (group.rank(), Ranks::new(Cpu, group));
        let (params, config) = weights();
        let optimizer = MasterOptimizer::new(device.clone(), params, config).unwrap();
        let (applied, scale, optimizer) = run(device, rank, optimizer, settings, steps);
        (applied, optimizer.params[0].value.to_bits(), scale)
    });
    let [own, other] = <[Ran; 2]>::try_from(ran).unwrap();
    assert_eq!(own, other);
    own
}

const PLAIN: Loop = Loop { rule: LossScale::dynamic(), clip: None, bad: BadMicroBatch::SkipWindow };

#[test]
fn a_norm_beyond_f32_on_one_rank_is_clipped_or_skipped_on_both() {
    let clip = Loop { clip: Some(1.0), ..PLAIN };
    // Each element is finite, and the norm of rank 1 is not. That of the average is.
    let steps: Steps<'_> = &[&[[[0.5, 0.25], [3e38, -3e38]]], &[[[0.5; 2]; 2]]];
    let [own, other] = naive(clip, steps);
    assert_eq!((own.0, other.0), (vec![true, true], vec![false, true]), "seen without ranks");
    assert!(own.1 != other.1 && own.2 != other.2, "weights and scales have parted");
    assert_eq!(together(clip, steps).0, [true, true]);
    // The average's norm is not finite either.
    let steps: Steps<'_> = &[&[[[3e38, 3e38]; 2]], &[[[0.5; 2]; 2]]];
    let (applied, _, scale) = together(clip, steps);
    assert_eq!((applied, scale.skipped), (vec![false, true], 1));
}

#[test]
fn a_micro_batch_that_overflows_on_one_rank_is_left_out_on_both() {
    let steps: Steps<'_> =
        &[&[[[0.5; 2], [f32::INFINITY, 0.5]]], &[[[0.5; 2], [0.5; 2]], [[0.5; 2], [f32::NAN; 2]]]];
    let drop = Loop { bad: BadMicroBatch::Drop, ..PLAIN };
    let [own, other] = naive(drop, steps);
    assert_eq!((own.0, other.0), (vec![true, true], vec![false, true]), "seen without ranks");
    assert!(own.1 != other.1 && own.2 != other.2, "weights and scales have parted");
    let (applied, bits, scale) = together(drop, steps);
    assert_eq!((applied, scale.skipped, scale.overflows), (vec![false, true], 1, 2));
    // The second step uses the one micro-batch that is finite on both ranks.
    assert_eq!(bits, tensor(&[0.9375, -1.0625], DType::F32).to_bits());
    let (applied, _, scale) = together(PLAIN, steps);
    assert_eq!((applied, scale.skipped), (vec![false, false], 2));
}

#[test]
fn a_sum_that_overflows_skips_on_both_and_clips_of_what_is_not_sent_are_of_no_finite_norm() {
    let huge = [3e38_f32, 1.0];
    let steps: Steps<'_> = &[&[[huge; 2], [huge; 2]], &[[[f32::NAN; 2], huge]]];
    for clip in [None, Some(1.0)] {
        let (applied, _, scale) = together(Loop { clip, ..PLAIN }, steps);
        assert_eq!((applied, scale.skipped), (vec![false, false], 2));
    }
}

#[test]
fn a_scale_that_is_predicted_learns_from_the_greatest_magnitude_of_all() {
    let log_max = Loop { rule: LossScale::preset("log-max").unwrap(), ..PLAIN };
    let step: &[[[f32; 2]; 2]] = &[[[0.001; 2], [1.0; 2]]];
    let steps: Steps<'_> = &[step; 5];
    let [own, other] = naive(log_max, steps);
    assert_ne!(own.2.exponent, other.2.exponent, "seen without ranks");
    assert_eq!(together(log_max, steps).2, other.2, "the greater");
}

#[test]
fn a_delayed_window_averages_once_over_the_passes_of_all_ranks() {
    // Three passes on rank 0 and one on rank 1: if passes met, the ranks would not end alike.
    let steps = each(2, |group| {
        let own: &[f32] = [&[1.0, 2.0, 6.0][..], &[-1.0]][group.rank()];
        let device = Ranks::new(Cpu, group);
        let (params, config) = weights();
        let mut optimizer = MasterOptimizer::new(device.clone(), params, config).unwrap();
        let mut scaler = Scaler::new(device, LossScale::dynamic()).unwrap();
        let (mut window, mut sets) = (scaler.delay_unscale(), Vec::new());
        for factor in own {
            let pass = |scaled: &Tensor| {
                sets.push(set(&[("w", &[scaled.to_f32()[0] * factor; 2])], DType::F32));
                Ok(())
            };
            window.backward(&tensor(&[1.0], DType::F32), pass).unwrap();
        }
        let grads =
            window.collect(|| Ok(sets.into_iter().collect())).unwrap().unwrap().unscale().unwrap();
        let step = grads.step(&mut optimizer).unwrap();
        assert!(scaler.update(step).unwrap().resolve().unwrap().is_applied());
        optimizer.params[0].value.to_f32().into_owned()
    });
    // The average of 1, 2, 6 and -1 is 2, by a learning rate of 1/8.
    assert_eq!(steps, vec![vec![0.75, -1.25]; 2]);
}
