//! Tests that gradients on a device and on the host have the same findings and bits, both on the CPU, and count the reads.

use super::{accumulate, clip_groups, clip_norm, clip_value, unscale, whole};
use crate::read::count::reads;
use crate::{Candle, Wrapped, named};
use binade_core::{ErrorKind, FoundInf, Named, NamedGrads, Optimizer, SparseGrads};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use candle_core::{DType, Device, Tensor, Var};
use candle_nn::SGD;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const ALL: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

const BAD: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

/// Returns a set of gradients `0`, `1` and so on; an entry without values has no gradient.
fn set(values: &[Option<&[f32]>], dtype: DType) -> Result<NamedGrads<Tensor>> {
    let one = |(name, values): (usize, Option<&[f32]>)| -> Result<Named<Option<Tensor>>> {
        let tensor = values.map(|x| Tensor::from_slice(x, x.len(), &Device::Cpu)?.to_dtype(dtype));
        Ok(Named::new(name.to_string(), tensor.transpose()?))
    };
    values.iter().copied().enumerate().map(one).collect()
}

/// Runs a method of the handle on a set.
fn on_host<T>(
    grads: &mut NamedGrads<Tensor>,
    run: impl FnOnce(&mut SparseGrads<Tensor>) -> T,
) -> T {
    let mut set = SparseGrads::from(std::mem::take(grads));
    let result = run(&mut set);
    *grads = whole(&set).unwrap_or_default();
    result
}

fn bits(grads: &NamedGrads<Tensor>) -> Result<Vec<Option<Vec<u32>>>> {
    let bits = |grad: &Tensor| -> Result<Vec<u32>> {
        // All NaNs count as one.
        let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
        Ok(grad.to_vec1::<f32>()?.iter().map(bits).collect())
    };
    grads.iter().map(|grad| grad.value.as_ref().map(bits).transpose()).collect()
}

/// Returns sets with every kind of element in every place, an empty gradient and a missing one.
fn sets(dtype: DType) -> Result<Vec<NamedGrads<Tensor>>> {
    let plain: &[f32] = &[1.5, -0.0, 2e-7, -40_000.0, 6e-8];
    let large: &[f32] = &[-3.0e38, 1.0];
    let mut sets = vec![
        Vec::new(),
        set(&[None, None], dtype)?,
        set(&[Some(plain), None, Some(&[]), Some(&[0.25])], dtype)?,
        set(&[Some(large), Some(plain)], dtype)?,
        set(&[Some(plain), Some(&BAD), None, Some(&[7.0, BAD[1]]), Some(large)], dtype)?,
    ];
    for bad in BAD {
        sets.push(set(&[Some(&[1.0]), Some(&[2.0, bad, -3.0]), Some(plain)], dtype)?);
    }
    Ok(sets)
}

#[test]
fn what_is_found_and_unscaled_in_place_is_what_the_host_finds_and_unscales() -> Result {
    let imported = ScaleState::import(3.0).ok_or("no scale")?;
    let diverged = ScaleState { diverged: true, ..ScaleState::from_exponent(0) };
    let scales =
        [16, 0, -20].map(ScaleState::from_exponent).into_iter().chain([imported, diverged]);
    for scale in scales {
        for dtype in ALL {
            for grads in sets(dtype)? {
                let (mut here, mut host) = (grads.clone(), grads);
                let found = unscale(&mut here, &scale)?;
                let wanted = on_host(&mut host, |set| Candle.unscale(set, &scale))?;
                assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{dtype:?} by {scale:?}");
                assert_eq!(bits(&here)?, bits(&host)?, "{dtype:?} by {scale:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_clipped_in_place_is_what_the_host_clips() -> Result {
    for grads in sets(DType::F32)? {
        for max in [0.5, 1e30, f32::INFINITY] {
            for norm in [Norm::L2, Norm::Infinity] {
                let (mut here, mut host) = (grads.clone(), grads.clone());
                let (mut found, mut wanted) = (FoundInf::default(), FoundInf::default());
                clip_norm(&mut here, norm, max, &mut found)?;
                on_host(&mut host, |set| Candle.clip_norm(set, norm, max, &mut wanted))?;
                assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{norm:?} to {max}");
                assert_eq!(bits(&here)?, bits(&host)?, "{norm:?} to {max}");
            }
            let (mut here, mut host) = (grads.clone(), grads.clone());
            clip_value(&mut here, max)?;
            on_host(&mut host, |set| Candle.clip_value(set, max))?;
            assert_eq!(bits(&here)?, bits(&host)?, "values to {max}");
        }
    }
    let mut grads = set(&[Some(&[1.0])], DType::F32)?;
    for max in [0.0, -1.0, f32::NAN] {
        let errors = [
            clip_norm(&mut grads, Norm::L2, max, &mut FoundInf::default()).err(),
            clip_value(&mut grads, max).err(),
        ];
        for error in errors {
            let error = error.ok_or("it was taken")?;
            assert_eq!(binade_core::Error::kind(&error), ErrorKind::InvalidArgument, "{max}");
        }
    }
    Ok(())
}

#[test]
fn groups_clipped_in_place_are_those_that_the_host_clips_or_refuses() -> Result {
    let group = |names: &[&str], norm, max| ClipGroup::new(names.iter().copied(), norm, max);
    let groups = [
        vec![group(&["0"], Norm::L2, 0.5), group(&["2", "1"], Norm::Infinity, 0.25)],
        vec![group(&["1"], Norm::Infinity, 2.0)],
        vec![group(&["0", "7"], Norm::L2, 1.0)],
        vec![group(&["0"], Norm::L2, 1.0), group(&["0"], Norm::L2, 1.0)],
        vec![group(&["0"], Norm::L2, f32::NAN)],
    ];
    for (grads, groups) in
        sets(DType::F32)?.iter().flat_map(|set| groups.iter().map(move |of| (set, of)))
    {
        let (mut here, mut host) = (grads.clone(), grads.clone());
        let (mut found, mut wanted) = (FoundInf::default(), FoundInf::default());
        let refused = clip_groups(&mut here, groups, &mut found).map_err(|e| e.to_string());
        let same = on_host(&mut host, |set| Candle.clip_groups(set, groups, &mut wanted))
            .map_err(|e| e.to_string());
        assert_eq!(refused, same);
        assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
        assert_eq!(bits(&here)?, bits(&host)?);
    }
    Ok(())
}

#[test]
fn what_is_added_in_place_is_what_the_host_adds() -> Result {
    let raised = FoundInf { halted: true, ..FoundInf::default() };
    let of = |one: &[f32], dtype| set(&[Some(one), None, Some(&[1e-8, -1.0])], dtype);
    for found in [FoundInf::default(), raised] {
        for dtype in ALL {
            let second = || set(&[Some(&[3.0, 0.1]), Some(&[5.0]), None], dtype);
            let first = accumulate(None, of(&[1.0, 0.2], dtype)?, &found)?;
            let wanted_first = Candle.accumulate(None, of(&[1.0, 0.2], dtype)?.into(), &found)?;
            assert_eq!(bits(&first)?, bits(&whole(&wanted_first).ok_or("a sparse one")?)?);
            let sum = accumulate(Some(first), second()?, &found)?;
            let wanted = Candle.accumulate(Some(wanted_first), second()?.into(), &found)?;
            assert_eq!(bits(&sum)?, bits(&whole(&wanted).ok_or("a sparse one")?)?);
        }
    }
    let (one, other) = (set(&[Some(&[1.0])], DType::F32)?, set(&[None, None], DType::F32)?);
    let error = accumulate(Some(one), other, &FoundInf::default()).err().ok_or("it was added")?;
    assert_eq!(binade_core::Error::kind(&error), ErrorKind::Mismatch);
    Ok(())
}

#[test]
fn a_whole_set_is_checked_by_one_read_and_each_offender_looked_at_by_one_more() -> Result {
    let scale = ScaleState::from_exponent(4);
    for (bad, wanted) in [(&[][..], 1), (&[3], 2), (&[0, 7, 19], 4)] {
        let of = |place: usize| {
            if bad.contains(&place) { [BAD[0], 1.0] } else { [2.0, 1.0] }
        };
        let values: Vec<[f32; 2]> = (0..20).map(of).collect();
        let slices: Vec<_> = values.iter().map(|values| Some(&values[..])).collect();
        let mut grads = set(&slices, DType::F16)?;
        let (found, count) = reads(|| unscale(&mut grads, &scale));
        assert_eq!((found?.nans, count), (bad.len() as u64, wanted));
    }
    Ok(())
}

#[test]
fn clipping_by_norms_is_one_read_and_by_values_and_adding_none() -> Result {
    let of = || set(&[Some(&[3.0, 4.0]), None, Some(&[12.0])], DType::F32);
    let mut grads = of()?;
    let (clipped, count) = reads(|| clip_norm(&mut grads, Norm::L2, 1.0, &mut FoundInf::default()));
    assert_eq!((clipped.is_ok(), count), (true, 1));
    let of_each = ["0", "2"].map(|name| ClipGroup::new([name], Norm::L2, 1.0));
    let (clipped, count) = reads(|| clip_groups(&mut grads, &of_each, &mut FoundInf::default()));
    assert_eq!((clipped.is_ok(), count), (true, 1));
    let (clipped, count) = reads(|| clip_value(&mut grads, 0.1));
    assert_eq!((clipped.is_ok(), count), (true, 0));
    let more = of()?;
    let (sum, count) = reads(|| accumulate(Some(grads), more, &FoundInf::default()));
    assert_eq!((sum.is_ok(), count), (true, 0));
    Ok(())
}

/// A step with one of candle's own optimizers reads in the check alone.
#[test]
fn a_wrapped_step_reads_once_whether_it_is_applied_or_skipped_for_one_gradient_more() -> Result {
    for (last, wanted) in [(1.0, 1), (BAD[1], 2)] {
        let var =
            |at: f32| Var::from_tensor(&Tensor::full(at, 2, &Device::Cpu)?.to_dtype(DType::F16)?);
        let params = named([("0".to_owned(), var(1.0)?), ("1".to_owned(), var(2.0)?)]);
        let mut sgd = Wrapped::<SGD>::new(&params, 0.5)?;
        let mut grads = set(&[Some(&[1.0, 1.0]), Some(&[1.0, last])], DType::F16)?;
        let (stepped, count) = reads(|| -> Result<bool> {
            let found = unscale(&mut grads, &ScaleState::from_exponent(0))?;
            sgd.step(grads.into(), &found)?;
            Ok(found.is_raised())
        });
        assert_eq!((stepped?, count), (!last.is_finite(), wanted));
    }
    Ok(())
}

/// Masters are on the host, so an applied step copies each gradient and each parameter. A skipped step copies nothing.
#[test]
fn a_skipped_step_of_masters_reads_nothing_and_an_applied_one_each_tensor_once() -> Result {
    let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?;
    for (halted, wanted) in [(true, 0), (false, 4)] {
        let var = || Var::ones(2, DType::F16, &Device::Cpu);
        let params = named([("0".to_owned(), var()?), ("1".to_owned(), var()?)]);
        let mut optimizer = MasterOptimizer::new(Candle, params, config.clone())?;
        let grads = set(&[Some(&[1.0, 1.0]), Some(&[1.0, 1.0])], DType::F32)?;
        let found = FoundInf { halted, ..FoundInf::default() };
        let (stepped, count) = reads(|| optimizer.step(grads.into(), &found));
        assert_eq!((stepped.is_ok(), count), (true, wanted));
    }
    Ok(())
}
