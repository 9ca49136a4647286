//! Cases 1 to 5: numbers that sixteen bits lose.

use super::{ALL, LOW, Result, optimizer, set, step, tensor, values, var};
use binade::prelude::*;
use binade_candle::{Candle, Error, Wrapped, ops};
use candle_core::{DType as Type, Device, Tensor};
use candle_nn::{AdamW, Optimizer as _, ParamsAdamW};

fn candles(lr: f64) -> ParamsAdamW {
    ParamsAdamW { lr, weight_decay: 0.0, ..ParamsAdamW::default() }
}

#[test]
fn a_gradient_of_zero_with_an_eps_of_1e_8_leaves_a_half_parameter_as_it_is() -> Result {
    for dtype in LOW {
        let ours = var("w", &[0.5, -2.0], dtype)?;
        let mut optimizer = optimizer(vec![ours], UpdateRule::adam(1e-3))?;
        let theirs = var("w", &[0.5, -2.0], dtype)?;
        let mut wrapped = Wrapped::<AdamW>::new(std::slice::from_ref(&theirs), candles(1e-3))?;
        let mut scaler = Scaler::new(Candle, LossScale::dynamic())?;
        for _ in 0..3 {
            let zero = set(&[("w", &[0.0, 0.0])], dtype)?;
            assert!(step(&mut scaler, &mut optimizer, zero.clone())?.is_applied());
            assert!(step(&mut scaler, &mut wrapped, zero)?.is_applied());
        }
        assert_eq!(values(&optimizer.params[0].value)?, [0.5, -2.0]);
        assert_eq!(values(&theirs.value)?, [0.5, -2.0]);
    }
    Ok(())
}

#[test]
fn candles_own_limit_a_gradient_of_zero_makes_nan_of_an_f16_var_under_adamw() -> Result {
    let w = var("w", &[0.5], Type::F16)?.value;
    let mut adamw = AdamW::new(vec![candle_core::Var::from_tensor(&w)?], candles(1e-3))?;
    adamw.backward_step(&(&w * &w.zeros_like()?)?.to_dtype(Type::F32)?.sum_all()?)?;
    assert!(values(&w)?[0].is_nan());
    Ok(())
}

#[test]
fn a_gradient_of_1e_4_in_f16_whose_square_underflows_moves_by_the_rate() -> Result {
    let mut optimizer = optimizer(vec![var("w", &[0.25], Type::F16)?], UpdateRule::adam(1e-2))?;
    let mut scaler = Scaler::new(Candle, LossScale::none())?;
    let small = set(&[("w", &[1e-4])], Type::F16)?;
    assert!(step(&mut scaler, &mut optimizer, small)?.is_applied());
    let moved = optimizer.export_f32()?[0].value[0];
    assert!((moved - 0.24).abs() <= 1e-5, "{moved}");
    Ok(())
}

#[test]
fn a_hundred_steps_of_1e_4_from_1_come_to_0_99_in_every_type() -> Result {
    for dtype in ALL {
        let mut optimizer = optimizer(vec![var("w", &[1.0], dtype)?], UpdateRule::adam(1e-4))?;
        let theirs = var("w", &[1.0], dtype)?;
        let mut wrapped = Wrapped::<AdamW>::new(std::slice::from_ref(&theirs), candles(1e-4))?;
        let mut scaler = Scaler::new(Candle, LossScale::none())?;
        for _ in 0..100 {
            let grads = set(&[("w", &[1.0])], dtype)?;
            step(&mut scaler, &mut optimizer, grads.clone())?.into_applied()?;
            step(&mut scaler, &mut wrapped, grads)?.into_applied()?;
        }
        let master = optimizer.export_f32()?[0].value[0];
        assert!((master - 0.99).abs() <= 1e-5, "{dtype:?}: {master}");
        for stored in [&optimizer.params[0].value, &theirs.value] {
            let (got, nearest) = (values(stored)?[0], values(&tensor(&[0.99], dtype)?)?[0]);
            assert!((got - nearest).abs() <= 1e-5, "{dtype:?}: {got}");
        }
    }
    Ok(())
}

#[test]
fn the_sum_of_70_000_ones_is_70_000_and_their_mean_is_1_in_every_type() -> Result {
    for dtype in ALL {
        let ones = Tensor::ones(70_000, dtype, &Device::Cpu)?;
        for region in [Region::bf16(), Region::f16(), Region::f16().off()] {
            let scope = region.open(&Candle);
            assert_eq!(ops::sum(&scope, "", &ones)?.to_scalar::<f32>()?, 70_000.0, "{dtype:?}");
            assert_eq!(ops::mean(&scope, "", &ones)?.to_scalar::<f32>()?, 1.0, "{dtype:?}");
        }
    }
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

/// Largest |error| of a row by a matrix, `k` terms each, as a share of what sums in `f32` and one rounding to the type allow.
fn product_error(
    dtype: Type,
    k: u16,
    multiply: impl Fn(&Tensor, &Tensor) -> std::result::Result<Tensor, Error>,
) -> Result<f64> {
    let mut state = 7_u64;
    let mut draw = |rows: u16, columns: u16| -> Result<Tensor> {
        let mut one = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            f32::from(u16::try_from(state >> 48).unwrap_or_default()) / 65536.0
        };
        let (rows, columns) = (usize::from(rows), usize::from(columns));
        let drawn: Vec<f32> = (0..rows * columns).map(|_| one()).collect();
        Ok(Tensor::from_vec(drawn, (rows, columns), &Device::Cpu)?.to_dtype(dtype)?)
    };
    let (a, b) = (draw(1, k)?, draw(k, 64)?);
    let got = values(&multiply(&a, &b)?)?;
    // Terms are positive, so that this is the sum of their magnitudes too.
    let wide = a.to_dtype(Type::F64)?.matmul(&b.to_dtype(Type::F64)?)?;
    let exact: Vec<f64> = wide.flatten_all()?.to_vec1()?;
    let unit = match dtype {
        Type::BF16 => 2_f64.powi(-8),
        Type::F16 => 2_f64.powi(-11),
        _ => 0.0,
    };
    let allowed = f64::from(k) * 2_f64.powi(-24) + unit;
    let errors = got.iter().zip(exact).map(|(got, exact)| (f64::from(*got) - exact).abs() / exact);
    Ok(errors.fold(0.0, |worst, error| if error <= worst { worst } else { error }) / allowed)
}

#[test]
fn a_product_of_64_to_4096_terms_is_within_what_f32_sums_and_one_rounding_allow() -> Result {
    let off = Region::f16().off();
    for dtype in ALL {
        for k in [64, 256, 512, 1024, 2048, 4096] {
            let error = product_error(dtype, k, |a, b| ops::matmul(&off.open(&Candle), "", a, b))?;
            assert!(error <= 1.0, "{dtype:?}, {k} terms: {error} of what is allowed");
        }
    }
    Ok(())
}

/// Sum of a row by a matrix, which candle makes in `f16` on the CPU: 114 times what one rounding allows, 6 % of the result, on
/// the machine where this was written.
#[test]
fn candles_own_limit_a_row_of_4096_terms_by_a_matrix_in_f16_is_summed_in_f16() -> Result {
    let error = product_error(Type::F16, 4096, |a, b| Ok(a.matmul(b)?))?;
    assert!(error > 10.0, "{error}: candle has mended it, and the README should say so");
    let error = product_error(Type::BF16, 4096, |a, b| Ok(a.matmul(b)?))?;
    assert!(error <= 1.0, "{error}");
    Ok(())
}
