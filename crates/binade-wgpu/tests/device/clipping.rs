//! Norms and factors that f32 alone cannot compute, against the CPU.

use crate::support::{Device, Grads, Result, noise, set, wgpu};
use binade_core::{DType, FoundInf};
use binade_cpu::Cpu;
use binade_grad_scaler::{Norm, ScaleState};

crate::tests![
    a_norm_of_chunks_of_very_different_sizes_is_the_cpus,
    a_norm_of_few_elements_is_rounded_once,
    what_many_chunks_add_to_a_large_one_is_not_lost,
    a_factor_all_but_halfway_between_two_is_the_cpus,
];

/// Values and verdict after a clip of an f32 set that was made at 2^4.
fn clipped<D: Device>(
    device: &D,
    grads: &[(&str, Option<Vec<f32>>)],
    max: f32,
) -> (Vec<Vec<u8>>, FoundInf) {
    let scale = device.upload_state(ScaleState::from_exponent(4)).unwrap();
    let mut grads: Grads<D> = set(device, grads, DType::F32);
    let mut verdict = device.unscale(&mut grads, &scale).unwrap();
    device.clip_norm(&mut grads, Norm::L2, max, &mut verdict).unwrap();
    let values = device.materialise(grads).unwrap();
    let values = values.iter().filter_map(|entry| entry.value.as_ref());
    let bits = values.map(|tensor| device.bits(tensor)).collect();
    (bits, device.read(&[&verdict], &scale).unwrap().0.remove(0))
}

fn same(grads: &[(&str, Option<Vec<f32>>)], max: f32) {
    let (got, found) = clipped(&wgpu(), grads, max);
    let (want, wanted) = clipped(&Cpu, grads, max);
    assert_eq!(got, want, "{max}");
    assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{max}");
}

fn a_norm_of_chunks_of_very_different_sizes_is_the_cpus() -> Result {
    let sized = |seed, len, size: f32| noise(seed, len).iter().map(|x| x * size).collect();
    for [small, large] in [[1e-3, 1e3], [1e-30, 1.0], [1e-38, 1e-38], [1e-45, 1e38], [0.0, 1e-20]] {
        let (long, short): (Vec<f32>, Vec<f32>) = (sized(1, 40_000, small), sized(2, 3, large));
        let grads = [("a", Some(long)), ("b", Some(short)), ("c", Some(vec![0.0; 20_000]))];
        same(&grads, 1e-3);
    }
    Ok(())
}

fn a_norm_of_few_elements_is_rounded_once() -> Result {
    for seed in 0..60 {
        same(&[("a", Some(noise(seed, 3)))], 1e-3);
    }
    // Five times each has 25 bits: halfway between two f32, the lower one even and odd.
    for part in [3_355_445.0_f32, 3_355_447.0] {
        same(&[("a", Some(vec![3.0 * part, 4.0 * part]))], 1e-3);
    }
    // Zeros, and the least number once it is unscaled.
    for bits in [0, 16] {
        same(&[("a", Some(vec![0.0, f32::from_bits(bits)]))], 1e-3);
    }
    // The limit is below the normal numbers.
    let small = noise(7, 9).iter().map(|x| x * 1e-37).collect();
    same(&[("a", Some(small))], 1e-40);
    Ok(())
}

/// Two elements whose norm is all but 2^-39 of what is halfway to the next f32, and 300 chunks of 2^-37 together 2^-29.
fn what_many_chunks_add_to_a_large_one_is_not_lost() -> Result {
    let names: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    let small = names.iter().map(|name| (&**name, Some(vec![0.9 * 2.0_f32.powi(-18)])));
    let large = vec![1.0, 46_340.0 * 2.0_f32.powi(-27)];
    let grads: Vec<_> = small.chain([("large", Some(large))]).collect();
    let (_, alone) = clipped(&Cpu, &grads[300..], 1e-3);
    let (_, found) = clipped(&Cpu, &grads, 1e-3);
    assert!(found.norm.ok_or("no norm")? > alone.norm.ok_or("no norm")?, "the small ones do count");
    same(&grads, 1e-3);
    Ok(())
}

/// Returns true if the factor of this clip is below the middle of two f32 by less than 2^-33 of itself, and by more than the
/// rounding of an f64.
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
            same(&[("a", Some(values.clone()))], *max);
        }
    }
    Ok(())
}
