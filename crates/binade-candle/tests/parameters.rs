//! Parameters are matched by name, lost gradients are reported by name, and layers see the `Var`s that steps set.

use crate::{Result, values};
use binade::core::{Error as _, FoundInf};
use binade::prelude::*;
use binade_candle::{
    Candle, Error, SparseLookups, Wrapped, backward, named, ops, params, set_map, var_builder,
};
use candle_core::{DType as Type, Device, Module, Tensor, Var};
use candle_nn::{AdamW, ParamsAdamW, SGD, VarBuilder, VarMap};

fn ones(shape: &[usize]) -> candle_core::Result<Var> {
    Var::ones(shape, Type::F32, &Device::Cpu)
}

#[test]
fn parameters_of_a_map_come_by_name_and_are_its_own_vars() -> Result {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, Type::F32, &Device::Cpu);
    for layer in 0..20 {
        candle_nn::linear(2, 2, vb.pp(format!("layer{layer:02}")))?;
    }
    let params = params(&map);
    assert!(params.is_sorted_by(|a, b| a.name < b.name) && params.len() == 40);
    let vars = map.data().lock().map_err(|error| error.to_string())?;
    assert!(params.iter().all(|param| vars[&*param.name].id() == param.value.id()));
    Ok(())
}

#[test]
fn what_candle_cuts_off_is_missing_by_name_and_ops_have_it_whole() -> Result {
    let list = |names: &[&str]| -> candle_core::Result<Vec<Named<Tensor>>> {
        let vars = names.iter().map(|name| Ok((String::from(*name), ones(&[2, 3])?)));
        Ok(named(vars.collect::<candle_core::Result<Vec<_>>>()?))
    };
    let params = list(&["above"])?;
    let x = params[0].value.cumsum(1)?;
    let (weight, bias) =
        (Tensor::ones(3, Type::F32, &Device::Cpu)?, Tensor::zeros(3, Type::F32, &Device::Cpu)?);
    let scope = Region::f16().off().open(&Candle);
    let cut = [
        candle_nn::LayerNorm::new(weight.clone(), bias.clone(), 1e-5).forward(&x)?,
        candle_nn::RmsNorm::new(weight.clone(), 1e-5).forward(&x)?,
        candle_nn::ops::softmax_last_dim(&x)?,
    ];
    let whole = [
        ops::layer_norm(&scope, "", [&x, &weight, &bias], 1e-5)?,
        ops::rms_norm(&scope, "", [&x, &weight], 1e-5)?,
        ops::softmax(&scope, "", &x, candle_core::D::Minus1)?,
    ];
    let scaler = Scaler::new(Candle, LossScale::none())?;
    for (cut, whole) in cut.iter().zip(&whole) {
        for (cut, whole) in values(cut)?.iter().zip(values(whole)?) {
            assert!((cut - whole).abs() <= 1e-5, "{cut} {whole}");
        }
        let grads =
            scaler.scale(&cut.sqr()?.sum_all()?)?.backward(|loss| backward(loss, &params))?;
        assert!(
            grads.unscale()?.grads().0[0].value.is_none(),
            "candle has mended it: say so in the README"
        );
        let grads: NamedGrads<_> = backward(&whole.sqr()?.sum_all()?, &params)?;
        assert!(grads[0].value.is_some());
    }
    Ok(())
}

#[test]
fn a_missing_gradient_is_in_the_report_and_the_others_are_applied() -> Result {
    let params =
        named([("a.weight".to_owned(), ones(&[2])?), ("b.weight".to_owned(), ones(&[2])?)]);
    let mut optimizer =
        MasterOptimizer::new(Candle, params, OptimizerConfig::new(UpdateRule::sgd(0.5))?)?;
    let mut scaler = Scaler::new(Candle, LossScale::dynamic())?;
    let cut = candle_nn::ops::softmax_last_dim(&optimizer.params[1].value)?;
    let loss = (optimizer.params[0].value.sum_all()? + cut.sum_all()?)?;
    let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &optimizer.params))?;
    let step = grads.unscale()?.step(&mut optimizer)?;
    let report = scaler.update(step)?.resolve()?.into_applied()?;
    assert_eq!(report.missing().map(|name| &**name).collect::<Vec<_>>(), ["b.weight"]);
    assert_eq!(values(&optimizer.params[0].value)?, [0.5, 0.5]);
    assert_eq!(values(&optimizer.params[1].value)?, [1.0, 1.0]);
    Ok(())
}

#[test]
fn a_step_is_seen_by_a_layer_that_holds_the_var() -> Result {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, Type::BF16, &Device::Cpu);
    let layer = candle_nn::linear_no_bias(2, 1, vb.pp("out"))?;
    let before = layer.weight().copy()?;
    let mut optimizer =
        MasterOptimizer::new(Candle, params(&map), OptimizerConfig::new(UpdateRule::sgd(1.0))?)?;
    let mut scaler = Scaler::new(Candle, LossScale::none())?;
    let x = Tensor::ones((1, 2), Type::BF16, &Device::Cpu)?;
    let loss = layer.forward(&x)?.to_dtype(Type::F32)?.sum_all()?;
    let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &optimizer.params))?;
    let step = grads.unscale()?.step(&mut optimizer)?;
    scaler.update(step)?.resolve()?.into_applied()?;
    let moved = (before.to_dtype(Type::F32)? - layer.weight().to_dtype(Type::F32)?)?;
    assert!(values(&moved)?.iter().all(|moved| (moved - 1.0).abs() < 0.01), "{moved}");
    Ok(())
}

#[test]
fn a_model_built_before_its_parameters_were_lowered_is_told_at_the_first_step() -> Result {
    let map = VarMap::new();
    let stale =
        candle_nn::linear(2, 1, VarBuilder::from_varmap(&map, Type::F32, &Device::Cpu).pp("out"))?;
    let properties = OptLevel::O2.with(DType::F16);
    let mut amp = initialize(Candle, Model::new(params(&map)), UpdateRule::sgd(0.1), properties)?;
    let fresh = candle_nn::linear(2, 1, var_builder(&amp.optimizer.params).pp("out"))?;
    assert_eq!((stale.weight().dtype(), fresh.weight().dtype()), (Type::F32, Type::F16));
    assert!(fresh.weight().is_variable());

    let loss = stale.forward(&Tensor::ones((1, 2), Type::F32, &Device::Cpu)?)?.sum_all()?;
    let grads = amp.scaler.scale(&loss)?.backward(|loss| backward(loss, &amp.optimizer.params))?;
    let error =
        grads.unscale()?.step(&mut amp.optimizer).err().ok_or("a step without gradients")?;
    assert!(error.to_string().contains("no gradient came for any of 2 parameters"), "{error}");
    Ok(())
}

#[test]
fn what_a_lowered_model_has_learned_goes_back_into_the_map_in_f32() -> Result {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, Type::F32, &Device::Cpu);
    vb.get_with_hints(1, "w", candle_nn::Init::Const(1.0))?;
    let config = OptimizerConfig::new(UpdateRule::adam(1e-4))?.with_storage(DType::BF16);
    let mut optimizer = MasterOptimizer::new(Candle, params(&map), config)?;
    let mut scaler = Scaler::new(Candle, LossScale::none())?;
    let loss = optimizer.params[0].value.to_dtype(Type::F32)?.sum_all()?;
    let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &optimizer.params))?;
    let step = grads.unscale()?.step(&mut optimizer)?;
    scaler.update(step)?.resolve()?.into_applied()?;

    let in_map = || values(&params(&map)[0].value);
    assert_eq!(in_map()?, [1.0], "the map has what the model began with");
    set_map(&map, &optimizer.export_f32()?)?;
    assert!((in_map()?[0] - 0.9999).abs() <= 1e-7, "more than bf16 holds: {:?}", in_map()?);

    let strangers = [Named::new("w", vec![7.0]), Named::new("v", vec![7.0])];
    let error = set_map(&map, &strangers).err().ok_or("it was taken")?;
    assert!(error.to_string().starts_with("`v`: "), "{error}");
    assert!(in_map()?[0] < 1.0, "nothing was set");
    Ok(())
}

#[test]
fn wrapped_optimizers_take_rates_skip_overflows_and_refuse_what_they_could_not_set() -> Result {
    let w = ones(&[1])?;
    let params = named([("w".to_owned(), w.clone())]);
    let mut sgd = Wrapped::<SGD>::new(&params, 0.5)?;
    candle_nn::Optimizer::set_learning_rate(&mut sgd.inner, 0.25);
    let mut scaler = Scaler::new(Candle, LossScale::dynamic())?;
    for (factor, wanted) in [(1.0, 0.75), (f64::INFINITY, 0.75), (1.0, 0.5)] {
        let loss = (w.sum_all()? * factor)?;
        let grads = scaler.scale(&loss)?.backward(|loss| backward(loss, &params))?;
        let step = grads.unscale()?.step(&mut sgd)?;
        assert_eq!(scaler.update(step)?.resolve()?.is_applied(), factor.is_finite());
        assert_eq!(values(&w)?, [wanted]);
    }
    let plain = [Named::new("w", w.as_tensor().copy()?.detach())];
    let error =
        Wrapped::<AdamW>::new(&plain, ParamsAdamW::default()).err().ok_or("it was taken")?;
    assert!(matches!(&error, Error::NotVar { name } if **name == *"w"), "{error}");
    Ok(())
}

#[test]
fn types_that_are_not_trained_are_refused_by_name() -> Result {
    for dtype in [Type::F64, Type::U32] {
        let params = vec![Named::new("w", Tensor::ones(1, dtype, &Device::Cpu)?)];
        let error =
            MasterOptimizer::new(Candle, params, OptimizerConfig::new(UpdateRule::sgd(0.1))?);
        let error = error.err().ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().starts_with("`w` is of candle's type"), "{error}");
    }
    Ok(())
}

#[test]
fn one_var_under_two_names_is_refused_by_every_optimizer() -> Result {
    let tied = ones(&[1])?;
    let twice = || named([("b".to_owned(), tied.clone()), ("a".to_owned(), tied.clone())]);
    let config = OptimizerConfig::new(UpdateRule::sgd(0.1))?;
    let masters = MasterOptimizer::new(Candle, twice(), config.clone()).err();
    let wrapped = Wrapped::<SGD>::new(&twice(), 0.1).err();
    let mut running = MasterOptimizer::new(Candle, vec![twice().remove(0)], config.clone())?;
    let joined = running.join(vec![twice().remove(1)], config).err();
    for error in [masters, wrapped, joined] {
        let error = error.ok_or("it was taken")?;
        assert!(error.to_string().starts_with("`a` and `b` are one `Var`"), "{error}");
    }
    assert_eq!(running.params.len(), 1);
    Ok(())
}

#[test]
fn no_parameters_at_all_are_refused_since_every_step_would_be_applied_to_nothing() -> Result {
    let loss = ones(&[1])?.sqr()?.sum_all()?;
    let none = params(&VarMap::new());
    let errors = [
        backward::<NamedGrads<_>>(&loss, &none).err(),
        SparseLookups::default().backward(&loss, &none).err(),
        Wrapped::<SGD>::new(&[], 0.1).err(),
    ];
    for error in errors {
        let error = error.ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().starts_with("there are no parameters"), "{error}");
    }
    Ok(())
}

#[test]
fn a_var_that_changes_inside_a_region_is_cast_anew() -> Result {
    let var = Var::new(&[1.0_f32, 2.0], &Device::Cpu)?;
    let params = named([("w".to_owned(), var.clone())]);
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?;
    let mut optimizer = MasterOptimizer::new(Candle, params, config)?;
    let scope = Region::bf16().open(&Candle);
    let seen = || -> Result<Vec<f32>> {
        let [cast] = scope.cast(Op::MATMUL, "", [var.as_tensor()])?;
        assert_eq!(cast.dtype(), Type::BF16);
        Ok(values(&cast)?)
    };
    assert_eq!(seen()?, [1.0, 2.0]);
    var.set(&Tensor::new(&[4.0_f32, 2.0], &Device::Cpu)?)?;
    assert_eq!(seen()?, [4.0, 2.0]);
    let grad = Tensor::new(&[0.5_f32, 1.0], &Device::Cpu)?;
    optimizer.step(vec![Named::new("w", Some(grad))].into(), &FoundInf::default())?;
    assert_eq!(seen()?, [3.5, 1.0]);
    Ok(())
}
