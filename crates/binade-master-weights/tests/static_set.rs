//! Models whose element type is a type parameter have the same masters, to the bit, as tensors that know theirs at run time.

use crate::common::STORES;
use binade_core::{
    DType, Element, Error as _, ErrorKind, FoundInf, HostDevice, HostDeviceError, HostParams as _,
    HostTensor, Named, Optimizer, StaticCast, StaticSet, TypedModel,
};
use binade_master_weights::{
    HostOptimizer, MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule,
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

/// A model that lists its parameters in another order than its cast does, or not all of them, or with other lengths.
#[derive(Clone)]
struct Listed(Layer<f32>, &'static [&'static str]);

impl StaticCast<f16> for Listed {
    type Output = Layer<f16>;

    fn cast(&self) -> Layer<f16> {
        Layer { weight: vec![f16::ONE; 2], bias: vec![f16::ONE; 2] }
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

type Optimizes<E> = MasterOptimizer<TypedModel<Layer<E>>>;

fn layer() -> Layer<f32> {
    Layer { weight: vec![0.1, -0.2, 0.3, 1.7], bias: vec![-2.9, 0.001] }
}

fn config(store: MasterStore) -> OptimizerConfig {
    OptimizerConfig::new(UpdateRule::adamw(0.01)).unwrap().with_store(store)
}

/// Model in f16 with masters.
fn lowered() -> Optimizes<f16> {
    Optimizes::lower(layer(), config(MasterStore::Copy)).unwrap()
}

/// A gradient that both kinds of model can be given, another at each step.
fn gradient<E: Element>(step: u8) -> Layer<E> {
    let x = f32::from(step) + 0.5;
    Layer { weight: vec![x, -x, 0.25 * x, 1e-4], bias: vec![1.0 / x, -0.125] }.cast()
}

fn is_trained_as_a_dynamic_one<E: Element>(store: MasterStore)
where
    Layer<f32>: StaticCast<E, Output = Layer<E>>,
{
    let mut ours = Optimizes::<E>::lower(layer(), config(store)).unwrap();
    let dynamic = config(store).with_storage(E::DTYPE);
    let params = layer().tensors().into_owned();
    let mut theirs = MasterOptimizer::new(HostDevice::new(), params, dynamic).unwrap();
    for step in 0..10 {
        ours.step(gradient::<E>(step).into_grads(), &FoundInf::default()).unwrap();
        theirs.step(gradient::<E>(step).into_grads(), &FoundInf::default()).unwrap();
    }
    assert_eq!(*ours.params.tensors(), theirs.params, "{store:?} in {}", E::DTYPE);
    assert_eq!(ours.save().unwrap(), theirs.save().unwrap(), "{store:?}");
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
    let optimizer = lowered();
    assert_eq!(optimizer.full(), layer());
    assert_eq!(optimizer.params, StaticCast::<f16>::cast(&layer()));
    let late = Optimizes::new(TypedModel::new(), optimizer.params, config(MasterStore::Copy));
    assert_ne!(late.unwrap().full(), layer());
}

/// By place alone, equal lengths would start each parameter from the other's values.
#[test]
fn parameters_that_the_cast_lists_otherwise_are_refused_by_name() {
    let refused = |weight: &[f32], names| {
        let listed = Listed(Layer { weight: weight.into(), bias: vec![3.0, 4.0] }, names);
        let result = Optimizes::<f16>::lower(listed, config(MasterStore::Copy));
        result.err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (weight, names, told) in [
        (&[1.0, 2.0][..], &["weight", "bias"][..], ""),
        (&[1.0, 2.0], &["bias", "weight"], "`bias` and `weight`: the model in f32 and its cast"),
        (&[1.0, 2.0], &["weight"], "`bias`: the model in f32 and its cast"),
        // As an array that does not lie row after row gives none.
        (&[], &["weight", "bias"], "`weight`: its slice is empty, or of another length"),
    ] {
        let error = refused(weight, names);
        assert!(error.starts_with(told) && error.is_empty() == told.is_empty(), "{error}");
    }
}

#[test]
fn an_overflow_moves_no_bit_and_a_missing_gradient_leaves_its_parameter() {
    let mut optimizer = lowered();
    let (before, mut found) = (optimizer.save().unwrap(), FoundInf::default());
    found.check(&"weight".into(), 0, f32::INFINITY, f32::INFINITY);
    optimizer.step(gradient::<f16>(1).into_grads(), &found).unwrap();
    assert_eq!(optimizer.save().unwrap(), before);

    let only_bias = Layer { weight: Vec::new(), ..gradient::<f16>(1) };
    optimizer.step(only_bias.into_grads(), &FoundInf::default()).unwrap();
    let after = optimizer.save().unwrap();
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
    assert_eq!((after[0].applied, after[1].applied), (0, 1));
}

#[test]
fn what_does_not_fit_is_refused_by_name_before_anything_has_moved() {
    let device = TypedModel::<Layer<f16>>::new();
    let other = config(MasterStore::Copy).with_storage(DType::BF16);
    let error = MasterOptimizer::new(device, layer().cast(), other).unwrap_err().to_string();
    assert!(error.starts_with("`weight`: the configuration would store it in another"), "{error}");
    // It would never be moved, and never saved.
    let none = Layer { weight: Vec::new(), ..layer() };
    let error = MasterOptimizer::new(device, none.cast(), config(MasterStore::Copy)).unwrap_err();
    assert!(error.to_string().starts_with("`weight`: its slice is empty"), "{error}");

    let mut optimizer = lowered();
    let before = optimizer.save().unwrap();
    let stranger = vec![Named::new("head", Some(HostTensor::from(vec![1.0])))];
    let longer = Layer { bias: vec![f16::ONE; 3], ..gradient::<f16>(1) };
    for (grads, name) in [(stranger, "head"), (longer.into_grads(), "bias")] {
        let error = optimizer.step(grads, &FoundInf::default()).unwrap_err();
        assert!(
            matches!(&error, HostDeviceError::Mismatch { parameter, .. } if &**parameter == name),
            "{error}"
        );
    }
    let nothing = Layer::<f16> { weight: Vec::new(), bias: Vec::new() };
    let error = optimizer.step(nothing.into_grads(), &FoundInf::default()).unwrap_err();
    assert!(error.to_string().starts_with("no gradient came for any of 2 parameters"), "{error}");
    assert_eq!(optimizer.save().unwrap(), before);
}

#[test]
fn what_is_saved_is_loaded_to_the_bit() {
    let mut trained = Optimizes::<bf16>::lower(layer(), config(MasterStore::Kahan)).unwrap();
    trained.step(gradient::<bf16>(3).into_grads(), &FoundInf::default()).unwrap();
    let saved = trained.save().unwrap();
    let fresh = Layer { weight: vec![bf16::ONE; 4], bias: vec![bf16::ONE; 2] };
    let mut again = Optimizes::new(TypedModel::new(), fresh, config(MasterStore::Kahan)).unwrap();
    again.load(&saved).unwrap();
    assert_eq!(again.save().unwrap(), saved);
    assert_eq!(again.params, trained.params);
}

#[test]
fn a_static_model_takes_in_no_parameter_and_shows_no_plain_gradients() {
    let mut optimizer = lowered();
    let before = optimizer.save().unwrap();
    let other = optimizer.config().clone().with_lr(0.5).unwrap();
    optimizer.set_config(other.clone()).unwrap();
    let join = optimizer.join(optimizer.params.clone(), other.with_lr(0.25).unwrap()).unwrap_err();
    assert_eq!((optimizer.save().unwrap(), optimizer.config().rule().lr()), (before, 0.5));

    let mut own = HostOptimizer::new(TypedModel::<Layer<f16>>::new(), |_| panic!("no gradients"));
    let show = own.step(gradient::<f16>(1).into_grads(), &FoundInf::default()).unwrap_err();
    for (error, method) in [(join, "MasterWeights::join"), (show, "GradSet::materialise")] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let text = error.to_string();
        assert!(text.contains("TypedModel<") && text.contains(method), "{text}");
    }
}
