//! Recipe of casts in the forward pass, by policy: the `Var`s stay in `f32`, products run in sixteen bits, the loss in `f32`.

use binade::prelude::*;
use binade_candle::{Candle, backward, ops, params};
use binade_example_candle::{RATE, Result, STEPS, Task, Trained, print};

/// Trains with products in `dtype`.
pub(crate) fn train(dtype: DType) -> Result<Trained> {
    let task = Task::new(candle_core::DType::F32)?;
    let model = Model::new(params(&task.map));
    let mut amp = initialize(Candle, model, UpdateRule::adamw(RATE), OptLevel::O1.with(dtype))?;

    let mut trained = Trained::start(&amp.optimizer.params)?;
    for _ in 0..STEPS {
        let scope = amp.region.open(&Candle); // one region a pass
        let [b1, w1, b2, w2] = &amp.optimizer.params[..] else {
            return Err("four, by name".into());
        };
        let hidden = ops::linear(&scope, "first", &task.x, &w1.value, Some(&b1.value))?.gelu()?;
        let output = ops::linear(&scope, "second", &hidden, &w2.value, Some(&b2.value))?;
        let loss = ops::mse_loss(&scope, "loss", &output, &task.y)?;

        let grads =
            amp.scaler.scale(&loss)?.backward(|loss| backward(loss, &amp.optimizer.params))?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?;
        trained.step(&loss, amp.scaler.update(step)?.resolve()?)?;
    }
    trained.end(&amp.optimizer.params)
}

fn main() -> Result<()> {
    print("cast in the forward", train)
}
