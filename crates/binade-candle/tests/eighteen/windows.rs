//! Cases 9 and 16: windows of micro-batches, and runs that are saved anywhere and go on.

use super::{Result, optimizer, saved, set, step, tensor, values, var};
use binade::grad_scaler::{SavedWindow, UnscaledGrads};
use binade::prelude::*;
use binade_candle::Candle;
use binade_master_weights::SavedParameter;
use candle_core::DType as Type;

fn unscaled(scaler: &Scaler<Candle>, grads: [f32; 2]) -> Result<UnscaledGrads<Candle>> {
    let loss = tensor(&[1.0], Type::F32)?;
    let grads = set(&[("w", &grads)], Type::F16)?;
    Ok(scaler.scale(&loss)?.backward(|_| Ok(grads))?.unscale()?)
}

#[test]
fn a_nan_in_the_third_of_four_micro_batches_is_named_and_the_others_are_summed() -> Result {
    let mut scaler = Scaler::new(Candle, LossScale::none())?;
    let mut sgd = optimizer(vec![var("w", &[1.0, 1.0], Type::F16)?], UpdateRule::sgd(1.0))?;
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for grads in [[0.125, 0.0], [0.125, 0.25], [0.5, f32::NAN], [0.125, 0.0]] {
        window.add(unscaled(&scaler, grads)?)?;
    }
    let step = window.finish()?.ok_or("an empty window")?.step(&mut sgd)?;
    let step = scaler.update(step)?.resolve()?;
    let bad: Vec<_> = step.report().steps[0]
        .parts
        .iter()
        .filter(|part| part.finding.is_raised())
        .map(|part| part.name.clone())
        .collect();
    assert_eq!((step.is_applied(), bad), (true, vec!["micro-batch 2".to_owned()]));
    assert_eq!(values(&sgd.params[0].value)?, [0.625, 0.75]);
    Ok(())
}

/// State of a run, as a file would have it.
#[derive(Clone)]
struct Files {
    optimizer: Vec<SavedParameter>,
    scale: ScaleState,
    window: SavedWindow,
}

/// Gradients of micro-batches, two a step; the fifth overflows and is left out.
const MICRO_BATCHES: [[f32; 2]; 10] = [
    [256.0, 1.0],
    [3.0, -512.0],
    [7.0, 11.0],
    [-13.0, 17.0],
    [f32::INFINITY, 1.0],
    [19.0, -23.0],
    [29.0, 31.0],
    [-37.0, 41.0],
    [43.0, 47.0],
    [53.0, -59.0],
];

/// Runs to the end; at `break_at` the run goes through what was saved, into parameters that begin with other values.
fn run(break_at: Option<usize>) -> Result<(Vec<SavedParameter>, ScaleState)> {
    let rule = LossScale::dynamic().with_init_scale(256.0)?.with_growth_interval(2)?;
    let fresh =
        |at: f32| optimizer(vec![var("w", &[at, -at], Type::F16)?], UpdateRule::adamw(0.01));
    let (mut adam, mut scaler) = (fresh(1.0)?, Scaler::new(Candle, rule)?);
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for (place, grads) in MICRO_BATCHES.into_iter().enumerate() {
        if break_at == Some(place) {
            let files =
                Files { optimizer: saved(&adam)?, scale: scaler.state()?, window: window.save()? };
            (adam, scaler) = (fresh(9.0)?, Scaler::new(Candle, rule)?);
            adam.load(&files.optimizer)?;
            scaler.set_state(files.scale)?;
            window = scaler.reopen(&adam.params, &files.window)?;
        }
        window.add(unscaled(&scaler, grads)?)?;
        if place % 2 == 1 {
            let step = window.finish()?.ok_or("an empty window")?.step(&mut adam)?;
            scaler.update(step)?.resolve()?.into_applied()?;
            window = scaler.accumulate(BadMicroBatch::Drop);
        }
    }
    Ok((saved(&adam)?, scaler.state()?))
}

#[test]
fn a_run_saved_before_any_micro_batch_and_loaded_elsewhere_ends_with_the_same_bits() -> Result {
    let wanted = run(None)?;
    assert_eq!(wanted.1.overflows, 1);
    for stop in 0..MICRO_BATCHES.len() {
        assert_eq!(run(Some(stop))?, wanted, "before micro-batch {stop}");
    }
    Ok(())
}

#[test]
fn a_checkpoint_of_another_shape_changes_nothing() -> Result {
    let mut here = optimizer(vec![var("w", &[1.0, 2.0], Type::F16)?], UpdateRule::adam(0.1))?;
    let there = optimizer(vec![var("w", &[1.0, 2.0, 3.0], Type::F16)?], UpdateRule::adam(0.1))?;
    let mut scaler = Scaler::new(Candle, LossScale::none())?;
    step(&mut scaler, &mut here, set(&[("w", &[1.0, 1.0])], Type::F16)?)?.into_applied()?;
    let before = saved(&here)?;
    let error = here.load(&saved(&there)?).err().ok_or("it was loaded")?;
    assert!(error.to_string().contains("found f16 [3], expected f16 [2]"), "{error}");
    assert_eq!(saved(&here)?, before);
    Ok(())
}
