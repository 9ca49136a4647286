//! One model on two devices: two GPUs where there are, else two streams of one. The host reads nothing in a step.

use crate::support::{Result, cuda};
use crate::training::{Alone, Divided, LEVELS, STEPS, Setting, State, train};
use binade::OptLevel;
use binade_core::ops::{Shaped, ToDevice, Upload};
use binade_core::{DType, Error as _, ErrorKind, FoundInf, GradSet, Named};
use binade_cuda::{Cuda, Error, cudarc::driver::CudaContext};
use binade_grad_scaler::{
    BadMicroBatch, GradOps, GradScaler, Norm, PeerDevice, ScaleState, ScaleStore,
};
use binade_model_parallel::{ModelGradients, ModelParallel};

crate::tests![
    a_move_keeps_every_bit_and_waits_for_nothing,
    each_device_waits_for_the_other_before_and_after_a_copy,
    a_copy_of_a_slice_has_its_own_elements,
    findings_and_norms_are_joined_on_every_device_and_nothing_is_read,
    norms_of_three_devices_are_one_whatever_is_not_finite,
    handles_that_were_opened_apart_do_not_join_their_findings,
    a_capture_on_one_device_refuses_what_goes_between_devices,
    a_model_on_two_devices_trains_with_the_bits_of_one,
    windows_clips_and_overflows_give_the_bits_of_one_device,
];

/// Returns as many devices as are asked for. Where there are fewer GPUs, some are streams of one.
fn devices(count: usize) -> Result<ModelParallel<Cuda>> {
    let gpus = usize::try_from(CudaContext::device_count()?)?;
    let ordinals: Vec<usize> = (0..count).map(|number| number % gpus).collect();
    Ok(ModelParallel::new(Cuda::open_peers(&ordinals)?)?)
}

fn waits(model: &ModelParallel<Cuda>) -> u64 {
    model.devices().iter().map(|cuda| cuda.counters().syncs).sum()
}

fn a_move_keeps_every_bit_and_waits_for_nothing() -> Result {
    let model = devices(2)?;
    let bits: Vec<u8> = (0..=u8::MAX).cycle().take(4 * 3000).collect();
    for dtype in [DType::BF16, DType::F16, DType::F32, DType::I64] {
        let shape = [bits.len() / dtype.bytes() / 4, 4];
        let x = model.tensor(model.devices()[0].from_bits(&bits, dtype, &shape)?, 0)?;
        let before = waits(&model);
        let there = model.to_device(&x, 1)?;
        // The memory that it was copied from is used again behind the copy.
        drop(x);
        let other = model.upload(&vec![1.0; bits.len() / 4], &[bits.len() / 4], DType::F32)?;
        let back = model.to_device(&there, 0)?;
        assert_eq!(waits(&model), before, "{dtype}");
        assert_eq!((there.device(), back.device(), model.shape(&back)), (1, 0, shape.to_vec()));
        assert!(model.devices()[1].to_bits(there.tensor())? == bits, "{dtype}");
        assert!(model.devices()[0].to_bits(back.tensor())? == bits, "{dtype}");
        let here = model.to_device(&there, 1)?;
        assert_eq!(here.tensor().buffer().address(), there.tensor().buffer().address());
        drop(other);
    }
    Ok(())
}

/// Waits of each device, counted: one that is left out shows in no bits of the interpreter's, which works at once.
fn each_device_waits_for_the_other_before_and_after_a_copy() -> Result {
    let model = devices(2)?;
    let meetings =
        || model.devices().iter().map(|cuda| cuda.counters().meetings).collect::<Vec<_>>();
    let x = model.upload(&[1.0], &[1], DType::F32)?;
    let moved = model.to_device(&x, 1)?;
    assert_eq!(meetings(), [1, 1]);
    model.to_device(&moved, 1)?;
    assert_eq!(meetings(), [1, 1]);
    // A finding goes both ways, and so do sizes.
    let scale = model.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = set(&model, &[("a", 0, &[1.0]), ("b", 1, &[1.0])])?;
    let mut found = model.unscale(&mut grads, &scale)?;
    assert_eq!(meetings(), [3, 3]);
    model.clip_norm(&mut grads, Norm::L2, 1.0, &mut found)?;
    assert_eq!(meetings(), [5, 5]);
    Ok(())
}

fn a_copy_of_a_slice_has_its_own_elements() -> Result {
    let model = devices(2)?;
    let [first, second] = model.devices() else { panic!("{model:?}") };
    let x = first.upload(&[1.0, 2.0, 3.0, 4.0], &[4], DType::F16)?;
    let copy = second.copy_from(&x.slice(1, 2)?, first)?;
    assert_eq!(binade_core::ops::Download::download(second, &copy)?, [2.0, 3.0]);
    let none = second.copy_from(&x.slice(4, 0)?, first)?;
    assert_eq!(none.len(), 0);
    Ok(())
}

/// Set of tensors, each on the device beside its name.
fn set(
    model: &ModelParallel<Cuda>,
    grads: &[(&str, usize, &[f32])],
) -> Result<ModelGradients<Cuda>> {
    let mut set = Vec::new();
    for (name, device, values) in grads {
        let grad = model.on(*device)?.upload(values, &[values.len()], DType::F32)?;
        set.push(Named::new(*name, Some(grad)));
    }
    Ok(set.into())
}

fn findings_and_norms_are_joined_on_every_device_and_nothing_is_read() -> Result {
    let model = devices(2)?;
    let scale = model.upload_state(ScaleState::from_exponent(1))?;
    let grads = [("a", 0, &[1.0, 2.0][..]), ("b", 1, &[8.0, f32::INFINITY, f32::NAN][..])];
    let mut grads = set(&model, &grads)?;
    let before = waits(&model);
    let found = model.unscale(&mut grads, &scale)?;
    assert_eq!(waits(&model), before);
    let (told, _) = model.read(&[&found], &scale)?;
    let overflow = told[0].overflow.as_ref().unwrap();
    assert_eq!((&*overflow.parameter, overflow.index), ("b", 1));
    assert_eq!((told[0].infinities, told[0].nans, told[0].magnitude), (1, 1, 8.0));
    for (device, part) in model.devices().iter().zip(found.parts()) {
        assert!(device.is_raised(part)?);
    }
    let mut grads = set(&model, &[("a", 0, &[2.0]), ("b", 1, &[-6.0]), ("c", 0, &[3.0])])?;
    let mut verdict = model.upload_found(&FoundInf::default())?;
    let before = waits(&model);
    model.clip_norm(&mut grads, Norm::L2, 3.5, &mut verdict)?;
    assert_eq!(waits(&model), before);
    assert_eq!(model.read(&[&verdict], &scale)?.0[0].norm, Some(7.0));
    let clipped: Vec<f32> = model
        .materialise(grads)?
        .into_iter()
        .flat_map(|grad| {
            binade_core::ops::Download::download(&model, &grad.value.unwrap()).unwrap()
        })
        .collect();
    assert_eq!(clipped, [1.0, -3.0, 1.5]);
    Ok(())
}

fn norms_of_three_devices_are_one_whatever_is_not_finite() -> Result {
    let model = devices(3)?;
    let scale = model.upload_state(ScaleState::from_exponent(0))?;
    for (values, norm, expected) in [
        ([3.0, 4.0, 12.0], Norm::L2, 13.0),
        ([3.0, -14.0, 12.0], Norm::Infinity, 14.0),
        ([3.0, f32::NAN, 12.0], Norm::Infinity, f32::NAN),
        ([f32::INFINITY, 1.0, f32::NAN], Norm::L2, f32::NAN),
        ([3.0e38, 3.0e38, 1.0], Norm::L2, f32::INFINITY),
    ] {
        let grads = [("a", 0, &values[..1]), ("b", 1, &values[1..2]), ("c", 2, &values[2..])];
        let mut grads = set(&model, &grads)?;
        let mut verdict = model.upload_found(&FoundInf::default())?;
        model.clip_norm(&mut grads, norm, 1.0, &mut verdict)?;
        let told = model.read(&[&verdict], &scale)?.0.remove(0);
        let norm = told.norm.unwrap();
        assert!(
            norm.to_bits() == expected.to_bits() || norm.is_nan() && expected.is_nan(),
            "{values:?}"
        );
        for (device, part) in model.devices().iter().zip(verdict.parts()) {
            assert_eq!(device.is_raised(part)?, !expected.is_finite(), "{values:?}");
        }
    }
    Ok(())
}

fn handles_that_were_opened_apart_do_not_join_their_findings() -> Result {
    let model = ModelParallel::new(vec![cuda(), Cuda::open(0)?])?;
    let scale = model.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = set(&model, &[("a", 0, &[1.0]), ("b", 1, &[1.0])])?;
    let error = model.unscale(&mut grads, &scale).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("open both by `Cuda::open_peers`"), "{error}");
    Ok(())
}

fn a_capture_on_one_device_refuses_what_goes_between_devices() -> Result {
    let model = devices(2)?;
    let first = &model.devices()[0];
    let x = model.upload(&[1.0], &[1], DType::F32)?;
    let moves = || model.to_device(&x, 1).map(drop);
    let mut refused = None;
    let ran = first.capture().warm_up(|| {
        refused = moves().err().map(|error| error.to_string());
        Ok::<_, Error>(())
    });
    let told = refused.unwrap_or_default();
    assert!(
        told.contains("copy from another device") && told.contains("between devices"),
        "{told}"
    );
    drop(ran?);
    Ok(moves()?)
}

fn syncs(cuda: &Cuda) -> u64 {
    cuda.counters().syncs
}

/// Checks that the model on two devices ends as on one.
fn agrees(setting: Setting, layers: [usize; 3]) -> Result<State> {
    let alone = train(&Alone(cuda(), syncs), setting, 0..STEPS, None);
    let count = layers.iter().max().unwrap() + 1;
    let many = Divided { devices: devices(count)?, layers, waits: syncs };
    let many = train(&many, setting, 0..STEPS, None);
    assert_eq!(many.reports, alone.reports, "{layers:?}");
    assert!(many == alone, "{layers:?}, {:?} {}", setting.level, setting.dtype);
    Ok(alone)
}

fn a_model_on_two_devices_trains_with_the_bits_of_one() -> Result {
    for (level, dtype) in LEVELS {
        agrees(Setting::new(level, dtype), [0, 0, 1])?;
    }
    agrees(Setting::new(OptLevel::O2, DType::F16), [2, 0, 1])?;
    Ok(())
}

fn windows_clips_and_overflows_give_the_bits_of_one_device() -> Result {
    let setting = Setting::new(OptLevel::O2, DType::F16);
    let window = Setting { clip: Some(0.05), micro_batches: 2, ..setting };
    agrees(window, [0, 1, 0])?;
    agrees(Setting { frozen: true, ..window }, [0, 1, 0])?;
    for (bad, name) in [(BadMicroBatch::SkipWindow, "2.weight"), (BadMicroBatch::Drop, "1.bias")] {
        let overflow = Some((1, 1, name));
        let state = agrees(Setting { overflow, bad, ..window }, [0, 0, 1])?;
        assert_eq!(state.scale.overflows, 1);
        assert!(state.reports[1].contains(&format!("{name}[2] is +inf")), "{}", state.reports[1]);
    }
    Ok(())
}
