//! Checkpoints of candle's parameters: read by candle itself, and made between micro-batches.

use crate::Result;
use binade::grad_scaler::UnscaledGrads;
use binade::prelude::*;
use binade_candle::{Candle, backward, named};
use binade_checkpoint::{Checkpoint, Draft};
use binade_master_weights::SavedParameter;
use candle_core::{DType as Type, Device, Tensor, Var};

type Run = (Scaler<Candle>, MasterOptimizer<Candle>);

fn start(at: f32) -> Result<Run> {
    let w = Var::from_tensor(&Tensor::full(at, (2, 3), &Device::Cpu)?)?;
    let config = OptimizerConfig::new(UpdateRule::adamw(0.1))?.with_storage(DType::F16);
    let optimizer = MasterOptimizer::new(Candle, named([("w".to_owned(), w)]), config)?;
    Ok((Scaler::new(Candle, LossScale::dynamic())?, optimizer))
}

#[test]
fn a_checkpoint_restores_every_bit_and_candle_reads_its_tensors_by_name_type_and_shape() -> Result {
    let (mut scaler, mut optimizer) = start(1.0)?;
    let loss = optimizer.params[0].value.to_dtype(Type::F32)?.sqr()?.sum_all()?;
    let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &optimizer.params))?;
    let step = grads.unscale()?.step(&mut optimizer)?;
    let step = scaler.update(step)?.resolve()?;
    let draft = Draft::after(&step).scaler("loss", &scaler)?.optimizer("model", &optimizer)?;
    let bytes = draft.finish()?.to_bytes()?;

    let (mut scaler_again, mut optimizer_again) = start(7.0)?;
    let checkpoint = Checkpoint::from_bytes(&bytes)?;
    let mut restore = checkpoint.restore();
    restore.scaler("loss", &mut scaler_again)?;
    restore.optimizer("model", &mut optimizer_again)?;
    restore.finish()?;
    assert_eq!(optimizer_again.save()?, optimizer.save()?);
    assert_eq!(scaler_again.state()?, scaler.state()?);
    assert!(optimizer_again.params[0].value.is_variable());

    let read = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)?;
    let stored = &read["optimizer/model/parameter/w"];
    assert_eq!((stored.dtype(), stored.dims()), (Type::F16, &[2, 3][..]));
    let now = &optimizer.params[0].value;
    let same = stored.eq(now)?.to_dtype(Type::F32)?.sum_all()?.to_scalar::<f32>()?;
    assert_eq!(same, 6.0);
    assert_eq!(read["optimizer/model/master/w"].dims(), [2, 3]);
    Ok(())
}

/// Gradients of micro-batches, two a step; the fifth overflows and is left out.
const MICRO_BATCHES: [f32; 8] = [0.25, -0.5, 0.007, -0.013, f32::INFINITY, 0.019, 0.029, -0.037];

fn unscaled((scaler, optimizer): &Run, slope: f32) -> Result<UnscaledGrads<Candle>> {
    let loss = (optimizer.params[0].value.to_dtype(Type::F32)?.sum_all()? * f64::from(slope))?;
    let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &optimizer.params))?;
    Ok(grads.unscale()?)
}

/// Runs to the end. At `break_at`, the run is saved and resumed with parameters of other initial values.
fn run(break_at: Option<usize>) -> Result<(Vec<SavedParameter>, ScaleState)> {
    let mut run = start(1.0)?;
    let mut window = run.0.accumulate(BadMicroBatch::Drop);
    for (place, slope) in MICRO_BATCHES.into_iter().enumerate() {
        if break_at == Some(place) {
            let (saved, state, open) = (run.1.save()?, run.0.state()?, window.save()?);
            run = start(9.0)?;
            run.1.load(&saved)?;
            run.0.set_state(state)?;
            window = run.0.reopen(&run.1.params, &open)?;
        }
        window.add(unscaled(&run, slope)?)?;
        if place % 2 == 1 {
            let step = window.finish()?.ok_or("an empty window")?.step(&mut run.1)?;
            run.0.update(step)?.resolve()?.into_applied()?;
            window = run.0.accumulate(BadMicroBatch::Drop);
        }
    }
    Ok((run.1.save()?, run.0.state()?))
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
