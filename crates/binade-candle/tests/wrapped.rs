//! candle's own optimizers: a wrong set is an error before anything changes, and masters can be saved.

use crate::Result;
use binade::core::{Error as _, FoundInf, Optimizer, SparseGrads};
use binade::prelude::*;
use binade_candle::{Wrapped, named};
use candle_core::{DType as Type, Device, Tensor, Var};
use candle_nn::{AdamW, ParamsAdamW, SGD};

/// Parameters `a` and `b`, in `f16`.
fn params() -> Result<Vec<Named<Tensor>>> {
    let var = |values: &[f32]| -> Result<Var> {
        let wide = Tensor::from_slice(values, values.len(), &Device::Cpu)?;
        Ok(Var::from_tensor(&wide.to_dtype(Type::F16)?)?)
    };
    Ok(named([("a".to_owned(), var(&[1.0, -2.0])?), ("b".to_owned(), var(&[0.5])?)]))
}

fn grads(of: &[(&str, &[f32])]) -> Result<SparseGrads<Tensor>> {
    let one = |(name, values): &(&str, &[f32])| -> Result<_> {
        let grad = Tensor::from_slice(values, values.len(), &Device::Cpu)?;
        Ok(Named::new(*name, Some(grad)))
    };
    Ok(of.iter().map(one).collect::<Result<Vec<_>>>()?.into())
}

fn values(params: &[Named<Tensor>]) -> Result<Vec<Vec<f32>>> {
    let one = |param: &Named<Tensor>| Ok(param.value.to_dtype(Type::F32)?.to_vec1()?);
    params.iter().map(one).collect()
}

#[test]
fn gradients_that_do_not_fit_are_named_before_anything_moves_in_a_skipped_step_too() -> Result {
    let raised = FoundInf { halted: true, ..FoundInf::default() };
    for found in [FoundInf::default(), raised] {
        for (set, wanted) in [
            (
                grads(&[("a", &[1.0, 1.0]), ("c", &[1.0]), ("d", &[1.0])])?,
                "gradients came for `c`, `d` that no",
            ),
            (grads(&[("a", &[1.0, 1.0]), ("a", &[1.0, 1.0])])?, "gradients came for `a` that no"),
            (
                grads(&[("a", &[1.0, 1.0]), ("b", &[1.0, 1.0])])?,
                "`b`: its gradient has another shape",
            ),
        ] {
            let params = params()?;
            let mut sgd = Wrapped::<SGD>::new(&params, 0.5)?;
            let error = sgd.step(set, &found).err().ok_or("it was taken")?;
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            assert!(error.to_string().starts_with(wanted), "{error}");
            assert_eq!(values(&params)?, [vec![1.0, -2.0], vec![0.5]]);
        }
    }
    Ok(())
}

#[test]
fn a_run_by_an_optimizer_that_keeps_nothing_is_resumed_to_the_bit_from_its_masters() -> Result {
    let step = |sgd: &mut Wrapped<SGD>, at: f32| -> Result {
        // The step is less than half an ulp of f16 at 1, so only a master adds it up.
        let set = grads(&[("a", &[at, -at]), ("b", &[3.0 * at])])?;
        Ok(sgd.step(set, &FoundInf::default())?)
    };
    let whole = params()?;
    let mut uninterrupted = Wrapped::<SGD>::new(&whole, 1e-4)?;
    (1_u8..=6).try_for_each(|at| step(&mut uninterrupted, f32::from(at)))?;

    let mut first = Wrapped::<SGD>::new(&params()?, 1e-4)?;
    (1_u8..=3).try_for_each(|at| step(&mut first, f32::from(at)))?;
    let kept = first.export_f32()?;
    let resumed = params()?;
    let mut second = Wrapped::<SGD>::new(&resumed, 1e-4)?;
    second.load_f32(&kept)?;
    (4_u8..=6).try_for_each(|at| step(&mut second, f32::from(at)))?;
    assert_eq!(second.export_f32()?, uninterrupted.export_f32()?);
    assert_eq!(values(&resumed)?, values(&whole)?);
    assert_ne!(values(&resumed)?, values(&params()?)?);
    Ok(())
}

#[test]
fn masters_that_do_not_fit_are_refused_by_name_and_none_is_set() -> Result {
    let params = params()?;
    let mut sgd = Wrapped::<SGD>::new(&params, 0.5)?;
    let of = |name, values: &[f32]| Named::new(name, values.to_vec());
    for (wrong, name) in [
        (vec![of("a", &[7.0, 7.0])], "`b`"),
        (vec![of("a", &[7.0, 7.0]), of("b", &[7.0, 7.0])], "`b`"),
        (vec![of("a", &[7.0, 7.0]), of("b", &[7.0]), of("c", &[7.0])], "`c`"),
    ] {
        let error = sgd.load_f32(&wrong).err().ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().starts_with(name), "{error}");
        assert_eq!(values(&params)?, [vec![1.0, -2.0], vec![0.5]]);
    }
    Ok(())
}

/// In an f16 `Var`, candle's `AdamW` turns a gradient of zero into NaN, and loses small steps.
#[test]
fn a_wrapped_adamw_is_moved_by_no_gradient_of_zero_and_loses_no_small_step() -> Result {
    for (lr, slope, steps, wanted) in
        [(1e-3, 0.0, 3_u8, [1.0, -2.0]), (1e-4, 1.0, 100, [0.99, -2.01])]
    {
        let params = params()?;
        let config = ParamsAdamW { lr, weight_decay: 0.0, ..ParamsAdamW::default() };
        let mut adamw = Wrapped::<AdamW>::new(&params, config)?;
        for _ in 0..steps {
            let set = grads(&[("a", &[slope, slope]), ("b", &[slope])])?;
            adamw.step(set, &FoundInf::default())?;
        }
        let got = &adamw.export_f32()?[0].value;
        assert!(
            got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() <= 3e-5),
            "{got:?}"
        );
    }
    Ok(())
}
