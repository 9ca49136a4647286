//! Loss scaling of a model whose element type is a type parameter: gradients of f16 arrays, a loss that is a plain number.

use binade_core::{
    Element, HostDevice, HostDeviceError, HostOptimizer, HostTensor, HostTypeError, Named,
};
use binade_core::{NamedGrads, StaticSet, TypedModel};
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

type Result<T = (), E = HostDeviceError<HostTypeError>> = std::result::Result<T, E>;

fn scaler(exponent: i32) -> Result<Scaler<TypedModel<Two<f16>>>> {
    Scaler::new(TypedModel::new(), LossScale::fixed(2.0_f32.powi(exponent)).expect("in reach"))
}

fn two(weight: &[f32], bias: &[f32]) -> Two<f16> {
    let halves = |values: &[f32]| values.iter().map(|x| f16::from_f32(*x)).collect();
    Two { weight: halves(weight), bias: halves(bias) }
}

fn values(grads: &NamedGrads<HostTensor>) -> Vec<Option<Vec<f32>>> {
    grads.iter().map(|grad| grad.value.as_ref().map(HostTensor::to_f32)).collect()
}

#[test]
fn what_scaling_saves_in_f16_is_there_in_f32() -> Result {
    let (mut scaler, mut kept) = (scaler(16)?, Vec::new());
    let tiny = 2.0_f32.powi(-30);
    assert_eq!(f16::from_f32(tiny), f16::ZERO);
    let grads = scaler.scale(&1.0)?.backward(|scaled| {
        let grads = two(&[tiny * scaled, -3.0 * tiny * scaled], &[2.0_f32.powi(-16) * scaled]);
        Ok(grads.into_grads())
    })?;
    let mut own = HostOptimizer::new(HostDevice::<HostTensor>::new(), |grads| {
        kept = values(&grads);
        Ok(())
    });
    let step = grads.unscale()?.step(&mut own)?;
    assert!(matches!(scaler.update(step)?.resolve()?, Step::Applied(_)));
    assert_eq!(kept, [Some(vec![tiny, -3.0 * tiny]), Some(vec![2.0_f32.powi(-16)])]);
    Ok(())
}

#[test]
fn an_overflow_is_named_and_a_missing_gradient_told() -> Result {
    let (mut scaler, grads) = (scaler(0)?, two(&[1.0, -1e6], &[]));
    let step = scaler.check_unscaled(grads.into_grads())?;
    let mut own =
        HostOptimizer::new(HostDevice::<HostTensor>::new(), |_| panic!("a step that is skipped"));
    let step = step.step(&mut own)?;
    let step = scaler.update(step)?.resolve()?;
    let overflow = step.report().overflow().expect("-1e6 is beyond f16");
    assert_eq!((&*overflow.parameter, overflow.index, overflow.what()), ("weight", 1, "-inf"));
    assert_eq!(step.report().missing().map(|name| &**name).collect::<Vec<_>>(), ["bias"]);
    Ok(())
}

#[test]
fn clipping_is_of_all_gradients_together_or_of_a_group() -> Result {
    let scaler = scaler(0)?;
    let grads = || scaler.check_unscaled(two(&[3.0], &[4.0]).into_grads());
    let group = [ClipGroup::new(["weight"], Norm::L2, 1.5)];
    for (clipped, expected) in [
        (grads()?.clip_norm(2.5)?, [1.5, 2.0]),
        (grads()?.clip_value(3.5)?, [3.0, 3.5]),
        (grads()?.clip_groups(&group)?, [1.5, 4.0]),
    ] {
        assert_eq!(values(clipped.grads()), expected.map(|x| Some(vec![x])));
    }
    Ok(())
}

#[test]
fn a_loss_is_multiplied_by_the_scale_and_a_gradient_of_no_optimizer_divided_by_it() -> Result {
    let towards_input = scaler(3)?.scale(&3.0)?.grads(|scaled| {
        assert_eq!(scaled.to_bits(), 24.0_f32.to_bits());
        Ok([*scaled])
    })?;
    assert_eq!(towards_input[0].to_bits(), 3.0_f32.to_bits());
    Ok(())
}

#[test]
fn a_window_adds_in_f32_and_goes_on_where_it_was_saved() -> Result<(), Box<dyn std::error::Error>> {
    let (scaler, params) = (scaler(0)?, two(&[1.0], &[1.0]));
    let micro_batch = |weight| scaler.check_unscaled(two(&[weight], &[]).into_grads());
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
    let sum = again.finish()?.expect("two good ones");
    assert_eq!(values(sum.grads()), [Some(vec![2049.0]), None], "f16 would say 2048");

    let error = scaler.reopen(&two(&[1.0, 2.0], &[1.0]), &window.save()?).map(drop).unwrap_err();
    assert!(error.to_string().contains("weight"), "{error}");
    Ok(())
}
