//! Right kernels agree with a loop on the host bit for bit.

use crate::support::{LENGTHS, bits, fixture, gpu, numbers, stage};
use binade_ptx::{Arg, Gpu};
use half::{bf16, f16};

/// Runs a cast of `n` elements from bytes to bytes.
fn cast(gpu: &mut Gpu, file: &str, entry: &str, from: &[u8], n: u32, width: usize) -> Vec<u8> {
    let (x, y) = (gpu.alloc(from.len()), gpu.alloc(n as usize * width));
    gpu.write(x, from).unwrap();
    let args = [Arg::U64(x), Arg::U64(y), Arg::U32(n)];
    gpu.launch(&fixture(file), entry, n.div_ceil(128), 128, 0, &args).unwrap();
    gpu.read(y, n as usize * width).unwrap()
}

fn halves(bytes: &[u8]) -> Vec<u16> {
    bytes.as_chunks().0.iter().map(|half| u16::from_le_bytes(*half)).collect()
}

#[test]
fn narrowing_casts_have_the_hosts_bits() {
    let edges =
        [65504.0, 65519.9, 65520.0, 1e-8, -6e-8, 3.4e38, f32::INFINITY, -0.0, 1.0 + 1.0 / 256.0];
    for n in LENGTHS {
        let mut x = numbers(n);
        x.extend(edges);
        let (n, mut gpu) = (u32::try_from(x.len()).unwrap(), gpu());
        let from: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let half: Vec<_> = x.iter().map(|x| f16::from_f32(*x).to_bits()).collect();
        let brain: Vec<_> = x.iter().map(|x| bf16::from_f32(*x).to_bits()).collect();
        assert_eq!(halves(&cast(&mut gpu, "cast", "cast_f32_f16", &from, n, 2)), half);
        assert_eq!(halves(&cast(&mut gpu, "cast", "cast_f32_bf16", &from, n, 2)), brain);
        let native = cast(&mut gpu, "cast_native", "cast_f32_bf16_native", &from, n, 2);
        assert_eq!(halves(&native), brain);
    }
}

#[test]
fn every_16_bit_number_widens_to_the_hosts() {
    let from: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let floats = |bytes: Vec<u8>| -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
    };
    let f16s = floats(cast(&mut gpu(), "cast", "cast_f16_f32", &from, 1 << 16, 4));
    let bf16s = floats(cast(&mut gpu(), "cast", "cast_bf16_f32", &from, 1 << 16, 4));
    for (code, (wide, brain)) in (0..=u16::MAX).zip(f16s.into_iter().zip(bf16s)) {
        let expected = f16::from_bits(code).to_f32();
        let is_right = wide.to_bits() == expected.to_bits() || (wide.is_nan() && expected.is_nan());
        assert!(is_right, "{code:#x} {wide}");
        assert_eq!(brain.to_bits(), u32::from(code) << 16);
    }
}

#[test]
fn a_copy_through_shared_memory_arrives() {
    let x = numbers(512);
    let groups = x.chunks(256).flat_map(|block| block.chunks(4).rev()).flatten();
    assert_eq!(stage(&mut gpu(), "stage", &x).unwrap(), bits(groups.copied()));
}
