//! Tensors larger than a binding: work on them is done in parts, with the same bits, or refused.

use crate::{
    shared::{
        calls::{rows, run},
        whole::whole_rules,
    },
    support::{Compared, Device, Result, kind, narrow, noise, own, set, vector, wgpu},
};
use binade_core::ops::{Download as _, MatMul as _};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_grad_scaler::{ClipGroup, Norm, ScaleState};
use binade_master_weights::OptimizerConfig;

crate::tests![
    an_operation_in_parts_has_the_bits_of_the_whole_or_is_refused,
    a_set_in_parts_is_looked_at_and_clipped_whole,
    operands_that_end_where_they_begin_are_no_operands,
    a_tensor_of_more_chunks_than_join_at_once_has_the_cpus_norms,
];

fn an_operation_in_parts_has_the_bits_of_the_whole_or_is_refused() -> Result {
    let (wide, narrow) = (wgpu(), narrow());
    let mut by_parts = 0;
    for row in [DType::BF16, DType::F32].into_iter().flat_map(|dtype| rows(43, dtype)) {
        let want = run(&wide, &row)?;
        match run(&narrow, &row) {
            Ok(got) => {
                by_parts += 1;
                for (got, want) in got.iter().zip(&want) {
                    assert_eq!(narrow.to_bits(got)?, wide.to_bits(want)?, "{:?}", row.0);
                }
            }
            Err(error) => assert_eq!(kind::<(), _>(Err(error)), ErrorKind::Unsupported),
        }
    }
    assert!(by_parts > 30, "{by_parts}");
    Ok(())
}

/// Returns the found-inf result of a set of two gradients, and the set's values after clipping by one group.
fn looked_at<D: Device>(device: &D, values: &[f32], exponent: i32) -> (String, Vec<Vec<u8>>) {
    let scale = device.upload_state(ScaleState::from_exponent(exponent)).unwrap();
    let grads = [("a", Some(noise(5, 1500))), ("b", Some(values.to_vec()))];
    let mut grads = set(device, &grads, DType::F32);
    let mut found = device.unscale(&mut grads, &scale).unwrap();
    let group = ClipGroup::new(["b", "a"], Norm::L2, 0.5);
    device.clip_groups(&mut grads, &[group], &mut found).unwrap();
    let told = format!("{:?}", device.read(&[&found], &scale).unwrap().0);
    let values = device.materialise(grads).unwrap().into_iter().filter_map(|entry| entry.value);
    (told, values.map(|tensor| device.bits(&tensor)).collect())
}

fn a_set_in_parts_is_looked_at_and_clipped_whole() -> Result {
    let narrow = narrow();
    let good = noise(4, 40_000);
    assert!(looked_at(&narrow, &good, 4) == looked_at(&Cpu, &good, 4));
    let mut bad = good;
    [bad[20_000], bad[39_999]] = [f32::NAN, f32::INFINITY];
    for exponent in [0, 7] {
        assert_eq!(looked_at(&narrow, &bad, exponent).0, looked_at(&Cpu, &bad, exponent).0);
    }
    Ok(())
}

/// An empty slice may begin at its buffer's end, where no binding can begin.
fn operands_that_end_where_they_begin_are_no_operands() -> Result {
    let wgpu = own();
    let x = vector(&wgpu, &noise(9, 64), DType::F32);
    let none = |start, shape: &[usize]| x.slice(start, 0)?.reshape(shape);
    for start in [0, 1, 63, 64] {
        let product = wgpu.matmul(&none(start, &[3, 0])?, &none(start, &[0, 4])?)?;
        assert_eq!(wgpu.download(&product)?, [0.0; 12], "from {start}");
    }
    assert_eq!(wgpu.download(&x)?, noise(9, 64), "the device goes on");
    Ok(())
}

/// 32 invocations join a tensor's chunks of 16384 elements. Nearly all of each norm is in chunks after the first 32.
fn a_tensor_of_more_chunks_than_join_at_once_has_the_cpus_norms() -> Result {
    let set = |seed: u64| {
        let mut values = noise(seed, 16384 * 36 + 5);
        values[..16384 * 32].iter_mut().for_each(|x| *x *= 1e-3);
        [("w", values)]
    };
    let [lamb, _, novograd, by_largest, larc, ..] = whole_rules();
    for rule in [lamb, novograd, by_largest, larc] {
        let mut run = Compared::new(&wgpu(), &set(1), DType::F32, &OptimizerConfig::new(rule)?);
        run.step(DType::F32, &set(2))?;
        run.assert_agrees(&format!("{rule:?}"))?;
    }
    Ok(())
}
