//! Ranks that NCCL connects, as threads with a device each: their averages, verdicts and steps are those of ranks of the CPU, and the
//! host reads nothing of it in a step.

use crate::support::{Result, noise};
use binade_core::GradSet as _;
use binade_core::ops::Upload;
use binade_core::{DType, FoundInf, Handle, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor as CpuTensor};
use binade_cuda::{
    Cuda, CudaRank, Error, Nccl, RankGradients, Tensor, cudarc::driver::CudaContext,
};
use binade_grad_scaler::{
    GradOps, GradScaler as _, Loss, LossScale, ScaleState, ScaleStore as _, Scaler, Step,
    StepOutcome,
};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, Snapshot, UpdateRule};
use binade_ranks::{RankGrads, Ranks, Threads, threads};
use std::{fmt::Display, thread, time::Duration};

crate::tests![
    an_average_is_that_of_ranks_of_the_cpu,
    long_gradients_are_looked_at_as_they_are_packed,
    a_step_is_that_of_ranks_of_the_cpu_and_reads_nothing,
    a_captured_step_is_the_uncaptured_one,
    an_overflow_on_any_rank_skips_all_and_is_named,
    every_rank_begins_with_the_parameters_of_rank_0,
];

/// Time within which every test ends by far.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];
const LENGTHS: [usize; 3] = [3000, 5, 66];
const TYPES: [DType; 3] = [DType::F16, DType::BF16, DType::F32];

/// Returns the numbers of ranks that there are devices for.
pub(crate) fn counts() -> impl Iterator<Item = usize> {
    let devices = CudaContext::device_count().map_or(0, |count| usize::try_from(count).unwrap());
    [1, 2, 4].into_iter().filter(move |ranks| *ranks <= devices)
}

/// Runs each rank in a thread with a device of its own, and returns their results in order.
pub(crate) fn each<T: Send>(ranks: usize, run: impl Fn(CudaRank) -> T + Sync) -> Vec<T> {
    let id = Nccl::unique_id().unwrap();
    thread::scope(|scope| {
        let run = &run;
        let rank = |rank| {
            scope.spawn(move || {
                let cuda = Cuda::open(rank).unwrap();
                let nccl = Nccl::new(&cuda, id, rank, ranks).unwrap().with_patience(PATIENCE);
                run(CudaRank::new(nccl).unwrap())
            })
        };
        let running: Vec<_> = (0..ranks).map(rank).collect();
        running.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn each_of_the_cpu<T: Send>(ranks: usize, run: impl Fn(Ranks<Cpu, Threads>) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let run = &run;
        let groups = threads(ranks, PATIENCE).into_iter();
        let running: Vec<_> =
            groups.map(|group| scope.spawn(move || run(Ranks::new(Cpu, group)))).collect();
        running.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// Returns the gradients of a rank in step `number`, of three types.
pub(crate) fn backward<D: Upload>(device: &D, number: u64, rank: usize) -> NamedGrads<D::Tensor>
where
    D::Error: Display,
{
    let one = |at: usize| {
        let values = noise(1000 * number + 10 * rank as u64 + at as u64, LENGTHS[at]);
        let value = device.upload(&values, &[LENGTHS[at]], TYPES[at]);
        Named::new(NAMES[at], Some(value.unwrap_or_else(|error| panic!("{error}"))))
    };
    (0..3).map(one).collect()
}

/// Returns these gradients and others, whose sum depends on the order of four ranks.
fn ordered<D: Upload>(device: &D, rank: usize) -> NamedGrads<D::Tensor>
where
    D::Error: Display,
{
    let mut set = backward(device, 3, rank);
    let factor = [1e20, 1.0, -1e20, 3.0][rank];
    let values: Vec<f32> = noise(5, 9000).iter().map(|value| value * factor).collect();
    let value = device.upload(&values, &[9000], DType::F32);
    let value = value.unwrap_or_else(|error| panic!("{error}"));
    set.push(Named::new("d", Some(value)));
    set
}

/// Returns the finding without the norm, which devices add up in other orders.
fn told(found: &FoundInf) -> String {
    format!("{:?}", FoundInf { norm: None, ..found.clone() })
}

fn an_average_is_that_of_ranks_of_the_cpu() -> Result {
    let state = ScaleState::from_exponent(5);
    for ranks in counts() {
        let want = each_of_the_cpu(ranks, |device| {
            let rank = binade_ranks::Group::rank(device.group());
            let mut grads = RankGrads::from(ordered(&device, rank));
            let found = device.unscale(&mut grads, &state).unwrap();
            let bits = |grad: Named<Option<CpuTensor>>| grad.value.map(|grad| grad.to_bits());
            let set = device.materialise(grads).unwrap();
            (set.into_iter().map(bits).collect::<Vec<_>>(), told(&found))
        });
        let got = each(ranks, |device| {
            let scale = device.upload_state(state).unwrap();
            let mut grads = RankGradients::from(ordered(&device, device.nccl().rank()));
            let found = device.unscale(&mut grads, &scale).unwrap();
            let bits = |grad: Named<Option<Tensor>>| {
                grad.value.map(|grad| device.cuda().to_bits(&grad).unwrap())
            };
            let set = device.materialise(grads).unwrap().into_iter().map(bits);
            let set = set.collect::<Vec<_>>();
            let (found, _) = device.read(&[&found], &scale).unwrap();
            (set, told(&found[0]))
        });
        assert!(got == want, "{ranks} ranks");
    }
    Ok(())
}

fn long_gradients_are_looked_at_as_they_are_packed() -> Result {
    // Longer than a chunk, of each type and with every rest of a group. Of each the bad element is one of the last, or none is.
    let long = |rank: usize, rest: usize, is_bad: bool| {
        let values = |at: usize| {
            let mut values = noise(10 * rank as u64 + at as u64, 8296 + rest);
            if is_bad && rank == 0 {
                (values[8100 + at], values[7]) = (f32::NAN, f32::INFINITY);
            }
            values
        };
        (0..3).map(|at| (NAMES[at], values(at), TYPES[at])).collect::<Vec<_>>()
    };
    let ranks = counts().last().unwrap_or(1);
    for (rest, is_bad) in (0..8).map(|rest| (rest, rest % 2 == 1)) {
        let found = each(ranks, |device| {
            let tensor = |(name, values, dtype): (&'static str, Vec<f32>, DType)| {
                Named::new(name, Some(device.upload(&values, &[values.len()], dtype).unwrap()))
            };
            let set: Vec<_> =
                long(device.nccl().rank(), rest, is_bad).into_iter().map(tensor).collect();
            let scale = device.upload_state(ScaleState::from_exponent(2)).unwrap();
            let found = device.unscale(&mut RankGradients::from(set), &scale).unwrap();
            device.read(&[&found], &scale).unwrap().0.remove(0)
        });
        for found in found {
            let numbers = (found.infinities, found.nans, found.overflow.map(|it| it.index));
            assert_eq!(numbers, if is_bad { (3, 3, Some(7)) } else { (0, 0, None) });
        }
    }
    Ok(())
}

/// Training on any device.
pub(crate) struct Run<D: Snapshot + GradOps> {
    device: D,
    pub(crate) scaler: Scaler<D>,
    pub(crate) optimizer: MasterOptimizer<D>,
    loss: D::Tensor,
}

impl<D> Run<D>
where
    D: Upload
        + GradOps<
            Tensor: Loss<D, Error = <D as Handle>::Error>,
            Params = Vec<Named<<D as Handle>::Tensor>>,
            Grads: From<NamedGrads<<D as Handle>::Tensor>>,
        > + Snapshot
        + Clone
        + 'static,
{
    pub(crate) fn new(device: &D, first: u64) -> Self {
        let params = backward(device, first, 0).into_iter();
        let params = params.filter_map(|Named { name, value }| Some(Named { name, value: value? }));
        let config = OptimizerConfig::new(UpdateRule::adamw(1e-2)).unwrap();
        let scale = LossScale::dynamic().with_growth_interval(3).unwrap();
        Self {
            device: device.clone(),
            scaler: Scaler::new(device.clone(), scale).unwrap(),
            optimizer: MasterOptimizer::new(device.clone(), params.collect(), config).unwrap(),
            loss: device.upload(&[1.0], &[1], DType::F32).unwrap(),
        }
    }

    pub(crate) fn step(
        &mut self,
        grads: NamedGrads<D::Tensor>,
    ) -> Result<StepOutcome<D>, D::Error> {
        let grads = self.scaler.scale(&self.loss)?.backward(|_| Ok(grads.into()))?.unscale()?;
        let step = grads.clip_value(1e-5)?.step(&mut self.optimizer)?;
        self.scaler.update(step)
    }

    /// Returns masters, moments and parameters as a checkpoint has them.
    pub(crate) fn saved(&self) -> String {
        let saved = self.device.save(&self.optimizer.params, self.optimizer.masters()).unwrap();
        format!("{saved:?}")
    }
}

/// Returns the scale and the overflow of a step.
pub(crate) fn said(step: &Step) -> String {
    let report = step.report();
    let finding = &report.steps[0].parts[0].finding;
    format!("{:?} {:?} {}", report.scale, finding.overflow, finding.magnitude)
}

const STEPS: u64 = 6;

fn a_step_is_that_of_ranks_of_the_cpu_and_reads_nothing() -> Result {
    for ranks in counts() {
        let want = each_of_the_cpu(ranks, |device| {
            let rank = binade_ranks::Group::rank(device.group());
            let mut run = Run::new(&device, 99);
            let steps = (0..STEPS).map(|number| {
                let grads = backward(&device, number, rank);
                said(&run.step(grads).unwrap().resolve().unwrap())
            });
            (steps.collect::<Vec<_>>(), run.saved())
        });
        let got = each(ranks, |device| {
            let mut run = Run::new(&device, 99);
            let grads = |number| backward(&device, number, device.nccl().rank());
            // The first step meets a model that ranks do not know yet.
            let first = run.step(grads(0)).unwrap();
            let all: Vec<_> = (1..STEPS).map(grads).collect();
            let before = device.cuda().counters().syncs;
            let later: Vec<_> = all.into_iter().map(|grads| run.step(grads).unwrap()).collect();
            assert_eq!(device.cuda().counters().syncs, before, "reads nothing");
            let outcomes = std::iter::once(first).chain(later);
            let steps = outcomes.map(|outcome| said(&outcome.resolve().unwrap()));
            (steps.collect::<Vec<_>>(), run.saved())
        });
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.0, want.0, "{ranks} ranks");
            assert!(got.1 == want.1, "{ranks} ranks");
        }
        assert!(want[0].0.iter().any(|said| said.contains("exponent: 17")), "it has grown");
    }
    Ok(())
}

fn a_captured_step_is_the_uncaptured_one() -> Result {
    for ranks in counts() {
        let both = [false, true].map(|is_captured| {
            each(ranks, |device| {
                let (cuda, rank) = (device.cuda(), device.nccl().rank());
                let mut run = Run::new(&device, 99);
                let mut fixed = backward(&device, 0, rank);
                let mut told = Vec::new();
                let write = |fixed: &mut NamedGrads<Tensor>, number: u64| {
                    for (at, to) in fixed.iter_mut().enumerate() {
                        let mut values =
                            noise(1000 * number + 10 * rank as u64 + at as u64, LENGTHS[at]);
                        if (number, rank, at) == (4, ranks - 1, 1) {
                            values[2] = f32::NEG_INFINITY;
                        }
                        cuda.write(to.value.as_mut().unwrap(), &values).unwrap();
                    }
                };
                if is_captured {
                    let step = |run: &mut Run<CudaRank>| run.step(fixed.clone());
                    let (first, capture) = cuda.capture().warm_up(|| step(&mut run)).unwrap();
                    told.push(said(&first.resolve().unwrap()));
                    let (second, capture) = capture.warm_up(|| step(&mut run)).unwrap();
                    told.push(said(&second.resolve().unwrap()));
                    let captured = capture.capture(|| step(&mut run)).unwrap();
                    for number in 2..STEPS {
                        write(&mut fixed, number);
                        let before = cuda.counters().syncs;
                        let outcome = captured.replay().unwrap();
                        assert_eq!(cuda.counters().syncs, before, "reads nothing");
                        told.push(said(&outcome.resolve().unwrap()));
                    }
                } else {
                    for number in 0..STEPS {
                        write(&mut fixed, if number == 1 { 0 } else { number });
                        let outcome = run.step(fixed.clone()).unwrap();
                        told.push(said(&outcome.resolve().unwrap()));
                    }
                }
                (told, run.saved())
            })
        });
        let [uncaptured, captured] = &both;
        for (got, want) in captured.iter().zip(uncaptured) {
            assert_eq!(got.0, want.0, "{ranks} ranks");
            assert!(got.1 == want.1, "{ranks} ranks");
            let rank = u32::try_from(ranks - 1).ok().filter(|rank| *rank > 0);
            let overflow = format!("parameter: \"b\", index: 2, rank: {rank:?}, scaled: -inf");
            assert!(got.0[4].contains(&overflow), "{:?}", got.0);
        }
    }
    Ok(())
}

fn an_overflow_on_any_rank_skips_all_and_is_named() -> Result {
    for ranks in counts() {
        for bad in 0..ranks {
            let got = each(ranks, |device| {
                // Numbers of parameters differ between the ranks' devices.
                let names = ["x"; 3].map(|name| Named::new(format!("{name}{bad}"), None));
                if device.nccl().rank() == 1 {
                    let other = device.cuda().upload(&[1.0], &[1], DType::F32).unwrap();
                    let mut set = vec![Named::new("stranger", Some(other))];
                    set.extend(names);
                    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
                    device.cuda().unscale(&mut set.into(), &scale).unwrap();
                }
                let mut run = Run::new(&device, 99);
                let rank = device.nccl().rank();
                run.step(backward(&device, 0, rank)).unwrap().ignore();
                let before = run.saved();
                let mut grads = backward(&device, 1, rank);
                if rank == bad {
                    let mut values = noise(7, LENGTHS[2]);
                    (values[65], values[64]) = (f32::NAN, f32::INFINITY);
                    grads[2].value = Some(device.upload(&values, &[LENGTHS[2]], TYPES[2]).unwrap());
                }
                let outcome = run.step(grads).unwrap();
                let Step::Skipped(report) = outcome.resolve().unwrap() else { panic!("applied") };
                let finding = &report.steps[0].parts[0].finding;
                let of_rank = if ranks > 1 { format!(" of rank {bad}") } else { String::new() };
                let text = format!("c[64]{of_rank} is +inf");
                assert_eq!((finding.infinities, finding.nans), (1, 1));
                assert!(report.to_string().contains(&text), "{report}");
                assert_eq!(run.saved(), before);
                drop(run.step(backward(&device, 2, rank)).unwrap().resolve().unwrap());
                (run.saved(), run.scaler.state().unwrap())
            });
            assert!(got.iter().all(|other| *other == got[0]), "{bad} of {ranks}");
            assert_eq!((got[0].1.exponent, got[0].1.skipped), (15, 1));
        }
    }
    Ok(())
}

fn every_rank_begins_with_the_parameters_of_rank_0() -> Result {
    for ranks in counts() {
        let got = each(ranks, |device| {
            let mut run = Run::new(&device, device.nccl().rank() as u64);
            let config = run.optimizer.config().clone();
            let mut more = backward(&device, 50 + device.nccl().rank() as u64, 0);
            let value = more.remove(1).value.unwrap();
            run.optimizer.join(vec![Named::new("d", value)], config).unwrap();
            run.saved()
        });
        let alone = each(1, |device| {
            let mut run = Run::new(&device, 0);
            let value = backward(&device, 50, 0).remove(1).value.unwrap();
            let config = run.optimizer.config().clone();
            run.optimizer.join(vec![Named::new("d", value)], config).unwrap();
            run.saved()
        });
        assert!(got.iter().all(|other| *other == alone[0]), "{ranks} ranks");
    }
    Ok(())
}

/// Returns the error of an outcome.
pub(crate) fn failed<T>(outcome: Result<T, Error>) -> String {
    outcome.err().map_or_else(|| "no error".to_owned(), |error| error.to_string())
}

/// Clips by a norm, in the place of a step's other settings.
pub(crate) fn clip(
    run: &mut Run<CudaRank>,
    max: f32,
    grads: NamedGrads<Tensor>,
) -> Result<StepOutcome<CudaRank>, Error> {
    let grads = run.scaler.scale(&run.loss)?.backward(|_| Ok(grads.into()))?.unscale()?;
    let step = grads.clip_norm(max)?.step(&mut run.optimizer)?;
    run.scaler.update(step)
}
