//! Captured steps of counted updates, of an optimizer that parameters join, and of operations with indices.

use crate::{
    captures::why,
    model::{Model, say},
    support::{Result, captured, own, vector},
};
use binade_core::ops::{Embedding, Upload};
use binade_core::{DType, Named};
use binade_cuda::{CaptureError, Error};
use binade_master_weights::{Lamb, OptimizerConfig, UpdateRule};

crate::tests![
    replays_count_lost_updates_and_a_plan_that_stops_counting_ends_them,
    a_parameter_that_joins_ends_the_replays_and_ordinary_steps_go_on,
    a_rule_of_other_launches_ends_the_replays_and_ordinary_steps_go_by_it,
    a_bad_index_in_a_replay_is_told_by_its_report_once,
];

fn config() -> OptimizerConfig {
    OptimizerConfig::new(UpdateRule::adamw(1e-3)).unwrap()
}

fn replays_count_lost_updates_and_a_plan_that_stops_counting_ends_them() -> Result {
    let mut model = Model::new(&own(), config().with_lost_updates(true), DType::F16)?;
    let (captured, _) = model.captured(Model::step)?;
    model.write(2)?;
    drop(captured.replay()?.resolve()?);
    let lost = model.optimizer.masters().lost_updates(&model.cuda)?;
    assert!(lost.is_some_and(|lost| lost.moved > 0), "{lost:?}");
    model.optimizer.set_config(config())?;
    assert_eq!(why(captured.replay()).1, CaptureError::Stale);
    drop(captured);
    drop(model.step()?.resolve()?);
    assert_eq!(model.optimizer.masters().lost_updates(&model.cuda)?, None);
    Ok(())
}

fn a_parameter_that_joins_ends_the_replays_and_ordinary_steps_go_on() -> Result {
    let run = |is_captured: bool| -> Result<(Vec<String>, String)> {
        let mut model = Model::new(&own(), config(), DType::F16)?;
        let (mut said, mut captured) = (Vec::new(), None);
        if is_captured {
            let (steps, warm) = model.captured(Model::step)?;
            (said, captured) = (warm, Some(steps));
        }
        for number in said.len() as u64..7 {
            if number == 4 {
                let more = vec![Named::new("more", vector(&model.cuda, &[1.0; 40], DType::F16))];
                model.optimizer.join(more, config())?;
                if let Some(steps) = captured.take() {
                    assert_eq!(why(steps.replay()).1, CaptureError::Stale);
                }
            }
            model.write(number)?;
            let outcome = match &captured {
                Some(steps) => steps.replay()?,
                None => model.step()?,
            };
            said.push(say(&outcome.resolve()?));
        }
        Ok((said, model.trace()?))
    };
    assert_eq!(run(true)?, run(false)?);
    Ok(())
}

/// Returns a plan of LAMB that clips to this norm.
fn lamb(max_grad_norm: f64) -> OptimizerConfig {
    let UpdateRule::Lamb(lamb) = UpdateRule::lamb(1e-3) else { unreachable!() };
    OptimizerConfig::new(UpdateRule::Lamb(Lamb { max_grad_norm, ..lamb })).unwrap()
}

/// The second pair has one kernel, and a launch for the norm of all gradients in one of its plans alone.
fn a_rule_of_other_launches_ends_the_replays_and_ordinary_steps_go_by_it() -> Result {
    for [before, after] in [[config(), lamb(0.0)], [lamb(0.0), lamb(0.1)]] {
        let mut model = Model::new(&own(), before.clone(), DType::F16)?;
        let (captured, mut said) = model.captured(Model::step)?;
        model.optimizer.set_config(after.clone())?;
        assert_eq!(why(captured.replay()).1, CaptureError::Stale);
        drop(captured);
        model.write(2)?;
        said.push(say(&model.step()?.resolve()?));

        let mut other = Model::new(&own(), before, DType::F16)?;
        let mut wanted = Vec::new();
        for number in 0..3 {
            if number == 2 {
                other.optimizer.set_config(after.clone())?;
            }
            other.write(number)?;
            wanted.push(say(&other.step()?.resolve()?));
        }
        assert_eq!((said, model.trace()?), (wanted, other.trace()?), "{after:?}");
    }
    Ok(())
}

fn a_bad_index_in_a_replay_is_told_by_its_report_once() -> Result {
    let mut model = Model::new(&own(), config(), DType::F16)?;
    let cuda = model.cuda.clone();
    let table = cuda.upload(&[0.5; 12], &[4, 3], DType::F32)?;
    let indices = cuda.upload_i64(&[0, 3], &[2])?;
    let captured = captured(&cuda, || {
        let rows = cuda.embedding(&table, &indices)?;
        Ok::<_, Error>((model.step()?, rows))
    })?;
    let write = |index: i64| {
        let bits: Vec<u8> = [1, index].into_iter().flat_map(i64::to_le_bytes).collect();
        cuda.write_bits(&indices, &bits)
    };
    for bad in [4, -1, 77] {
        write(bad)?;
        let error = captured.replay()?.0.resolve().expect_err("an index that is none");
        let told = format!("embedding: index {bad} at position 1; expected 0 ≤ index < 4");
        assert_eq!(error.to_string(), told);
        write(2)?;
        drop(captured.replay()?.0.resolve()?);
    }
    Ok(())
}
