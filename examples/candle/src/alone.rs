//! Training by candle alone: `Var`s of the type, candle's `AdamW` over them, no scale and no masters.

use crate::{Mlp, RATE, Result, STEPS, Task, Trained};
use binade_candle::params;
use candle_core::{DType, Device, Module};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, VarBuilder};

/// Trains without Binade, for comparison with every recipe; the loss is computed in `f32`.
///
/// # Errors
///
/// candle's.
pub fn alone(dtype: DType) -> Result<Trained> {
    let task = Task::new(dtype)?;
    let model = Mlp::new(&VarBuilder::from_varmap(&task.map, dtype, &Device::Cpu))?;
    let config = ParamsAdamW { lr: RATE, ..ParamsAdamW::default() };
    let mut optimizer = AdamW::new(task.map.all_vars(), config)?;

    let mut trained = Trained::start(&params(&task.map))?;
    for _ in 0..STEPS {
        let output = model.forward(&task.x.to_dtype(dtype)?)?.to_dtype(DType::F32)?;
        let loss = candle_nn::loss::mse(&output, &task.y)?;
        optimizer.backward_step(&loss)?;
        trained.losses.push(loss.to_scalar()?);
    }
    trained.end(&params(&task.map))
}
