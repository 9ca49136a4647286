//! Edges of launches: odd lengths, thousands of tiny tensors, empty ones among full ones.

use crate::{
    casts::narrow,
    support::{Grads, Result, l2_norm, noise, own, vector},
};
use binade_core::{DType, GradSet, Named};
use binade_cuda::{Cuda, Tensor};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState, ScaleStore};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};

crate::tests![
    ten_thousand_tiny_tensors_take_one_launch,
    sums_read_all_of_chunks_of_four_groups_a_thread,
    tables_are_uploaded_only_when_an_address_has_changed,
];

fn ten_thousand_tiny_tensors_take_one_launch() -> Result {
    let cuda = own();
    let all = vector(&cuda, &noise(4, 30_000), DType::F32);
    let mut entries = Vec::new();
    for number in 0..10_000 {
        entries.push(Named::new(number.to_string(), Some(all.slice(3 * number, 1 + number % 3)?)));
    }
    let mut grads = Grads::<Cuda>::from(entries);
    let scale = cuda.upload_state(ScaleState::from_exponent(5))?;
    let before = cuda.counters();
    let found = cuda.unscale(&mut grads, &scale)?;
    assert_eq!(cuda.counters().launches - before.launches, 1);
    let finding = cuda.read(&[&found], &scale)?.0.remove(0);
    assert!(finding.overflow.is_none() && finding.magnitude > 0.99);
    Ok(())
}

/// The element of chunk `number` that is not 0. 32 chunks have it in each lane of a warp, each warp, each group of a thread, and
/// each place of a group.
fn place(number: usize) -> usize {
    let (group, lane, warp) = (number / 8 % 4, number % 32, number / 4 % 8);
    CHUNK * number + 2048 * group + 8 * (32 * warp + lane) + number % 8
}

/// The length of chunks beyond 16 Mi elements. Only then does a thread read several groups ahead, in `f32` in two turns.
const CHUNK: usize = 8192;

/// Chunks of which the last is a thread's, with one number in each of the first 256. The largest of all is in front of all others of a
/// thread, so that a minimum in a maximum's place loses it.
fn one_number_a_chunk(last_bit: f32, tail: usize) -> Vec<f32> {
    let mut values = vec![0.0; (1 << 24) + tail];
    let largest = 41.0 + 32.0 * last_bit;
    for (number, small) in (0..=255).enumerate() {
        let first = sensitive(last_bit, narrow(3.0 / f64::from(largest)), small);
        values[place(number)] = if number < 32 { first } else { [2.0, 3.0, 5.0][number % 3] };
    }
    values[CHUNK * 32] = largest;
    values[(1 << 24) + tail - 1] = 7.0;
    values
}

/// Returns a number from 1 to 2 that ends in a 1, and whose product with `clip` ends in a bit on which a group's factor hangs.
fn sensitive(last_bit: f32, clip: f32, number: u8) -> f32 {
    let hangs = |x: &f32| {
        let bits = (x * clip).to_bits();
        bits % 2 == 1 && factor(x * clip).to_bits() != factor(f32::from_bits(bits - 1)).to_bits()
    };
    let steps = (number % 32 + 1..127).filter(|steps| steps % 2 == 1);
    let mut all = steps.map(|steps| 1.0 + f32::from(steps) * last_bit);
    all.find(hangs).unwrap_or(f32::NAN)
}

/// The factor by which a group of this norm is clipped.
fn factor(norm: f32) -> f32 {
    narrow(f64::from(LIMIT) / f64::from(norm))
}

fn sums_read_all_of_chunks_of_four_groups_a_thread() -> Result {
    let cuda = own();
    // The tail of `f32` is a whole group, which ends the chunk.
    let types = [(DType::BF16, 7, 8193), (DType::F16, 10, 8193), (DType::F32, 23, 4104)];
    for (dtype, digits, tail) in types {
        let values = one_number_a_chunk(2.0_f32.powi(-digits), tail);
        let tensor = vector(&cuda, &values, dtype);
        let squares: f64 = values.iter().map(|x| f64::from(*x).powi(2)).sum();
        let got = l2_norm(&cuda, std::slice::from_ref(&tensor))?;
        assert_eq!(cuda.to_bits(&got)?, narrow(squares.sqrt()).to_le_bytes(), "{dtype:?}");
        let largest = f64::from(values[CHUNK * 32]);
        for (kind, norm) in [(Norm::L2, squares.sqrt()), (Norm::Infinity, largest)] {
            clips_by_chunk(&cuda, &tensor, &values, (kind, norm))?;
        }
    }
    Ok(())
}

/// Clips all to 3 by a norm, then each of the first 32 chunks by its own, which is the chunk's one number, and the rest together.
fn clips_by_chunk(
    cuda: &Cuda,
    tensor: &Tensor,
    values: &[f32],
    (kind, norm): (Norm, f64),
) -> Result {
    let part = |start, len| tensor.slice(start, len).map(Some);
    let mut entries = vec![Named::new("rest", part(CHUNK * 32, values.len() - CHUNK * 32)?)];
    // A group of many chunks, of which all but one begin behind their tensor's first element.
    let mut groups = vec![ClipGroup::new(["rest"], kind, LIMIT)];
    for number in 0..32 {
        let name = number.to_string();
        groups.push(ClipGroup::new([name.clone()], kind, LIMIT));
        entries.push(Named::new(name, part(CHUNK * number, CHUNK)?));
    }
    let scale = cuda.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = Grads::<Cuda>::from(entries);
    let mut found = cuda.unscale(&mut grads, &scale)?;
    cuda.clip_norm(&mut grads, kind, 3.0, &mut found)?;
    let finding = cuda.read(&[&found], &scale)?.0.remove(0);
    let wanted = (values[CHUNK * 32], Some(narrow(norm)));
    assert_eq!((finding.magnitude, finding.norm), wanted, "{kind:?} of {:?}", tensor.dtype());
    cuda.clip_groups(&mut grads, &groups, &mut found)?;
    let clip = narrow(3.0 / norm);
    let mut clipped = cuda.materialise(grads)?.into_iter();
    let rest = clipped.next().and_then(|entry| entry.value).ok_or("a gradient is gone")?;
    let squares = values[CHUNK * 32..].iter().map(|x| f64::from(x * clip).powi(2)).sum::<f64>();
    let largest = values[CHUNK * 32] * clip;
    let of_rest = if kind == Norm::L2 { squares.sqrt() } else { f64::from(largest) };
    let wanted = largest * narrow(f64::from(LIMIT) / of_rest);
    let got = cuda.to_bits(&rest.slice(0, 1)?)?;
    assert_eq!(got, wanted.to_le_bytes(), "{kind:?} of the rest, {:?}", tensor.dtype());
    for (number, entry) in clipped.enumerate() {
        let clipped = values[place(number)] * clip;
        let wanted = clipped * factor(clipped);
        let grad = entry.value.ok_or("a gradient is gone")?;
        let got = cuda.to_bits(&grad.slice(place(number) % CHUNK, 1)?)?;
        assert_eq!(got, wanted.to_le_bytes(), "{kind:?} of {number}, {:?}", tensor.dtype());
    }
    Ok(())
}

/// The limit of each group, below all of their norms.
const LIMIT: f32 = 2.0_f32 / 1024.0;

fn tables_are_uploaded_only_when_an_address_has_changed() -> Result {
    let cuda = own();
    let mut params = vec![Named::new("w", vector(&cuda, &noise(1, 100), DType::F16))];
    let mut masters = cuda.masters(&mut params, &OptimizerConfig::new(UpdateRule::adamw(1e-2))?)?;
    let grads =
        Grads::<Cuda>::from(vec![Named::new("w", Some(vector(&cuda, &noise(2, 100), DType::F16)))]);
    let scale = cuda.upload_state(ScaleState::from_exponent(0))?;
    let mut step = || -> Result {
        let mut grads = grads.clone();
        let found = cuda.unscale(&mut grads, &scale)?;
        Ok(cuda.step(&mut params, &mut masters, grads, &found)?)
    };
    step()?;
    let before = cuda.counters();
    for _ in 0..10 {
        step()?;
    }
    assert_eq!(cuda.counters().tables, before.tables);
    Ok(())
}
