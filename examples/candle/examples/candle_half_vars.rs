//! Recipe of half `Var`s with `f32` masters: the model is candle's own code, built once, and sees every step.

use binade::prelude::*;
use binade_candle::{Candle, backward, candle_dtype, params, var_builder};
use binade_example_candle::{Mlp, RATE, Result, STEPS, Task, Trained, print};
use candle_core::Module;

/// Trains with `Var`s in `dtype`.
pub(crate) fn train(dtype: DType) -> Result<Trained> {
    let task = Task::new(candle_core::DType::F32)?;
    let model = Model::new(params(&task.map));
    // Masters are taken from the `f32` values before the `Var`s are cast to the low type.
    let mut amp = initialize(Candle, model, UpdateRule::adamw(RATE), OptLevel::O2.with(dtype))?;
    let mlp = Mlp::new(&var_builder(&amp.optimizer.params))?;
    let x = task.x.to_dtype(candle_dtype(dtype)?)?;

    let mut trained = Trained::start(&amp.optimizer.params)?;
    for _ in 0..STEPS {
        let output = mlp.forward(&x)?.to_dtype(candle_core::DType::F32)?;
        let loss = candle_nn::loss::mse(&output, &task.y)?;

        let grads =
            amp.scaler.scale(&loss)?.backward(|loss| backward(loss, &amp.optimizer.params))?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?; // sets the `Var`s that `mlp` holds
        trained.step(&loss, amp.scaler.update(step)?.resolve()?)?;
    }
    trained.end(&amp.optimizer.params)
}

fn main() -> Result<()> {
    print("half Vars and masters", train)
}
