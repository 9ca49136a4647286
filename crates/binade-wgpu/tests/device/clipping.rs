//! Clipping, against the CPU.

use crate::support::{Device, Grads, Result, kind, noise, set, wgpu};
use binade_core::{DType, ErrorKind, Finding, GradSet as _};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradOps, GradScaler, Norm, ScaleState, ScaleStore};

crate::tests![
    clipping_by_norm_gives_the_cpus_bits,
    a_norm_of_large_elements_does_not_overflow,
    a_norm_that_is_not_finite_raises_the_verdict,
    a_second_clip_is_of_what_the_first_has_left,
    a_norm_of_chunks_of_very_different_sizes_is_the_cpus,
    what_many_chunks_add_to_a_large_one_is_not_lost,
    a_factor_all_but_halfway_between_two_is_the_cpus,
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
    let (got, found) = clipped(&wgpu(), grads, dtype, clips);
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
    let (_, found) = clipped(&wgpu(), &grads, DType::F32, &[(Norm::L2, 1.0)]);
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

fn a_norm_of_chunks_of_very_different_sizes_is_the_cpus() -> Result {
    let sized = |seed, len, size: f32| noise(seed, len).iter().map(|x| x * size).collect();
    for [small, large] in [[1e-3, 1e3], [1e-30, 1.0], [1e-38, 1e-38], [1e-45, 1e38], [0.0, 1e-20]] {
        let (long, short): (Vec<f32>, Vec<f32>) = (sized(1, 40_000, small), sized(2, 3, large));
        let grads = [("a", Some(long)), ("b", Some(short)), ("c", Some(vec![0.0; 20_000]))];
        same(&grads, DType::F32, &[(Norm::L2, 1e-3)]);
    }
    Ok(())
}

/// Two elements whose norm is all but 2^-39 of what is halfway to the next f32, and 300 chunks of 2^-37 together 2^-29.
fn what_many_chunks_add_to_a_large_one_is_not_lost() -> Result {
    let names: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    let small = names.iter().map(|name| (&**name, Some(vec![0.9 * 2.0_f32.powi(-18)])));
    let large = vec![1.0, 46_340.0 * 2.0_f32.powi(-27)];
    let grads: Vec<_> = small.chain([("large", Some(large))]).collect();
    let (_, alone) = clipped(&Cpu, &grads[300..], DType::F32, &[(Norm::L2, 1e-3)]);
    let (_, found) = clipped(&Cpu, &grads, DType::F32, &[(Norm::L2, 1e-3)]);
    assert!(found.norm.ok_or("no norm")? > alone.norm.ok_or("no norm")?, "the small ones do count");
    same(&grads, DType::F32, &[(Norm::L2, 1e-3)]);
    Ok(())
}

/// Whether what clips by this is less than 2^-33 of itself below the middle of two f32, and further than an f64 is rounded.
fn is_just_below_the_middle(norm: f64, max: f32) -> bool {
    let rest = (f64::from(max) / norm).to_bits() & 0x1fff_ffff;
    (1 << 8..1 << 19).contains(&(1_u64 << 28).wrapping_sub(rest))
}

fn a_factor_all_but_halfway_between_two_is_the_cpus() -> Result {
    for seed in 0..6 {
        let values = noise(seed, 60);
        let squares = values.iter().map(|x| (f64::from(*x) / 16.0).powi(2));
        let norm = squares.sum::<f64>().sqrt();
        let limits = noise(seed + 100, 20_000).into_iter().map(|x| 0.1 + x.abs() / 10.0);
        let limits: Vec<_> = limits.filter(|max| is_just_below_the_middle(norm, *max)).collect();
        assert!(limits.len() > 4, "{limits:?} of a norm of {norm}");
        for max in &limits[..5] {
            same(&[("a", Some(values.clone()))], DType::F32, &[(Norm::L2, *max)]);
        }
    }
    Ok(())
}

fn clipping_by_value_keeps_a_nan() -> Result {
    let wgpu = wgpu();
    let one = wgpu.upload_state(ScaleState::from_exponent(0))?;
    let values = vec![f32::NAN, f32::INFINITY, -3.0, 0.5, -0.0];
    let mut grads = set(&wgpu, &[("a", Some(values))], DType::F32);
    let _ = wgpu.unscale(&mut grads, &one)?;
    wgpu.clip_value(&mut grads, 1.0)?;
    let tensor = wgpu.materialise(grads)?.remove(0).value.ok_or("missing")?;
    let bits: Vec<u32> =
        wgpu.bits(&tensor).chunks(4).map(|x| u32::from_le_bytes(x.try_into().unwrap())).collect();
    assert!(f32::from_bits(bits[0]).is_nan());
    assert_eq!(bits[1..], [1.0_f32, -1.0, 0.5, -0.0].map(f32::to_bits));
    Ok(())
}

fn a_limit_that_is_none_is_refused() -> Result {
    let wgpu = wgpu();
    for max in [0.0, -1.0, f32::NAN] {
        let mut grads = set(&wgpu, &[("a", Some(vec![1.0]))], DType::F32);
        assert_eq!(kind(wgpu.clip_value(&mut grads, max)), ErrorKind::InvalidArgument);
        let one = wgpu.upload_state(ScaleState::from_exponent(0))?;
        let mut found = wgpu.unscale(&mut grads, &one)?;
        let clipped = wgpu.clip_norm(&mut grads, Norm::L2, max, &mut found);
        assert_eq!(kind(clipped), ErrorKind::InvalidArgument);
    }
    Ok(())
}
