//! Modules as a user meets them: names in reports, parameters that are frozen or shared, and errors in place of panics.

use crate::common::{Mlp, Result, Weights, device, fixed, floats, step, trained};
use binade_autocast::Region;
use binade_burn::{Burn, BurnTensor, TensorError, Views, gradients_params, named_gradients};
use binade_core::{AmpTensor, DType, Error, ErrorKind, Named, Op};
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::module::{Module, ParamGroup};
use burn::nn::Linear;
use burn::optim::{AdamWConfig, GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor};

#[test]
fn a_gradient_that_is_missing_is_named_and_the_rest_is_stepped() -> Result {
    let mut trained = trained(Mlp::new(), DType::F32, SgdConfig::new().init(), 0.1)?;
    let before = trained.module.clone();
    let loss = trained.module.fc2.forward(Tensor::<2>::ones([1, 16], &device())).sum();
    let report = step(&mut fixed(0)?, &mut trained, loss)?.into_applied()?;
    let missing: Vec<&str> = report.missing().map(|name| &**name).collect();
    assert_eq!(missing, ["fc1.weight", "fc1.bias"]);
    let moved = |of: fn(&Mlp) -> &Linear| {
        floats(of(&before).weight.val()) != floats(of(&trained.module).weight.val())
    };
    assert_eq!((moved(|m| &m.fc1), moved(|m| &m.fc2)), (false, true));
    Ok(())
}

#[test]
fn a_parameter_that_is_frozen_is_neither_missing_nor_moved() -> Result {
    let mut module = Mlp::new();
    module.fc1 = module.fc1.freeze();
    let mut trained = trained(module, DType::F16, AdamWConfig::new().init(), 0.1)?;
    let before = floats(trained.module.fc1.weight.base());
    let loss = trained.module.loss();
    let report = step(&mut fixed(4)?, &mut trained, loss)?.into_applied()?;
    assert_eq!(report.missing().count(), 0);
    assert_eq!(floats(trained.module.fc1.weight.base()), before);
    Ok(())
}

/// Two parameters, or one under two names.
#[derive(Module, Debug)]
struct Pair {
    a: Weights,
    b: Weights,
}

/// burn's optimizers use a shared parameter's gradient at its first place, and find none at its second. After a step there are two parameters with
/// one number, and the next gradient of one would be taken for the other's.
#[test]
fn a_parameter_that_is_there_twice_is_refused_by_both_paths() {
    let a = Weights::new(&[1.0]);
    let tied = Pair { b: a.clone(), a };
    let loss = BurnTensor::from(tied.a.loss(&[2.0]) + tied.b.loss(&[3.0]));
    let refused = loss.backward(&tied).expect_err("one parameter under two names");
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    assert!(refused.to_string().starts_with("`b.w`: it is also `a.w`"), "{refused}");
}

#[test]
fn gradients_go_by_name_and_come_back_by_number_unchanged() -> Result {
    let model = Mlp::new();
    let burns = GradientsParams::from_grads(model.loss().backward(), &model);
    let wanted = floats(burns.get::<2>(model.fc1.weight.id).expect("it has a gradient"));
    let named = named_gradients(&model, burns)?;
    let paths: Vec<&str> = named.iter().map(|grad| &*grad.name).collect();
    assert_eq!(paths, ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]);
    let back = gradients_params(&model, named)?;
    assert_eq!(back.len(), 4);
    let got = back.get::<2>(model.fc1.weight.id).expect("it has a gradient");
    assert_eq!(floats(got), wanted);
    Ok(())
}

#[test]
fn gradients_of_another_module_are_refused() -> Result {
    let (model, other) = (Mlp::new(), Mlp::new());
    let burns = GradientsParams::from_grads(model.loss().backward(), &model);
    let refused = named_gradients(&other, burns).expect_err("four strangers");
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    assert!(refused.to_string().starts_with("4 gradients belong to no parameter"), "{refused}");

    let named = BurnTensor::from(model.loss()).backward(&model)?;
    let refused = gradients_params(&Weights::new(&[1.0]), named).expect_err("four strangers");
    assert!(refused.to_string().starts_with("`fc1.bias`: a gradient came for it"), "{refused}");
    Ok(())
}

#[test]
fn a_gradient_of_another_shape_is_refused_on_a_skipped_step_too() -> Result {
    let mut trained = trained(Weights::new(&[1.0]), DType::F32, SgdConfig::new().init(), 0.1)?;
    let long = Tensor::<1>::from_floats([f32::NAN, 1.0], &Device::flex());
    let grads = fixed(0)?.check_unscaled(vec![Named::new("w", Some(long.into()))])?;
    let refused = grads.step(&mut trained).map(|_| ()).expect_err("two elements for one");
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    assert!(refused.to_string().contains("`w`: its gradient is of shape [2]"), "{refused}");
    Ok(())
}

#[test]
fn a_loss_that_depends_on_no_parameter_is_an_error_and_no_panic() {
    let loss = BurnTensor::from(Tensor::<1>::ones([1], &device()));
    let refused = loss.backward(&Mlp::new()).expect_err("no graph");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    let plain = BurnTensor::from(Tensor::<1>::ones([1], &Device::flex()));
    assert!(plain.backward(&Mlp::new()).is_err());
}

#[test]
fn types_that_burn_lacks_are_unsupported_and_no_panic() {
    let tensor = BurnTensor::from(Tensor::<1>::ones([1], &Device::flex()));
    for dtype in [DType::E4M3, DType::E5M2, DType::I64] {
        assert_eq!(tensor.cast(dtype).expect_err("no such type").kind(), ErrorKind::Unsupported);
        let refused = Views::lower(dtype).attach(Mlp::new()).expect_err("no such type");
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
    }
    let double = tensor.cast(DType::F64).expect("flex has f64");
    let refused = double.cast(DType::F16).expect_err("two roundings");
    assert!(matches!(refused, TensorError::TwoRoundings { to: DType::F16 }));
}

#[test]
fn clipping_measures_all_gradients_together_and_burns_optimizer_gets_them_clipped() -> Result {
    let mut trained = trained(Weights::new(&[0.0, 0.0]), DType::F32, SgdConfig::new().init(), 1.0)?;
    let mut scaler = fixed(8)?;
    let loss = trained.module.loss(&[3.0, 4.0]);
    let grads =
        scaler.scale(&BurnTensor::from(loss))?.backward(|loss| loss.backward(&trained.module))?;
    let pending = grads.unscale()?.clip_norm(1.0)?.step(&mut trained)?;
    let step = scaler.update(pending)?.resolve()?;
    assert_eq!(step.report().steps[0].norm, Some(5.0));
    let moved = trained.module.values();
    assert!((moved[0] + 0.6).abs() < 1e-6 && (moved[1] + 0.8).abs() < 1e-6, "{moved:?}");
    Ok(())
}

#[test]
fn a_tensor_keeps_its_elements_in_order_whatever_its_strides() -> Result {
    let tensor = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &Device::flex()).transpose();
    let flat = BurnTensor::from(tensor);
    assert_eq!(flat.flat().into_data().try_to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    assert_eq!(flat.to_tensor::<2>()?.dims(), [2, 2]);
    let refused = flat.to_tensor::<1>().expect_err("two axes");
    assert_eq!(
        refused.to_string(),
        "a tensor of 2 axes was asked for as one of 1: its shape is [2, 2]"
    );
    Ok(())
}

#[test]
fn each_group_of_parameters_has_the_rate_that_burns_schedulers_give_it() -> Result {
    let both = Pair { a: Weights::new(&[1.0]), b: Weights::new(&[1.0]) };
    let mut trained = trained(both, DType::F32, SgdConfig::new().init(), 0.0)?;
    let mut rates = ModuleLrScheduler::new(0.5).with_group(ParamGroup::from_path("b.w"), 0.25);
    trained.learning_rate = rates.step();
    let loss = trained.module.a.loss(&[1.0]) + trained.module.b.loss(&[1.0]);
    assert!(step(&mut fixed(0)?, &mut trained, loss)?.is_applied());
    assert_eq!((trained.module.a.values(), trained.module.b.values()), (vec![0.5], vec![0.75]));
    Ok(())
}

#[test]
fn a_module_that_is_stepped_inside_a_region_is_cast_anew() -> Result {
    let scope = Region::bf16().open(&Burn);
    let mut scaler = fixed(0)?;
    for view in [DType::F32, DType::F16] {
        let module = Weights::new(&[1.0, 2.0]);
        let mut trained = trained(module, view, SgdConfig::new().init(), 1.0)?;
        let seen = |module: &Weights| -> Result<[Vec<f32>; 2]> {
            let weight = BurnTensor::from(module.w.val());
            let [cast] = scope.cast(Op::MATMUL, "", [&weight])?;
            assert_eq!(cast.dtype(), DType::BF16);
            Ok([floats(module.w.val()), floats(cast.to_tensor::<1>()?)])
        };
        assert_eq!(seen(&trained.module)?, [[1.0, 2.0], [1.0, 2.0]]);
        let loss = trained.module.loss(&[0.5, 1.0]);
        assert!(step(&mut scaler, &mut trained, loss)?.is_applied());
        assert_eq!(seen(&trained.module)?, [[0.5, 1.0], [0.5, 1.0]]);
    }
    Ok(())
}
