//! Ranks that are threads, connected by peer copies or by NCCL: their averages, verdicts and steps are those of ranks of the CPU, and the
//! host reads nothing of it in a step.

use crate::engines::{
    Engine, LENGTHS, NAMES, PATIENCE, Run, TYPES, backward, counts, each, in_threads, said,
};
use crate::support::{Result, noise};
use binade_core::ops::Upload;
use binade_core::{DType, FoundInf, GradSet as _, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor as CpuTensor};
use binade_cuda::{CudaRank, RankGradients, Tensor};
use binade_grad_scaler::{BadMicroBatch, GradScaler as _, ScaleState, ScaleStore as _, Step};
use binade_master_weights::{Snapshot as _, UpdateRule};
use binade_ranks::{RankGrads, Ranks, Threads, threads};
use std::fmt::Display;

crate::by_engine![
    an_average_is_that_of_ranks_of_the_cpu,
    long_gradients_are_looked_at_as_they_are_packed,
    a_step_is_that_of_ranks_of_the_cpu_and_reads_nothing,
    a_captured_step_is_the_uncaptured_one,
    an_overflow_on_any_rank_skips_all_and_is_named,
    every_rank_begins_with_the_parameters_of_rank_0,
    a_run_is_saved_by_one_rank_and_loaded_by_all,
    windows_are_those_of_one_device,
    a_gradient_that_some_ranks_lack_counts_as_zero_and_is_told,
];

fn each_of_the_cpu<T: Send>(ranks: usize, run: impl Fn(Ranks<Cpu, Threads>) -> T + Sync) -> Vec<T> {
    in_threads(threads(ranks, PATIENCE), |group| run(Ranks::new(Cpu, group)))
}

/// Returns these gradients and others: the sum of some depends on the order of four ranks; some are halves of an ulp, sums beyond `f32`,
/// subnormals, zeros of either sign, or cancel.
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
    let odd = [
        [f32::MAX; 4],
        [1.0, f32::EPSILON, f32::EPSILON / 4.0, 0.0],
        [1e-45, 1e-45, -1e-45, 1e-45],
        [-0.0; 4],
        [3e38, -3e38, 1e-10, 0.0],
    ];
    let odd = odd.map(|values| values[rank]);
    let largest = [65504.0, 1.0];
    for (name, values, dtype) in [("e", &odd[..], DType::F32), ("f", &largest, DType::F16)] {
        let value = device.upload(values, &[values.len()], dtype);
        let value = value.unwrap_or_else(|error| panic!("{error}"));
        set.push(Named::new(name, Some(value)));
    }
    set
}

/// Returns the finding without the norm, which devices add up in other orders.
fn told(found: &FoundInf) -> String {
    format!("{:?}", FoundInf { norm: None, ..found.clone() })
}

fn an_average_is_that_of_ranks_of_the_cpu<E: Engine>() -> Result {
    let state = ScaleState::from_exponent(5);
    for ranks in counts::<E>() {
        let want = each_of_the_cpu(ranks, |device| {
            let rank = binade_ranks::Group::rank(device.group());
            let mut grads = RankGrads::from(ordered(&device, rank));
            let found = device.unscale(&mut grads, &state).unwrap();
            let bits = |grad: Named<Option<CpuTensor>>| grad.value.map(|grad| grad.to_bits());
            let set = device.materialise(grads).unwrap();
            (set.into_iter().map(bits).collect::<Vec<_>>(), told(&found))
        });
        let got = each::<E, _>(ranks, |device| {
            let scale = device.upload_state(state).unwrap();
            let mut grads = RankGradients::from(ordered(&device, device.communicator().rank()));
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

fn long_gradients_are_looked_at_as_they_are_packed<E: Engine>() -> Result {
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
    let ranks = counts::<E>().last().unwrap_or(1);
    for (rest, is_bad) in (0..8).map(|rest| (rest, rest % 2 == 1)) {
        let found = each::<E, _>(ranks, |device| {
            let tensor = |(name, values, dtype): (&'static str, Vec<f32>, DType)| {
                Named::new(name, Some(device.upload(&values, &[values.len()], dtype).unwrap()))
            };
            let set: Vec<_> =
                long(device.communicator().rank(), rest, is_bad).into_iter().map(tensor).collect();
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

const STEPS: u64 = 6;

/// Returns the gradients of a rank in a step, if `lacks` without some: one that only rank 0 lacks, one that all but the last lack, and one
/// that all lack.
fn gradients<D: Upload>(
    device: &D,
    number: u64,
    [rank, ranks]: [usize; 2],
    lacks: bool,
) -> NamedGrads<D::Tensor>
where
    D::Error: Display,
{
    let mut set = backward(device, number, rank);
    let missing = [
        number % 2 == 1 && rank == 0,
        number == 2 && rank + 1 < ranks,
        // Not in the first step, so that the model has it.
        number == 3 || number == 4 && rank == 0,
    ];
    for (grad, is_missing) in set.iter_mut().zip(missing) {
        if lacks && is_missing {
            grad.value = None;
        }
    }
    set
}

/// Checks that every step and the end are those of ranks of the CPU, and that nothing is read after the first step. Returns what rank 0
/// said of its steps, for each number of ranks.
fn agrees<E: Engine>(lacks: bool) -> Vec<Vec<String>> {
    fn told(step: &Step) -> String {
        let missing = &step.report().steps[0].parts[0].finding.missing;
        format!("{} {missing:?}", said(step))
    }
    let of_ranks = |ranks| {
        let want = each_of_the_cpu(ranks, |device| {
            let rank = binade_ranks::Group::rank(device.group());
            let mut run = Run::new(&device, 99);
            let steps = (0..STEPS).map(|number| {
                let grads = gradients(&device, number, [rank, ranks], lacks);
                told(&run.step(grads).unwrap().resolve().unwrap())
            });
            (steps.collect::<Vec<_>>(), run.saved())
        });
        let got = each::<E, _>(ranks, |device| {
            let rank = device.communicator().rank();
            let mut run = Run::new(&device, 99);
            let grads = |number| gradients(&device, number, [rank, ranks], lacks);
            // The first step meets a model that ranks do not know yet.
            let first = run.step(grads(0)).unwrap();
            let all: Vec<_> = (1..STEPS).map(grads).collect();
            let before = device.cuda().counters().syncs;
            let later: Vec<_> = all.into_iter().map(|grads| run.step(grads).unwrap()).collect();
            assert_eq!(device.cuda().counters().syncs, before, "reads nothing");
            let outcomes = std::iter::once(first).chain(later);
            let steps = outcomes.map(|outcome| told(&outcome.resolve().unwrap()));
            (steps.collect::<Vec<_>>(), run.saved())
        });
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.0, want.0, "{ranks} ranks");
            assert!(got.1 == want.1, "{ranks} ranks");
        }
        want.into_iter().next().map(|(steps, _)| steps).unwrap_or_default()
    };
    counts::<E>().map(of_ranks).collect()
}

fn a_step_is_that_of_ranks_of_the_cpu_and_reads_nothing<E: Engine>() -> Result {
    assert!(!agrees::<E>(false).is_empty());
    Ok(())
}

fn a_captured_step_is_the_uncaptured_one<E: Engine>() -> Result {
    for ranks in counts::<E>().filter(|ranks| *ranks == 1 || E::CAPTURES) {
        let both = [false, true].map(|is_captured| {
            each::<E, _>(ranks, |device| {
                let (cuda, rank) = (device.cuda(), device.communicator().rank());
                let mut run = Run::new(&device, 99);
                let mut fixed = backward(&device, 0, rank);
                if rank + 1 < ranks {
                    fixed[0].value = None;
                }
                let mut told = Vec::new();
                let write = |fixed: &mut NamedGrads<Tensor>, number: u64| {
                    for (at, to) in fixed.iter_mut().enumerate() {
                        let mut values =
                            noise(1000 * number + 10 * rank as u64 + at as u64, LENGTHS[at]);
                        if (number, rank, at) == (4, ranks - 1, 1) {
                            values[2] = f32::NEG_INFINITY;
                        }
                        if let Some(to) = &mut to.value {
                            cuda.write(to, &values).unwrap();
                        }
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

fn an_overflow_on_any_rank_skips_all_and_is_named<E: Engine>() -> Result {
    for ranks in counts::<E>() {
        // Each rank alone, and the last with all before it but the first.
        for (bad, last) in (0..ranks).map(|bad| (bad, bad)).chain([(1, ranks - 1)]) {
            if bad > last {
                continue;
            }
            let got = each::<E, _>(ranks, |device| {
                // Numbers of parameters differ between the ranks' devices.
                let names = ["x"; 3].map(|name| Named::new(format!("{name}{bad}"), None));
                if device.communicator().rank() == 1 {
                    let other = device.cuda().upload(&[1.0], &[1], DType::F32).unwrap();
                    let mut set = vec![Named::new("stranger", Some(other))];
                    set.extend(names);
                    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
                    device.cuda().unscale(&mut set.into(), &scale).unwrap();
                }
                let mut run = Run::new(&device, 99);
                let rank = device.communicator().rank();
                run.step(backward(&device, 0, rank)).unwrap().ignore();
                let before = run.saved();
                let mut grads = backward(&device, 1, rank);
                if (bad..=last).contains(&rank) {
                    let mut values = noise(7, LENGTHS[2]);
                    (values[65], values[64]) = (f32::NAN, f32::INFINITY);
                    grads[2].value = Some(device.upload(&values, &[LENGTHS[2]], TYPES[2]).unwrap());
                }
                let outcome = run.step(grads).unwrap();
                let Step::Skipped(report) = outcome.resolve().unwrap() else { panic!("applied") };
                let finding = &report.steps[0].parts[0].finding;
                let of_rank = if ranks > 1 { format!(" of rank {bad}") } else { String::new() };
                let text = format!("c[64]{of_rank} is +inf");
                let count = (last + 1 - bad) as u64;
                assert_eq!((finding.infinities, finding.nans), (count, count));
                assert!(report.to_string().contains(&text), "{report}");
                assert_eq!(run.saved(), before);
                drop(run.step(backward(&device, 2, rank)).unwrap().resolve().unwrap());
                (run.saved(), run.scaler.state().unwrap())
            });
            assert!(got.iter().all(|other| *other == got[0]), "{bad} to {last} of {ranks}");
            assert_eq!((got[0].1.exponent, got[0].1.skipped), (15, 1));
        }
    }
    Ok(())
}

fn every_rank_begins_with_the_parameters_of_rank_0<E: Engine>() -> Result {
    for ranks in counts::<E>() {
        let got = each::<E, _>(ranks, |device| {
            let mut run = Run::new(&device, device.communicator().rank() as u64);
            let config = run.optimizer.config().clone();
            let mut more = backward(&device, 50 + device.communicator().rank() as u64, 0);
            let value = more.remove(1).value.unwrap();
            run.optimizer.join(vec![Named::new("d", value)], config).unwrap();
            run.saved()
        });
        let alone = each::<E, _>(1, |device| {
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

fn a_run_is_saved_by_one_rank_and_loaded_by_all<E: Engine>() -> Result {
    for ranks in counts::<E>() {
        let got = each::<E, _>(ranks, |device| {
            let rank = device.communicator().rank();
            let mut run = Run::new(&device, 99);
            for number in 0..2 {
                run.step(backward(&device, number, rank)).unwrap().ignore();
            }
            let saved = device.save(&run.optimizer.params, run.optimizer.masters()).unwrap();
            let mut other = Run::new(&device, 98);
            other.optimizer.load(&saved).unwrap();
            other.scaler.set_state(run.scaler.state().unwrap()).unwrap();
            for run in [&mut run, &mut other] {
                run.step(backward(&device, 2, rank)).unwrap().ignore();
            }
            // A load that does not fit changes nothing, and ranks go on.
            let misfit = run.optimizer.load(&saved[..2]).is_err();
            run.step(backward(&device, 3, rank)).unwrap().ignore();
            other.step(backward(&device, 3, rank)).unwrap().ignore();
            (run.saved(), other.saved(), misfit)
        });
        for (run, other, misfit) in &got {
            assert!(*misfit && run == other && *run == got[0].0, "{ranks} ranks");
        }
    }
    Ok(())
}

fn windows_are_those_of_one_device<E: Engine>() -> Result {
    // Every rank has the same gradients, whose average they are. Counts alone are multiplied by the number of ranks.
    for bad in [BadMicroBatch::Drop, BadMicroBatch::SkipWindow] {
        let (want, _) = crate::windows::train(&Cpu, UpdateRule::adamw(1e-2), bad)?;
        for ranks in counts::<E>() {
            let got = each::<E, _>(ranks, |device| {
                crate::windows::train(&device, UpdateRule::adamw(1e-2), bad).unwrap().0
            });
            assert!(got.iter().all(|got| *got == want), "{bad:?} on {ranks}");
        }
    }
    Ok(())
}

fn a_gradient_that_some_ranks_lack_counts_as_zero_and_is_told<E: Engine>() -> Result {
    for steps in agrees::<E>(true) {
        assert!(steps[3].contains("[\"a\", \"c\"]"), "{steps:?}");
    }
    Ok(())
}
