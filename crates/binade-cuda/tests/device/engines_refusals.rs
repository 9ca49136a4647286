//! Ranks that differ, stall or are gone.

use crate::engines::{Engine, Run, backward, clip, counts, each, failed};
use crate::support::Result;
use binade_core::ops::Upload as _;
use binade_core::{DType, Error as _, ErrorKind, GradSet as _, Named};
use binade_cuda::RankGradients;
use binade_grad_scaler::{GradOps as _, GradScaler as _, ScaleState, ScaleStore as _, StepOutcome};
use binade_master_weights::{MasterOptimizer, MasterWeights as _, OptimizerConfig, UpdateRule};

crate::by_engine![
    another_scale_is_told_on_all_ranks_by_resolve,
    another_clip_is_told_by_the_next_step,
    another_call_is_told_with_its_number,
    another_model_is_told_on_all_ranks,
    another_configuration_is_told_before_training,
    a_rank_that_is_gone_is_an_error_of_the_others,
    gradients_are_unscaled_before_they_are_used,
];

fn several<E: Engine>() -> impl Iterator<Item = usize> {
    counts::<E>().filter(|ranks| *ranks > 1)
}

fn another_scale_is_told_on_all_ranks_by_resolve<E: Engine>() -> Result {
    for ranks in several::<E>() {
        let got = each::<E, _>(ranks, |device| {
            let rank = device.communicator().rank();
            let mut run = Run::new(&device, 99);
            drop(run.step(backward(&device, 0, rank)).unwrap().resolve().unwrap());
            if rank == ranks - 1 {
                let state = run.scaler.state().unwrap();
                run.scaler.set_state(ScaleState { exponent: 12, ..state }).unwrap();
            } else {
                run.scaler.state().unwrap();
            }
            let before = run.saved();
            let outcome = run.step(backward(&device, 1, rank)).unwrap();
            assert_eq!(run.saved(), before, "a step of ranks that differ is halted");
            let error = outcome.resolve().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            (error.to_string(), failed(run.step(backward(device.cuda(), 2, rank))))
        });
        for (error, later) in got {
            let told = "ranks differ in the loss scale: rank 0 has 65536 of ScaleState";
            assert!(error.contains(told), "{error}");
            assert!(error.contains(&format!("rank {} 4096 of ScaleState", ranks - 1)), "{error}");
            assert_eq!(later, error, "it is every later call's");
        }
    }
    Ok(())
}

fn another_clip_is_told_by_the_next_step<E: Engine>() -> Result {
    for ranks in several::<E>() {
        let got = each::<E, _>(ranks, |device| {
            let rank = device.communicator().rank();
            let mut run = Run::new(&device, 99);
            let max = [1.0, 2.0][usize::from(rank == 1)];
            assert!(clip(&mut run, max, backward(&device, 0, rank)).unwrap().resolve().is_ok());
            failed(clip(&mut run, 1.0, backward(&device, 1, rank)).unwrap().resolve())
        });
        for error in got {
            assert!(error.contains("differ in the limits of clips or the rule"), "{error}");
        }
    }
    Ok(())
}

fn another_call_is_told_with_its_number<E: Engine>() -> Result {
    for ranks in several::<E>() {
        let got = each::<E, _>(ranks, |device| {
            let rank = device.communicator().rank();
            let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
            let mut grads = RankGradients::from(backward(&device, 0, rank));
            device.unscale(&mut grads, &scale).unwrap();
            if rank == 0 {
                grads = backward(&device, 0, rank).into();
            }
            let found = device.unscale(&mut grads, &scale);
            failed(found.and_then(|found| device.read(&[&found], &scale)))
        });
        for error in got {
            let told = "their call: rank 0 has `unscale` of its own gradients in meeting 3, rank 1 `unscale` of an average in meeting 3";
            assert!(error.contains(told), "{error}");
        }
    }
    Ok(())
}

fn another_model_is_told_on_all_ranks<E: Engine>() -> Result {
    for ranks in several::<E>() {
        // A model that no rank knows, and one that the others know already; another name, and another shape.
        for (known, is_name) in [(false, true), (true, true), (false, false), (true, false)] {
            let got = each::<E, _>(ranks, |device| {
                let rank = device.communicator().rank();
                let mut run = Run::new(&device, 99);
                if known {
                    run.step(backward(&device, 0, rank)).unwrap().ignore();
                }
                let mut grads = backward(&device, 1, rank);
                if rank == ranks - 1 && is_name {
                    grads[0].name = "z".into();
                } else if rank == ranks - 1 {
                    grads[0].value = Some(device.upload(&[1.0], &[1], DType::F16).unwrap());
                }
                failed(run.step(grads).and_then(StepOutcome::resolve))
            });
            let told = match (known, is_name) {
                (true, _) => {
                    "their call: rank 0 has `unscale` of its own gradients in meeting 4, rank LAST `unscale` of a gradient that no rank"
                }
                (false, true) => "the model: rank 0 has parameters of the hash",
                (false, false) => {
                    "the gradient of a parameter: rank 0 has `a` f16 [3000], rank LAST `a` f16 [1]"
                }
            };
            let told = told.replace("LAST", &(ranks - 1).to_string());
            for error in got {
                assert!(error.contains(&format!("ranks differ in {told}")), "{error}");
            }
        }
    }
    Ok(())
}

fn another_configuration_is_told_before_training<E: Engine>() -> Result {
    for ranks in several::<E>() {
        let got = each::<E, _>(ranks, |device| {
            let lr = 0.1 / (1.0 + f64::from(u8::from(device.communicator().rank() == 1)));
            let value = device.cuda().from_bits(&[0; 4], DType::F32, &[1]).unwrap();
            let config = OptimizerConfig::new(UpdateRule::sgd(lr)).unwrap();
            failed(MasterOptimizer::new(device, vec![Named::new("w", value)], config))
        });
        for error in got {
            assert!(
                error.contains("ranks differ in the configuration of the optimizer"),
                "{error}"
            );
        }
    }
    Ok(())
}

fn a_rank_that_is_gone_is_an_error_of_the_others<E: Engine>() -> Result {
    for ranks in several::<E>() {
        let got = each::<E, _>(ranks, |device| {
            let rank = device.communicator().rank();
            let mut run = Run::new(&device, 99);
            drop(run.step(backward(&device, 0, rank)).unwrap().resolve().unwrap());
            if rank == 1 {
                return None;
            }
            let error = run.step(backward(&device, 1, rank)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DeviceLost);
            let later =
                [failed(run.step(backward(device.cuda(), 2, rank))), failed(run.scaler.state())];
            Some((error.to_string(), later))
        });
        for (error, later) in got.into_iter().flatten() {
            assert!(error.contains("see the other ranks' errors"), "{error}");
            assert_eq!(later, [error.clone(), error]);
        }
    }
    Ok(())
}

fn gradients_are_unscaled_before_they_are_used<E: Engine>() -> Result {
    each::<E, _>(1, |device| {
        let mut run = Run::new(&device, 99);
        let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
        let own = || backward(&device, 0, 0).into();
        let found = device.unscale(&mut own(), &scale).unwrap();
        let told = "gradients that have not been averaged over the devices";
        let config = run.optimizer.config().clone();
        let mut masters = device.masters(&mut run.optimizer.params, &config).unwrap();
        let errors = [
            failed(device.clip_value(&mut own(), 1.0)),
            failed(device.accumulate(None, own(), &found)),
            failed(device.materialise(own())),
            failed(device.save_grads(&own())),
            failed(device.step(&mut run.optimizer.params, &mut masters, own(), &found)),
        ];
        for error in errors {
            assert!(error.starts_with(told), "{error}");
        }
    });
    Ok(())
}
