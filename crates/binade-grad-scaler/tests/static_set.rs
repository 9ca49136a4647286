//! Loss scaling of a model whose element type is a type parameter: gradients of f16 arrays, a loss that is a plain number.

use binade_core::{
    Element, ErrorKind, F32Grad, FoundInf, HostDeviceError, Named, OnlyF32, TypedModel,
};
use binade_core::{Error, NamedGrads, Optimizer, StaticGrads, StaticSet};
use binade_grad_scaler::{BadMicroBatch, ClipGroup, LossScale, Norm, Scaler, Step};
use half::f16;

/// A model of two parameters.
#[derive(Clone, Debug)]
struct Two<E> {
    weight: Vec<E>,
    bias: Vec<E>,
}

impl<E: Element> StaticSet for Two<E> {
    type Element = E;

    fn slices(&mut self) -> Vec<Named<&mut [E]>> {
        vec![Named::new("weight", &mut self.weight[..]), Named::new("bias", &mut self.bias[..])]
    }
}

/// Keeps what it was last given.
#[derive(Default)]
struct Keeps(NamedGrads<F32Grad>);

impl Optimizer<StaticGrads<Two<f16>>, FoundInf> for Keeps {
    type Error = HostDeviceError<OnlyF32>;

    fn step(&mut self, grads: StaticGrads<Two<f16>>, found: &FoundInf) -> Result<(), Self::Error> {
        if !found.is_raised() {
            self.0 = grads.into_named();
        }
        Ok(())
    }
}

type Result<T = (), E = HostDeviceError<OnlyF32>> = std::result::Result<T, E>;
type Scales = Scaler<TypedModel<Two<f16>>>;

fn scaler(exponent: i32) -> Result<Scales> {
    Scaler::new(TypedModel::new(), LossScale::fixed(2.0_f32.powi(exponent)).expect("in reach"))
}

fn halves(values: &[f32]) -> Vec<f16> {
    values.iter().map(|x| f16::from_f32(*x)).collect()
}

fn kept(keeps: &Keeps) -> Vec<Option<&[f32]>> {
    keeps.0.iter().map(|grad| grad.value.as_ref().map(|flat| &flat.0[..])).collect()
}

#[test]
fn what_scaling_saves_in_f16_is_there_in_f32() -> Result {
    let (mut scaler, mut keeps) = (scaler(16)?, Keeps::default());
    let tiny = 2.0_f32.powi(-30);
    assert_eq!(f16::from_f32(tiny), f16::ZERO);
    let grads = scaler.scale(&1.0)?.backward(|scaled| {
        let weight = halves(&[tiny * scaled, -3.0 * tiny * scaled]);
        Ok(Two { weight, bias: halves(&[2.0_f32.powi(-16) * scaled]) }.into())
    })?;
    let step = grads.unscale()?.step(&mut keeps)?;
    assert!(matches!(scaler.update(step)?.resolve()?, Step::Applied(_)));
    assert_eq!(kept(&keeps), [Some(&[tiny, -3.0 * tiny][..]), Some(&[2.0_f32.powi(-16)][..])]);
    Ok(())
}

#[test]
fn an_overflow_is_named_and_a_missing_gradient_told() -> Result {
    let (mut scaler, mut keeps) = (scaler(0)?, Keeps::default());
    let grads = Two { weight: halves(&[1.0, -1e6]), bias: Vec::new() };
    let step = scaler.check_unscaled(grads.into())?.step(&mut keeps)?;
    let step = scaler.update(step)?.resolve()?;
    let overflow = step.report().overflow().expect("-1e6 is beyond f16");
    assert_eq!((&*overflow.parameter, overflow.index, overflow.what()), ("weight", 1, "-inf"));
    assert_eq!(step.report().missing().map(|name| &**name).collect::<Vec<_>>(), ["bias"]);
    assert!(matches!(step, Step::Skipped(_)) && keeps.0.is_empty());
    Ok(())
}

#[test]
fn clipping_is_of_all_gradients_together() -> Result {
    let (mut scaler, mut keeps) = (scaler(0)?, Keeps::default());
    let grads = Two { weight: halves(&[3.0]), bias: halves(&[4.0]) };
    let clipped = scaler.check_unscaled(grads.clone().into())?.clip_norm(2.5)?.step(&mut keeps)?;
    scaler.update(clipped)?.ignore();
    assert_eq!(kept(&keeps), [Some(&[1.5][..]), Some(&[2.0][..])]);
    let clipped = scaler.check_unscaled(grads.clone().into())?.clip_value(3.5)?.step(&mut keeps)?;
    scaler.update(clipped)?.ignore();
    assert_eq!(kept(&keeps), [Some(&[3.0][..]), Some(&[3.5][..])]);
    let refused = scaler.check_unscaled(grads.into())?.clip_norm(-1.0);
    assert_eq!(refused.map(drop).unwrap_err().kind(), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn a_group_is_clipped_alone() -> Result {
    let (mut scaler, mut keeps) = (scaler(0)?, Keeps::default());
    let grads = Two { weight: halves(&[3.0]), bias: halves(&[4.0]) };
    let groups = [ClipGroup::new(["weight"], Norm::L2, 1.5)];
    let step = scaler.check_unscaled(grads.into())?.clip_groups(&groups)?.step(&mut keeps)?;
    scaler.update(step)?.ignore();
    assert_eq!(kept(&keeps), [Some(&[1.5][..]), Some(&[4.0][..])]);
    Ok(())
}

#[test]
fn a_loss_is_multiplied_by_the_scale_and_a_gradient_of_no_optimizer_divided_by_it() -> Result {
    let towards_input = scaler(3)?.scale(&3.0)?.grad(|scaled| {
        assert_eq!(scaled.to_bits(), 24.0_f32.to_bits());
        Ok(*scaled)
    })?;
    assert_eq!(towards_input.to_bits(), 3.0_f32.to_bits());
    Ok(())
}

#[test]
fn a_window_adds_in_f32_and_leaves_a_bad_micro_batch_out() -> Result {
    let (scaler, mut keeps) = (scaler(0)?, Keeps::default());
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for weight in [f32::INFINITY, 2048.0, 1.0] {
        let grads = Two { weight: halves(&[weight]), bias: halves(&[weight]) };
        window.add(scaler.check_unscaled(grads.into())?)?;
    }
    drop(window.finish()?.expect("two good ones").step(&mut keeps)?);
    assert_eq!(kept(&keeps), [Some(&[2049.0][..]), Some(&[2049.0][..])], "f16 would say 2048");
    Ok(())
}

#[test]
fn a_window_that_was_saved_goes_on_where_it_was() -> Result<(), Box<dyn std::error::Error>> {
    let (scaler, params) = (scaler(0)?, Two { weight: halves(&[1.0]), bias: halves(&[1.0]) });
    let micro_batch = |weight: f32| {
        let grads = Two { weight: halves(&[weight]), bias: Vec::new() };
        scaler.check_unscaled(grads.into())
    };
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    window.add(micro_batch(2048.0)?)?;
    window.add(micro_batch(f32::NAN)?)?;
    let mut again = scaler.reopen(&params, &window.save()?)?;
    let mut sums = Vec::new();
    for window in [&mut window, &mut again] {
        window.add(micro_batch(1.0)?)?;
        sums.push(format!("{:?}", window.save()?));
    }
    assert_eq!(sums[0], sums[1]);

    let mut keeps = Keeps::default();
    drop(again.finish()?.expect("two good ones").step(&mut keeps)?);
    assert_eq!(kept(&keeps), [Some(&[2049.0][..]), None]);

    let other = Two { weight: halves(&[1.0, 2.0]), bias: halves(&[1.0]) };
    let error = scaler.reopen(&other, &window.save()?).map(drop).unwrap_err();
    assert!(error.to_string().contains("weight"), "{error}");
    Ok(())
}
