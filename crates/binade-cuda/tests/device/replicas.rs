//! Gradients of several devices: the average, one finding, and nothing read.

use crate::support::{
    Device, Result, Set, all_replicas, apart, cuda, noise, replicas, set, vector, waits,
};
use binade_core::ops::Download;
use binade_core::{DType, FoundInf, GradSet as _, Named};
use binade_cuda::{JointGradients, Parts, Replicas, Tensor, cudarc::driver::CudaContext};
use binade_grad_scaler::{GradScaler, ScaleState, ScaleStore};

crate::tests![
    the_interpreter_has_two_devices,
    an_average_is_the_f64_sum_in_the_order_of_devices_rounded_once,
    sixteen_bits_are_averaged_in_f32,
    what_was_averaged_is_not_averaged_again,
    a_gradient_that_some_lack_counts_as_zero_and_is_told,
    a_set_without_gradients_is_of_all_devices,
    findings_are_joined_in_the_order_of_the_devices,
    a_batch_is_split_by_rows,
    one_device_alone_is_that_device,
];

/// Averaged gradients as they are read.
type Averaged = Vec<Named<Option<Parts<Tensor>>>>;

fn the_interpreter_has_two_devices() -> Result {
    if cuda().name()?.contains("PTX interpreter") {
        let count = CudaContext::device_count()?;
        assert!(count > 1, "run by `cargo xtask on ptx cargo test`, or with BINADE_PTX_DEVICES=2");
    }
    Ok(())
}

/// Returns the average that `unscale` computes at a scale of 2 to `exponent`, and its finding.
fn unscaled(
    replicas: &Replicas,
    mut grads: JointGradients,
    exponent: i32,
) -> Result<(Averaged, FoundInf)> {
    let scale = replicas.upload_state(ScaleState::from_exponent(exponent))?;
    let before = waits(replicas);
    let found = replicas.unscale(&mut grads, &scale)?;
    assert_eq!(waits(replicas), before, "the host reads nothing");
    let (mut findings, _) = replicas.read(&[&found], &scale)?;
    Ok((replicas.materialise(grads)?, findings.remove(0)))
}

/// Returns the average of values of as many devices, times a power of two.
fn average(values: &[f32], factor: f64) -> f32 {
    let (first, others) = values.split_first().unwrap();
    let settled = |x: &f32| f64::from(*x) * factor;
    let count = f64::from(u8::try_from(values.len()).unwrap());
    let sum = others.iter().fold(settled(first), |sum, x| sum + settled(x));
    #[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
    let average = (sum / count) as f32;
    average
}

fn bits(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn an_average_is_the_f64_sum_in_the_order_of_devices_rounded_once() -> Result {
    // Halves of an ulp, sums beyond f32, subnormals, zeros of either sign, and cancellation.
    let odd = [
        [f32::MAX, f32::MAX, f32::MAX],
        [1.0, f32::EPSILON, f32::EPSILON / 4.0],
        [1e-45, 1e-45, -1e-45],
        [-0.0, -0.0, -0.0],
        [3e38, -3e38, 1e-10],
    ];
    for replicas in all_replicas() {
        let count = replicas.devices().len();
        let part = |place: usize| -> Set {
            let seed = 10 * place as u64;
            let odd = odd.iter().map(|values| values[place]).collect();
            vec![
                ("a", Some(noise(seed, 1000))),
                ("none", Some(Vec::new())),
                ("odd", Some(odd)),
                ("one", Some(noise(seed + 1, 1))),
            ]
        };
        let each: Vec<Set> = (0..count).map(part).collect();
        let (averaged, found) = unscaled(&replicas, apart(&replicas, &each, DType::F32), 0)?;
        assert!(!found.is_raised());
        assert_eq!(averaged.len(), 4);
        for (number, entry) in averaged.iter().enumerate() {
            let columns: Vec<&Vec<f32>> =
                each.iter().filter_map(|set| set[number].1.as_ref()).collect();
            let of = |index: usize| columns.iter().map(|values| values[index]).collect::<Vec<_>>();
            let want: Vec<f32> =
                (0..columns[0].len()).map(|index| average(&of(index), 1.0)).collect();
            let got = replicas.bits(entry.value.as_ref().ok_or("a gradient that is gone")?);
            assert_eq!(got, bits(&want), "{} on {count}", entry.name);
        }
    }
    Ok(())
}

fn sixteen_bits_are_averaged_in_f32() -> Result {
    let replicas = replicas();
    for (dtype, largest) in [(DType::F16, 65504.0), (DType::BF16, 3.0e38)] {
        let part = |x: f32| vec![("w", Some(vec![largest, x, 1.0]))];
        let grads = apart(&replicas, &[part(largest), part(3.0)], dtype);
        let (averaged, found) = unscaled(&replicas, grads, 3)?;
        assert!(!found.is_raised());
        let got = replicas.download(averaged[0].value.as_ref().ok_or("none")?)?;
        let stored = cuda().download(&vector(&cuda(), &[largest], dtype))?[0];
        let want = [[stored, stored], [stored, 3.0], [1.0, 1.0]].map(|of| average(&of, 0.125));
        assert_eq!(bits(&got), bits(&want), "{dtype}");
    }
    Ok(())
}

fn what_was_averaged_is_not_averaged_again() -> Result {
    let replicas = replicas();
    let scale = replicas.upload_state(ScaleState::from_exponent(0))?;
    let each = [1, 2].map(|seed| vec![("w", Some(noise(seed, 100)))]);
    let mut grads = apart(&replicas, &each, DType::F32);
    replicas.unscale(&mut grads, &scale)?;
    let first = replicas.materialise(grads.clone())?;
    let launches = replicas.devices()[0].counters().launches;
    replicas.unscale(&mut grads, &scale)?;
    assert_eq!(replicas.devices()[0].counters().launches - launches, 1, "looked at, and no more");
    let again = replicas.materialise(grads)?;
    let of = |set: &Averaged| set[0].value.as_ref().map(|it| replicas.bits(it));
    assert_eq!(of(&first), of(&again));
    Ok(())
}

fn a_gradient_that_some_lack_counts_as_zero_and_is_told() -> Result {
    let replicas = replicas();
    let each: [Set; 2] = [
        vec![
            ("both", Some(vec![2.0])),
            ("first", Some(vec![3.0; 70])),
            ("second", None),
            ("no", None),
        ],
        vec![
            ("both", Some(vec![4.0])),
            ("first", None),
            ("second", Some(vec![5.0; 3])),
            ("no", None),
        ],
    ];
    let (averaged, found) = unscaled(&replicas, apart(&replicas, &each, DType::F16), 1)?;
    let mut missing: Vec<&str> = found.missing.iter().map(|name| &**name).collect();
    missing.sort_unstable();
    assert_eq!(missing, ["first", "no", "second"]);
    let values = |place: usize| averaged[place].value.as_ref().map(|it| replicas.bits(it));
    assert_eq!(values(0), Some(bits(&[1.5])));
    assert_eq!(values(1), Some(bits(&[0.75; 70])));
    assert_eq!(values(2), Some(bits(&[1.25; 3])));
    assert_eq!(values(3), None, "what all lack is missing");
    Ok(())
}

fn a_set_without_gradients_is_of_all_devices() -> Result {
    let replicas = replicas();
    let (averaged, found) = unscaled(&replicas, set(&replicas, &[("w", None)], DType::F16), 4)?;
    assert!(averaged[0].value.is_none() && !found.is_raised());
    assert_eq!(found.missing.len(), 1);
    let (averaged, found) = unscaled(&replicas, Vec::<Named<_>>::new().into(), 4)?;
    assert!(averaged.is_empty() && !found.is_raised());
    Ok(())
}

fn findings_are_joined_in_the_order_of_the_devices() -> Result {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for replicas in all_replicas() {
        let count = replicas.devices().len();
        let large = |place: usize| 7.0 + f32::from(u8::try_from(place).unwrap());
        let part = |place: usize, bad: &[usize]| -> Set {
            let mut values = noise(place as u64, 5000);
            values[17] = large(place);
            if bad.contains(&place) {
                values[4000 + place] = inf;
                values[4500] = nan;
            }
            vec![("a", Some(vec![1.0])), ("b", Some(values))]
        };
        let bads: [&[usize]; 5] = [&[], &[0], &[1], &[0, 1], &[count - 1]];
        for bad in bads {
            let each: Vec<Set> = (0..count).map(|place| part(place, bad)).collect();
            let (_, found) = unscaled(&replicas, apart(&replicas, &each, DType::F32), 0)?;
            assert_eq!(found.is_raised(), !bad.is_empty());
            assert_eq!((found.infinities, found.nans), (bad.len() as u64, bad.len() as u64));
            assert_eq!(found.magnitude, large(count - 1), "the largest of all devices");
            let told = found.overflow.map(|overflow| (overflow.parameter, overflow.index));
            let first = bad.first().map(|place| ("b".into(), 4000 + *place as u64));
            assert_eq!(told, first, "the first device that has one");
        }
    }
    Ok(())
}

fn a_batch_is_split_by_rows() -> Result {
    let replicas = replicas();
    let values: Vec<f32> = (0..24_u8).map(f32::from).collect();
    let batch = replicas.shard(&values, &[4, 3, 2], DType::BF16)?;
    assert_eq!(
        batch.0.iter().map(|part| part.shape().to_vec()).collect::<Vec<_>>(),
        [[2, 3, 2]; 2]
    );
    assert_eq!(replicas.download_each(&batch)?, [&values[..12], &values[12..]]);
    let labels = replicas.shard_i64(&[5, 6, 7, 8], &[4])?;
    for ((cuda, part), want) in replicas.devices().iter().zip(&labels.0).zip([[5_i64, 6], [7, 8]]) {
        assert_eq!(cuda.to_bits(part)?, want.map(i64::to_le_bytes).concat());
    }
    let same = replicas.tensor(batch.0.clone())?;
    assert_eq!(replicas.download(&same)?, &values[..12], "the first device's");
    Ok(())
}

fn one_device_alone_is_that_device() -> Result {
    let replicas = Replicas::open(&[0])?;
    let grads = apart(&replicas, &[vec![("w", Some(noise(3, 100)))]], DType::F16);
    let launches = replicas.devices()[0].counters().launches;
    let (averaged, _) = unscaled(&replicas, grads, 2)?;
    assert_eq!(replicas.devices()[0].counters().launches - launches, 2, "a look, and values");
    let scale = cuda().upload_state(ScaleState::from_exponent(2))?;
    let mut alone = set(&cuda(), &[("w", Some(noise(3, 100)))], DType::F16);
    cuda().unscale(&mut alone, &scale)?;
    let want = cuda().materialise(alone)?;
    let want = want[0].value.as_ref().map(|it| cuda().bits(it));
    assert_eq!(averaged[0].value.as_ref().map(|it| replicas.bits(it)), want);
    Ok(())
}
