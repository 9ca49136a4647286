//! A checkpoint of candle's parameters, read by candle itself.

use binade::prelude::*;
use binade_candle::{Candle, backward, named};
use binade_checkpoint::{Checkpoint, Draft};
use candle_core::{DType as Type, Device, Tensor, Var};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn start(at: f32) -> Result<(Scaler<Candle>, MasterOptimizer<Candle>)> {
    let w = Var::from_tensor(&Tensor::full(at, (2, 3), &Device::Cpu)?)?;
    let plan = Plan::new(UpdateRule::adamw(0.1))?.with_storage(DType::F16);
    let optimizer = MasterOptimizer::new(Candle, named([("w".to_owned(), w)]), plan)?;
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
