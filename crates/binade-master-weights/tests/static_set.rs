//! Models whose element type is a type parameter have the same masters, to the bit, as tensors that know theirs at run time.

use crate::common::{Host, STORES};
use binade_core::{
    AmpTensor, DType, Element, Error as _, ErrorKind, F32Grad, FoundInf, HostDevice,
    HostDeviceError, Named, Optimizer, StaticCast, StaticGrads, StaticSet, TypedModel,
};
use binade_master_weights::{
    HostOptimizer, MasterOptimizer, MasterStore, OptimizerConfig, Snapshot, UpdateRule,
};
use half::{bf16, f16};

/// A matrix and a vector, of whichever type.
#[derive(Clone, Debug, PartialEq)]
struct Layer<E> {
    weight: Vec<E>,
    bias: Vec<E>,
}

impl<A: Element, E: Element> StaticCast<E> for Layer<A> {
    type Output = Layer<E>;

    fn cast(&self) -> Layer<E> {
        Layer { weight: self.weight.cast(), bias: self.bias.cast() }
    }
}

impl<E: Element> StaticSet for Layer<E> {
    type Element = E;

    fn slices(&mut self) -> Vec<Named<&mut [E]>> {
        vec![Named::new("weight", &mut self.weight[..]), Named::new("bias", &mut self.bias[..])]
    }
}

/// A model whose arrays have no slices, as those that lie column after column.
#[derive(Clone)]
struct Uneven(Layer<f32>);

impl StaticCast<f16> for Uneven {
    type Output = Layer<f16>;

    fn cast(&self) -> Layer<f16> {
        self.0.cast()
    }
}

impl StaticSet for Uneven {
    type Element = f32;

    fn slices(&mut self) -> Vec<Named<&mut [f32]>> {
        ["weight", "bias"].map(|name| Named::new(name, &mut [][..])).into()
    }
}

/// A model that lists its parameters in another order than its cast does, or not all of them.
#[derive(Clone)]
struct Listed(Layer<f32>, &'static [&'static str]);

impl StaticCast<f16> for Listed {
    type Output = Layer<f16>;

    fn cast(&self) -> Layer<f16> {
        self.0.cast()
    }
}

impl StaticSet for Listed {
    type Element = f32;

    fn slices(&mut self) -> Vec<Named<&mut [f32]>> {
        let mut listed: Vec<_> = self.0.slices();
        let place = |name: &str| self.1.iter().position(|listed| *listed == name);
        listed.retain(|param| place(&param.name).is_some());
        listed.sort_by_key(|param| place(&param.name));
        listed
    }
}

fn layer() -> Layer<f32> {
    Layer { weight: vec![0.1, -0.2, 0.3, 1.7], bias: vec![-2.9, 0.001] }
}

fn config(store: MasterStore) -> OptimizerConfig {
    OptimizerConfig::new(UpdateRule::adamw(0.01)).unwrap().with_store(store)
}

/// A gradient that both kinds of model can be given, another at each step.
fn gradient<E: Element>(step: u8) -> Layer<E> {
    let x = f32::from(step) + 0.5;
    Layer { weight: vec![x, -x, 0.25 * x, 1e-4], bias: vec![1.0 / x, -0.125] }.cast()
}

fn named(layer: &mut Layer<f32>) -> Vec<Named<Option<Host>>> {
    let slices = layer.slices().into_iter();
    slices.map(|s| Named::new(s.name, Some(Host::new(DType::F32, s.value)))).collect()
}

fn is_trained_as_a_dynamic_one<E: Element>(store: MasterStore)
where
    Layer<f32>: StaticCast<E, Output = Layer<E>>,
{
    let mut ours = MasterOptimizer::<TypedModel<Layer<E>>>::lower(layer(), config(store)).unwrap();
    let dynamic = config(store).with_storage(E::DTYPE);
    let params = named(&mut layer()).into_iter().map(|p| Named::new(p.name, p.value.unwrap()));
    let mut theirs = MasterOptimizer::new(HostDevice::new(), params.collect(), dynamic).unwrap();
    for step in 0..10 {
        ours.step(gradient::<E>(step).into(), &FoundInf::default()).unwrap();
        let mut wide: Layer<f32> = gradient::<E>(step).cast();
        theirs.step(named(&mut wide), &FoundInf::default()).unwrap();
    }
    for (ours, theirs) in ours.params.slices().iter().zip(&mut theirs.params) {
        let values: Vec<_> = ours.value.iter().map(|x| x.to_f32().to_bits()).collect();
        let mut expected = Vec::new();
        theirs.value.map_f32(&mut |_, x| {
            expected.push(x.to_bits());
            x
        });
        assert_eq!(values, expected, "{store:?} in {}", E::DTYPE);
    }
    assert_eq!(ours.export_f32().unwrap(), theirs.export_f32().unwrap(), "{store:?}");
}

#[test]
fn every_store_trains_it_as_it_trains_a_dynamic_tensor() {
    for store in STORES.into_iter().filter(|store| store.takes(DType::F16)) {
        is_trained_as_a_dynamic_one::<bf16>(store);
        is_trained_as_a_dynamic_one::<f16>(store);
    }
    is_trained_as_a_dynamic_one::<bf16>(MasterStore::Remainder);
    is_trained_as_a_dynamic_one::<f32>(MasterStore::Copy);
}

#[test]
fn masters_have_the_bits_that_lowering_loses() {
    let optimizer =
        MasterOptimizer::<TypedModel<Layer<f16>>>::lower(layer(), config(MasterStore::Copy))
            .unwrap();
    assert_eq!(optimizer.full(), layer());
    assert_eq!(optimizer.params, StaticCast::<f16>::cast(&layer()));
    let late = MasterOptimizer::new(TypedModel::new(), optimizer.params, config(MasterStore::Copy));
    assert_ne!(late.unwrap().full(), layer());
}

/// By place alone, equal lengths would start each parameter from the other's values.
#[test]
fn parameters_that_the_cast_lists_otherwise_are_refused_by_both_names() {
    let refused = |names| {
        let even = Layer { weight: vec![1.0, 2.0], bias: vec![3.0, 4.0] };
        let listed = Listed(even, names);
        let result =
            MasterOptimizer::<TypedModel<Layer<f16>>>::lower(listed, config(MasterStore::Copy));
        result.err().map(|error| error.to_string())
    };
    assert_eq!(refused(&["weight", "bias"]), None);
    let error = refused(&["bias", "weight"]).unwrap();
    assert!(error.starts_with("`bias` and `weight`: the model in f32 and its cast"), "{error}");
    let error = refused(&["weight"]).unwrap();
    assert!(error.starts_with("`bias`: ") && error.contains("do not both have it"), "{error}");
}

#[test]
fn an_overflow_moves_no_bit_and_a_missing_gradient_leaves_its_parameter() {
    let mut optimizer =
        MasterOptimizer::<TypedModel<Layer<f16>>>::lower(layer(), config(MasterStore::Copy))
            .unwrap();
    let (before, mut found) = (optimizer.save().unwrap(), FoundInf::default());
    found.check(&"weight".into(), 0, f32::INFINITY, f32::INFINITY);
    optimizer.step(gradient::<f16>(1).into(), &found).unwrap();
    assert_eq!(optimizer.save().unwrap(), before);

    let only_bias = Layer { weight: Vec::new(), ..gradient::<f16>(1) };
    optimizer.step(only_bias.into(), &FoundInf::default()).unwrap();
    let after = optimizer.save().unwrap();
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
    assert_eq!((after[0].applied, after[1].applied), (0, 1));
}

#[test]
fn what_does_not_fit_is_refused_by_name_before_anything_has_moved() {
    let device = TypedModel::<Layer<f16>>::new();
    let other = config(MasterStore::Copy).with_storage(DType::BF16);
    let error = MasterOptimizer::new(device, layer().cast(), other).unwrap_err();
    assert!(
        error.to_string().starts_with("`weight`: the configuration would store it in another type")
    );

    let uneven = Uneven(layer());
    let error = MasterOptimizer::<TypedModel<Layer<f16>>>::lower(uneven, config(MasterStore::Copy));
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("`weight`: its slice is empty, or of another length"), "{error}");

    // As an array that does not lie row after row gives none: it would never be moved, and never saved.
    let none = Layer { weight: Vec::new(), ..layer() };
    let error = MasterOptimizer::new(device, none.cast(), config(MasterStore::Copy)).unwrap_err();
    assert!(error.to_string().starts_with("`weight`: its slice is empty"), "{error}");

    let mut optimizer =
        MasterOptimizer::new(device, layer().cast(), config(MasterStore::Copy)).unwrap();
    let before = optimizer.save().unwrap();
    let stranger = vec![Named::new("head", Some(F32Grad(vec![1.0])))];
    let longer = Layer { bias: vec![f16::ONE; 3], ..gradient::<f16>(1) };
    for (grads, name) in [(StaticGrads::Unscaled(stranger), "head"), (longer.into(), "bias")] {
        let error = optimizer.step(grads, &FoundInf::default()).unwrap_err();
        assert!(
            matches!(&error, HostDeviceError::Mismatch { parameter, .. } if &**parameter == name),
            "{error}"
        );
    }
    let nothing = Layer { weight: Vec::new(), bias: Vec::new() };
    let error = optimizer.step(nothing.into(), &FoundInf::default()).unwrap_err();
    assert!(error.to_string().starts_with("no gradient came for any of 2 parameters"), "{error}");
    assert_eq!(optimizer.save().unwrap(), before);
}

#[test]
fn what_is_saved_is_loaded_to_the_bit() {
    let mut trained =
        MasterOptimizer::<TypedModel<Layer<bf16>>>::lower(layer(), config(MasterStore::Kahan))
            .unwrap();
    trained.step(gradient::<bf16>(3).into(), &FoundInf::default()).unwrap();
    let saved = trained.save().unwrap();
    let fresh = Layer { weight: vec![bf16::ONE; 4], bias: vec![bf16::ONE; 2] };
    let mut again =
        MasterOptimizer::new(TypedModel::new(), fresh, config(MasterStore::Kahan)).unwrap();
    again.load(&saved).unwrap();
    assert_eq!(again.save().unwrap(), saved);
    assert_eq!(again.params, trained.params);
    assert_eq!(again.device().specs(&again.params, again.masters()).unwrap().len(), 2);
}

#[test]
fn a_plan_that_was_set_moves_a_static_model_from_the_next_step_on() {
    let config = |lr| OptimizerConfig::new(UpdateRule::sgd(lr)).unwrap();
    let filled = |x| Layer { weight: vec![x; 4], bias: vec![x; 2] };
    let mut optimizer =
        MasterOptimizer::new(TypedModel::new(), filled(1.0_f32), config(0.5)).unwrap();
    optimizer.set_config(config(0.25)).unwrap();
    optimizer.step(filled(1.0).into(), &FoundInf::default()).unwrap();
    assert_eq!(optimizer.params, filled(0.75));
    let other = config(0.125).with_storage(DType::BF16);
    let error = optimizer.set_config(other).unwrap_err().to_string();
    assert!(error.contains("neither can change in a running optimizer"), "{error}");
}

#[test]
fn a_static_model_takes_in_no_parameter_and_shows_no_plain_gradients() {
    type Device = TypedModel<Layer<f16>>;
    let mut optimizer =
        MasterOptimizer::<Device>::lower(layer(), config(MasterStore::Copy)).unwrap();
    let (before, in_force) = (optimizer.save().unwrap(), optimizer.config().clone());
    let other = in_force.clone().with_lr(0.5).unwrap();
    let join = optimizer.join(optimizer.params.clone(), other).unwrap_err();
    assert_eq!((optimizer.save().unwrap(), optimizer.config()), (before, &in_force));

    let mut calls = 0;
    let mut own = HostOptimizer::new(Device::new(), |_| {
        calls += 1;
        Ok(())
    });
    let show = own.step(gradient::<f16>(1).into(), &FoundInf::default()).unwrap_err();
    assert_eq!((own.skipped(), calls), (0, 0));
    for (error, method) in [(join, "MasterWeights::join"), (show, "GradSet::materialise")] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let text = error.to_string();
        assert!(text.contains("TypedModel<") && text.contains(method), "{text}");
    }
}
