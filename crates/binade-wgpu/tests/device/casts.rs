//! Casts in parts, compared with casts of the whole, and bits that uploads keep.

use crate::support::{Result, TYPES, narrow, noise, of_bits, vector, wgpu};
use binade_autocast::Autocast;
use binade_core::ops::Upload;
use binade_core::{DType, stochastic::Key};
use binade_wgpu::Error;

crate::tests![a_cast_in_many_parts_is_the_same, uploads_and_downloads_keep_every_bit];

fn a_cast_in_many_parts_is_the_same() -> Result {
    let (wide, narrow) = (wgpu(), narrow());
    let pairs = TYPES.into_iter().flat_map(|from| TYPES.map(|to| (from, to)));
    for (from, to) in pairs.chain([(DType::F32, DType::E4M3)]) {
        let [want, got] = [&wide, &narrow].map(|wgpu| {
            let tensor = vector(wgpu, &spread(10_001), from).slice(3, 9_900)?;
            let stochastic = wgpu.to_bits(&wgpu.cast_stochastic(&tensor, to, KEY)?)?;
            Ok::<_, Error>([wgpu.to_bits(&wgpu.cast(&tensor, to)?)?, stochastic])
        });
        assert_eq!(got?, want?, "{from} to {to}");
    }
    assert!(narrow.counters().dispatches > 2 * 3 * 3 * 3, "{:?}", narrow.counters());
    Ok(())
}

fn uploads_and_downloads_keep_every_bit() -> Result {
    let wgpu = wgpu();
    for len in 0..9 {
        let bytes: Vec<u8> = (1..=len).collect();
        let tensor = of_bits(&wgpu, &bytes, DType::U8);
        assert_eq!(wgpu.to_bits(&tensor)?, bytes);
        for start in 0..bytes.len() {
            let part = tensor.slice(start, bytes.len() - start)?;
            assert_eq!(wgpu.to_bits(&part)?, bytes[start..]);
        }
    }
    let labels = wgpu.upload_i64(&[i64::MIN, -1, 7], &[3])?;
    let bytes: Vec<u8> = [i64::MIN, -1, 7].into_iter().flat_map(i64::to_le_bytes).collect();
    assert_eq!(wgpu.to_bits(&labels)?, bytes);
    Ok(())
}

const KEY: Key = Key { seed: 0x0123_4567_89ab_cdef, parameter: 5, step: 77 };

/// Values from far below the least of any type to beyond the eight-bit ones' largest, and some that are not finite.
fn spread(len: usize) -> Vec<f32> {
    let mut values = noise(3, len);
    values.iter_mut().zip((-40..20).cycle()).for_each(|(x, binade)| *x *= 2.0_f32.powi(binade));
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 0.0, -0.0, 1e-45];
    values.iter_mut().skip(1).step_by(5).zip(special).for_each(|(x, other)| *x = other);
    values
}
