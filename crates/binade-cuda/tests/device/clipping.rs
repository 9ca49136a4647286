//! Clipping, against the CPU.

use crate::support::{Device, Grads, Result, cuda, kind, noise, set};
use binade_core::{DType, ErrorKind, Finding, GradSet as _};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradOps, GradScaler, Norm, ScaleState, ScaleStore};

crate::tests![
    clipping_by_norm_gives_the_cpus_bits,
    a_norm_of_large_elements_does_not_overflow,
    a_norm_that_is_not_finite_raises_the_verdict,
    a_second_clip_is_of_what_the_first_has_left,
    clipping_by_value_keeps_a_nan,
    a_limit_that_is_none_is_refused,
];

type Clips<'a> = &'a [(Norm, f32)];

/// Values and verdict after clips of a set that was made at 2^4.
fn clipped<D>(
    device: &D,
    grads: &[(&str, Option<Vec<f32>>)],
    dtype: DType,
    clips: Clips<'_>,
) -> (Vec<Vec<u32>>, Finding)
where
    D: Device,
{
    let scale = device.upload_state(ScaleState::from_exponent(4)).unwrap();
    let mut grads: Grads<D> = set(device, grads, dtype);
    let mut verdict = device.unscale(&mut grads, &scale).unwrap();
    for (norm, max) in clips {
        device.clip_norm(&mut grads, *norm, *max, &mut verdict).unwrap();
    }
    let values = device.materialise(grads).unwrap();
    let bits = values.iter().filter_map(|entry| entry.value.as_ref());
    let bits = bits.map(|tensor| any_nan_for_any(&device.bits(tensor))).collect();
    (bits, device.read(&[&verdict], &scale).unwrap().0.remove(0))
}

/// The elements' bits, every NaN's being the same.
fn any_nan_for_any(bytes: &[u8]) -> Vec<u32> {
    let (elements, _) = bytes.as_chunks();
    let one = |bits: &[u8; 4]| f32::from_le_bytes(*bits);
    elements.iter().map(one).map(|x| if x.is_nan() { f32::NAN } else { x }.to_bits()).collect()
}

fn same(grads: &[(&str, Option<Vec<f32>>)], dtype: DType, clips: Clips<'_>) {
    let (got, found) = clipped(&cuda(), grads, dtype, clips);
    let (want, wanted) = clipped(&Cpu, grads, dtype, clips);
    assert_eq!(got, want, "{dtype} {clips:?}");
    assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{dtype} {clips:?}");
}

fn clipping_by_norm_gives_the_cpus_bits() -> Result {
    let grads = [("a", Some(noise(1, 5000))), ("b", None), ("c", Some(noise(2, 13)))];
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        for norm in [Norm::L2, Norm::Infinity] {
            for max in [1e-3, 1.0, 1e3] {
                same(&grads, dtype, &[(norm, max)]);
            }
        }
    }
    Ok(())
}

fn a_norm_of_large_elements_does_not_overflow() -> Result {
    same(&[("a", Some(vec![1e25; 1000]))], DType::F32, &[(Norm::L2, 1.0)]);
    Ok(())
}

fn a_norm_that_is_not_finite_raises_the_verdict() -> Result {
    // Each element is finite; the norm, 3e38 · sqrt(4000) / 16, is not as f32.
    let grads = [("a", Some(vec![3e38; 4000]))];
    same(&grads, DType::F32, &[(Norm::L2, 1.0)]);
    let (_, found) = clipped(&cuda(), &grads, DType::F32, &[(Norm::L2, 1.0)]);
    let overflow = found.overflow.ok_or("not raised")?;
    assert_eq!((&*overflow.parameter, found.infinities), (Norm::NAME, 0));
    same(&[("a", Some(vec![f32::NAN, 1.0]))], DType::F32, &[(Norm::L2, 1.0)]);
    Ok(())
}

fn a_second_clip_is_of_what_the_first_has_left() -> Result {
    let grads = [("a", Some(noise(3, 300)))];
    same(&grads, DType::F16, &[(Norm::L2, 0.1), (Norm::Infinity, 1e-3)]);
    same(&grads, DType::F16, &[(Norm::Infinity, 1e-3), (Norm::L2, 1e-3)]);
    Ok(())
}

fn clipping_by_value_keeps_a_nan() -> Result {
    let cuda = cuda();
    let one = cuda.upload_state(ScaleState::from_exponent(0))?;
    let values = vec![f32::NAN, f32::INFINITY, -3.0, 0.5, -0.0];
    let mut grads = set(&cuda, &[("a", Some(values))], DType::F32);
    let _ = cuda.unscale(&mut grads, &one)?;
    cuda.clip_value(&mut grads, 1.0)?;
    let tensor = cuda.materialise(grads)?.remove(0).value.ok_or("missing")?;
    let bits: Vec<u32> =
        cuda.bits(&tensor).chunks(4).map(|x| u32::from_le_bytes(x.try_into().unwrap())).collect();
    assert!(f32::from_bits(bits[0]).is_nan());
    assert_eq!(bits[1..], [1.0_f32, -1.0, 0.5, -0.0].map(f32::to_bits));
    Ok(())
}

fn a_limit_that_is_none_is_refused() -> Result {
    let cuda = cuda();
    for max in [0.0, -1.0, f32::NAN] {
        let mut grads = set(&cuda, &[("a", Some(vec![1.0]))], DType::F32);
        assert_eq!(kind(cuda.clip_value(&mut grads, max)), ErrorKind::InvalidArgument);
        let one = cuda.upload_state(ScaleState::from_exponent(0))?;
        let mut found = cuda.unscale(&mut grads, &one)?;
        let clipped = cuda.clip_norm(&mut grads, Norm::L2, max, &mut found);
        assert_eq!(kind(clipped), ErrorKind::InvalidArgument);
    }
    Ok(())
}
