//! Limits of candle's own, each with its way out here: a test that fails once candle has mended one says so in its name.

use binade::prelude::*;
use binade_candle::{Candle, Wrapped, backward, ops};
use binade_core::FoundInf;
use candle_core::{DType as Type, Device, Tensor, Var};
use candle_nn::{AdamW, Optimizer as _, ParamsAdamW};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const LOW: [Type; 2] = [Type::BF16, Type::F16];

/// Vector of candle's.
fn tensor(values: &[f32], dtype: Type) -> Result<Tensor> {
    Ok(Tensor::new(values, &Device::Cpu)?.to_dtype(dtype)?)
}

fn values(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(tensor.to_dtype(Type::F32)?.flatten_all()?.to_vec1()?)
}

/// Steps of candle's `AdamW` on a `Var` of `start` with these gradients, over masters.
fn stepped(start: &[f32], grads: &[f32], dtype: Type, (lr, steps): (f64, u8)) -> Result<Tensor> {
    let w = Var::from_tensor(&tensor(start, dtype)?)?.into_inner();
    let mut adamw = Wrapped::<AdamW>::new(&[Named::new("w", w.clone())], candles(lr))?;
    for _ in 0..steps {
        let grads = vec![Named::new("w", Some(tensor(grads, dtype)?))];
        binade::core::Optimizer::step(&mut adamw, grads, &FoundInf::default())?;
    }
    Ok(w)
}

fn candles(lr: f64) -> ParamsAdamW {
    ParamsAdamW { lr, weight_decay: 0.0, ..ParamsAdamW::default() }
}

#[test]
fn a_wrapped_adamw_is_moved_by_no_gradient_of_zero_and_loses_no_small_step() -> Result {
    for dtype in LOW {
        assert_eq!(values(&stepped(&[0.5, -2.0], &[0.0; 2], dtype, (1e-3, 3))?)?, [0.5, -2.0]);
        let (got, nearest) =
            (stepped(&[1.0], &[1.0], dtype, (1e-4, 100))?, tensor(&[0.99], dtype)?);
        assert!((values(&got)?[0] - values(&nearest)?[0]).abs() <= 1e-5, "{dtype:?}: {got}");
    }
    Ok(())
}

#[test]
fn candles_own_limit_a_gradient_of_zero_makes_nan_of_an_f16_var_under_adamw() -> Result {
    let w = Var::from_tensor(&tensor(&[0.5], Type::F16)?)?;
    let mut adamw = AdamW::new(vec![w.clone()], candles(1e-3))?;
    adamw.backward_step(&(w.as_tensor() * &w.zeros_like()?)?.to_dtype(Type::F32)?.sum_all()?)?;
    assert!(values(&w)?[0].is_nan());
    Ok(())
}

#[test]
fn candles_own_limit_sums_of_ones_stop_at_256_in_bf16_and_at_2048_in_f16() -> Result {
    for (dtype, stops) in LOW.into_iter().zip([256.0, 2048.0]) {
        let sum = Tensor::ones(70_000, dtype, &Device::Cpu)?.sum_all()?;
        assert_eq!(values(&sum)?, [stops], "{dtype:?}");
    }
    Ok(())
}

/// Product that candle sums in `f16` on the CPU; [`ops::matmul`] sums in `f32` and rounds once.
#[test]
fn candles_own_limit_a_row_of_4096_terms_by_a_matrix_in_f16_is_summed_in_f16() -> Result {
    let filled = |shape| Tensor::full(0.7_f32, shape, &Device::Cpu)?.to_dtype(Type::F16);
    let (row, matrix) = (filled((1, 4096))?, filled((4096, 64))?);
    let exact = 4096.0 * values(&row)?[0].powi(2);
    let region = Region::f16().off();
    let ours = ops::matmul(&region.open(&Candle), "", &row, &matrix)?;
    let [ours, theirs] = [ours, row.matmul(&matrix)?].map(|x| values(&x));
    assert!((ours?[0] / exact - 1.0).abs() <= 2_f32.powi(-11));
    let off = (theirs?[0] / exact - 1.0).abs();
    assert!(off > 0.005, "{off}: candle has mended it, and the README should say so");
    Ok(())
}

#[test]
fn rows_looked_up_twice_whose_gradients_sum_to_infinity_are_found() -> Result {
    let table = Var::zeros((2, 1), Type::F16, &Device::Cpu)?.into_inner();
    let (params, config) =
        (vec![Named::new("table", table)], OptimizerConfig::new(UpdateRule::sgd(0.1))?);
    let mut optimizer = MasterOptimizer::new(Candle, params, config)?;
    let mut scaler = Scaler::new(Candle, LossScale::dynamic())?;
    for rows in [[0_u32, 1, 1], [0, 1, 0]] {
        let picked =
            optimizer.params[0].value.index_select(&Tensor::new(&rows, &Device::Cpu)?, 0)?;
        // Each row's own gradient is 40000 in f16, and two are 80000.
        let factor = 40_000.0 / f64::from(scaler.state()?.factor());
        let loss = (picked.to_dtype(Type::F32)?.sum_all()? * factor)?;
        let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &optimizer.params))?;
        let step = grads.unscale()?.step(&mut optimizer)?;
        let step = scaler.update(step)?.resolve()?;
        assert!(!step.is_applied());
        let found = step.report().overflow().ok_or("no overflow was told")?;
        assert_eq!((&*found.parameter, found.what()), ("table", "+inf"));
    }
    assert_eq!(values(&optimizer.params[0].value)?, [0.0, 0.0]);
    Ok(())
}
