//! Recipe of a casting `VarBuilder` and one of candle's own optimizers: the `Var`s are the masters, the model is a view of them.

use binade::grad_scaler::LossScale;
use binade::prelude::*;
use binade_candle::{Candle, Wrapped, backward, candle_dtype, casting_var_builder, params};
use binade_example_candle::{Mlp, RATE, Result, STEPS, Task, Trained, print};
use candle_core::{Device, Module};
use candle_nn::{AdamW, ParamsAdamW};

/// Trains with a view in `dtype`.
pub(crate) fn train(dtype: DType) -> Result<Trained> {
    let task = Task::new(candle_core::DType::F32)?;
    let params = params(&task.map);
    let config = ParamsAdamW { lr: RATE, ..ParamsAdamW::default() };
    let mut optimizer = Wrapped::<AdamW>::new(&params, config)?;
    let rule = if dtype == DType::F16 { LossScale::dynamic() } else { LossScale::none() };
    let mut scaler = Scaler::new(Candle, rule)?;
    let low = candle_dtype(dtype)?;

    let mut trained = Trained::start(&params)?;
    for _ in 0..STEPS {
        // The model is built anew, since a view does not follow the `Var`s.
        let mlp = Mlp::new(&casting_var_builder(&task.map, low, &Device::Cpu))?;
        let output = mlp.forward(&task.x.to_dtype(low)?)?.to_dtype(candle_core::DType::F32)?;
        let loss = candle_nn::loss::mse(&output, &task.y)?;

        let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &params))?;
        let step = grads.unscale()?.step(&mut optimizer)?;
        trained.step(&loss, scaler.update(step)?.resolve()?)?;
    }
    trained.end(&params)
}

fn main() -> Result<()> {
    print("a casting VarBuilder", train)
}
