//! What a pass says of itself: the first offender, the counts, missing gradients, divergence; and the scale that it reads.

use crate::support::{
    Device, Found, Grads, Result, assert_same, kind, mixed, narrow, noise, own, set, vector, wgpu,
};
use binade_core::{DType, ErrorKind, Finding, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{
    GradOps, GradScaler, Join, Loss, LossScale, Norm, ScaleState, ScaleStore,
};
use binade_ops::{Download, Embedding, Upload};
use binade_wgpu::{Scale, Wgpu};

crate::tests![
    the_first_offender_is_the_lowest_and_counts_are_apart,
    findings_join_as_on_the_cpu,
    many_findings_are_all_seen,
    an_empty_set_finds_nothing_and_is_halted_by_divergence,
    a_tensor_in_parts_is_looked_at_whole,
    every_length_around_a_chunks_edge_is_looked_at_to_its_end,
    a_slice_is_looked_at_and_its_neighbours_are_not,
    a_scaled_loss_is_a_product_and_a_lone_gradient_a_quotient,
    a_clone_of_a_scale_keeps_what_it_reads,
    nothing_waits_until_an_outcome_is_read,
    an_outcome_that_is_ready_is_read_without_waiting_after_indices_too,
    an_outcome_of_a_window_that_is_ready_is_read_without_waiting,
    integers_have_no_gradient,
];

fn found<D: Device>(
    device: &D,
    grads: &[(&str, Option<Vec<f32>>)],
    exponent: i32,
) -> (Finding, Found<D>) {
    let scale = device.upload_state(ScaleState::from_exponent(exponent)).unwrap();
    let mut grads: Grads<D> = set(device, grads, DType::F32);
    let found = device.unscale(&mut grads, &scale).unwrap();
    let (mut findings, _) = device.read(&[&found], &scale).unwrap();
    (findings.remove(0), found)
}

/// Findings have no equality: NaN is among them.
fn text(finding: &Finding) -> String {
    format!("{finding:?}")
}

fn the_first_offender_is_the_lowest_and_counts_are_apart() -> Result {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let mut late = vec![1.0; 10_000];
    late[9_999] = nan;
    late[4_096] = -inf;
    let grads = [
        ("a", Some(vec![3.0, -1024.0])),
        ("b", None),
        ("c", Some(Vec::new())),
        ("d", Some(late)),
        ("e", Some(vec![nan, inf, 1e38])),
    ];
    for exponent in [0, 10, -3] {
        let want = text(&found(&Cpu, &grads, exponent).0);
        assert_eq!(text(&found(&wgpu(), &grads, exponent).0), want);
    }
    Ok(())
}

fn findings_join_as_on_the_cpu() -> Result {
    fn joined<D: Device>(device: &D, values: [f32; 2], join: Join) -> String {
        let [(_, mut into), (_, from)] =
            values.map(|value| found(device, &[("w", Some(vec![2.0, value]))], 3));
        device.merge(&mut into, &from, join).unwrap();
        let any = device.upload_state(ScaleState::from_exponent(0)).unwrap();
        text(&device.read(&[&into], &any).unwrap().0[0])
    }
    for join in [Join::Any, Join::All] {
        for values in [[1.0, 5.0], [f32::NAN, 5.0], [1.0, f32::INFINITY], [f32::INFINITY, f32::NAN]]
        {
            assert_eq!(joined(&wgpu(), values, join), joined(&Cpu, values, join), "{values:?}");
        }
    }
    Ok(())
}

fn many_findings_are_all_seen() -> Result {
    let wgpu = wgpu();
    let [(_, good), (_, bad)] = [1.0, f32::NAN].map(|x| found(&wgpu, &[("w", Some(vec![x]))], 0));
    for (parts, verdicts, place) in [(70, 3, 0), (70, 3, 69), (70, 3, 72), (130, 0, 129)] {
        let mut all = vec![&good; parts + verdicts];
        all[place] = &bad;
        let mut scale = wgpu.upload_state(ScaleState::from_exponent(16))?;
        wgpu.update(&mut scale, &all[..parts], &all[parts..], &LossScale::dynamic())?;
        let before = wgpu.ledger().syncs;
        let (findings, state) = wgpu.read(&all, &scale)?;
        assert_eq!(wgpu.ledger().syncs - before, 1, "all in one go");
        assert_eq!((state.exponent, state.skipped), (15, u64::from(place >= parts)));
        let raised: Vec<usize> =
            (0..all.len()).filter(|place| findings[*place].is_raised()).collect();
        assert_eq!(raised, [place]);
    }
    Ok(())
}

fn an_empty_set_finds_nothing_and_is_halted_by_divergence() -> Result {
    let wgpu = wgpu();
    let (finding, _) = found(&wgpu, &[], 4);
    assert!(!finding.is_raised() && finding.magnitude == 0.0);
    let diverged = ScaleState { diverged: true, ..ScaleState::from_exponent(0) };
    let scale = wgpu.upload_state(diverged)?;
    let mut grads = set(&wgpu, &[("w", Some(vec![1.0]))], DType::F16);
    let found = wgpu.unscale(&mut grads, &scale)?;
    let finding = &wgpu.read(&[&found], &scale)?.0[0];
    assert!(finding.halted && finding.overflow.is_none());
    Ok(())
}

fn integers_have_no_gradient() -> Result {
    let wgpu = wgpu();
    let labels = wgpu.upload_i64(&[0], &[1])?;
    let scale = wgpu.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = vec![Named::new("labels", Some(labels))].into();
    assert_eq!(kind(wgpu.unscale(&mut grads, &scale)), ErrorKind::Unsupported);
    Ok(())
}

fn a_tensor_in_parts_is_looked_at_whole() -> Result {
    let mut values = noise(4, 40_000);
    [values[20_000], values[39_999]] = [f32::NAN, f32::INFINITY];
    let grads = [("a", Some(noise(5, 3))), ("b", Some(values))];
    for exponent in [0, 7] {
        let want = text(&found(&Cpu, &grads, exponent).0);
        assert_eq!(text(&found(&narrow(), &grads, exponent).0), want);
    }
    Ok(())
}

fn every_length_around_a_chunks_edge_is_looked_at_to_its_end() -> Result {
    for len in [1, 2, 3, 255, 256, 257, 16_383, 16_384, 16_385, 32_769] {
        let mut values = noise(len as u64, len);
        values[len - 1] = f32::NAN;
        let grads = [("w", Some(values))];
        let want = text(&found(&Cpu, &grads, 5).0);
        assert_eq!(text(&found(&wgpu(), &grads, 5).0), want, "{len}");
    }
    Ok(())
}

fn a_slice_is_looked_at_and_its_neighbours_are_not() -> Result {
    let wgpu = wgpu();
    let scale = wgpu.upload_state(ScaleState::from_exponent(5))?;
    let mut values = noise(8, 1001);
    [values[6], values[500]] = [f32::INFINITY, f32::NAN];
    for dtype in crate::support::TYPES {
        let all = vector(&wgpu, &values, dtype);
        for (start, len, first) in [(7, 493, None), (7, 494, Some(493)), (1, 900, Some(5))] {
            let part = Named::new("w", Some(all.slice(start, len)?));
            let found = wgpu.unscale(&mut vec![part].into(), &scale)?;
            let finding = &wgpu.read(&[&found], &scale)?.0[0];
            let index = finding.overflow.as_ref().map(|overflow| overflow.index);
            assert_eq!(index, first, "{dtype}, {len} from {start}");
        }
    }
    Ok(())
}

fn a_scaled_loss_is_a_product_and_a_lone_gradient_a_quotient() -> Result {
    let states = [ScaleState::from_exponent(16), ScaleState::from_exponent(-20)];
    let odd = ScaleState::import(3.0e4).ok_or("not a scale")?;
    for state in states.into_iter().chain([odd]) {
        for dtype in crate::support::TYPES {
            // Subnormal and huge, too.
            let values = [mixed(6, 500), vec![1e-45, -3e-40, 1.1e-38, 3e38, 1e-30]].concat();
            let [got, want] = both(&values, state, dtype)?;
            for (got, want) in got.iter().zip(&want) {
                assert_same(got, want, DType::F32, &format!("{dtype} {state:?}"));
            }
        }
    }
    Ok(())
}

/// The bits of a tensor that is scaled, and of one that is unscaled, on the device and on the CPU.
fn both(values: &[f32], state: ScaleState, dtype: DType) -> Result<[[Vec<u8>; 2]; 2]> {
    fn one<D: Device>(device: &D, values: &[f32], state: ScaleState, dtype: DType) -> [Vec<u8>; 2] {
        let (scale, x) = (device.upload_state(state).unwrap(), vector(device, values, dtype));
        let results = [x.scaled(device, &scale), x.unscaled(device, &scale)];
        results.map(|result| device.bits(&result.unwrap()))
    }
    Ok([one(&wgpu(), values, state, dtype), one(&Cpu, values, state, dtype)])
}

fn a_clone_of_a_scale_keeps_what_it_reads() -> Result {
    let wgpu = wgpu();
    let (_, bad) = found(&wgpu, &[("w", Some(vec![f32::NAN]))], 0);
    let mut scale = wgpu.upload_state(ScaleState::from_exponent(10))?;
    let before = scale.clone();
    wgpu.update(&mut scale, &[&bad], &[&bad], &LossScale::dynamic())?;
    let one = vector(&wgpu, &[1.0], DType::F32);
    assert_eq!(wgpu.download(&one.scaled(&wgpu, &before)?)?, [1024.0]);
    assert_eq!(wgpu.download(&one.scaled(&wgpu, &scale)?)?, [512.0]);
    Ok(())
}

fn nothing_waits_until_an_outcome_is_read() -> Result {
    let wgpu = own();
    let mut scale = wgpu.upload_state(ScaleState::from_exponent(10))?;
    let mut grads = set(&wgpu, &[("w", Some(vec![1.0; 100]))], DType::F16);
    let mut found = wgpu.unscale(&mut grads, &scale)?;
    wgpu.clip_norm(&mut grads, Norm::L2, 1.0, &mut found)?;
    wgpu.update(&mut scale, &[&found], &[&found], &LossScale::dynamic())?;
    assert_eq!(wgpu.ledger().syncs, 0);
    while !wgpu.is_ready(&[&found], &scale)? {
        std::thread::yield_now();
    }
    let (findings, state) = wgpu.read(&[&found], &scale)?;
    assert_eq!((state.updates, findings[0].is_raised()), (1, false));
    assert_eq!(wgpu.ledger().syncs, 0, "it was there");
    let again = wgpu.read(&[&found], &scale)?;
    assert_eq!(text(&again.0[0]), text(&findings[0]));
    Ok(())
}

/// Asks whether it is there until it is, reads it, and looks at what was waited for.
fn assert_read_without_waiting(wgpu: &Wgpu, found: &Found<Wgpu>, scale: &Scale) -> Result {
    let before = wgpu.ledger().syncs;
    while !wgpu.is_ready(&[found], scale)? {
        std::thread::yield_now();
    }
    assert_eq!(wgpu.read(&[found], scale)?.1.updates, 1);
    assert_eq!(wgpu.ledger().syncs, before, "it was there");
    Ok(())
}

/// Whoever takes indices leaves a record that comes with each report.
fn an_outcome_that_is_ready_is_read_without_waiting_after_indices_too() -> Result {
    let wgpu = own();
    let table = wgpu.upload(&[1.0, 2.0], &[2, 1], DType::F32)?;
    wgpu.embedding(&table, &wgpu.upload_i64(&[1], &[1])?)?;
    let mut scale = wgpu.upload_state(ScaleState::from_exponent(10))?;
    let mut grads = set(&wgpu, &[("w", Some(vec![1.0; 100]))], DType::F16);
    let found = wgpu.unscale(&mut grads, &scale)?;
    wgpu.update(&mut scale, &[&found], &[&found], &LossScale::dynamic())?;
    assert_read_without_waiting(&wgpu, &found, &scale)
}

/// Which of its gradients are there is a report of its own.
fn an_outcome_of_a_window_that_is_ready_is_read_without_waiting() -> Result {
    let wgpu = own();
    let mut scale = wgpu.upload_state(ScaleState::from_exponent(10))?;
    let mut grads = set(&wgpu, &[("w", Some(vec![1.0; 100]))], DType::F16);
    let found = wgpu.unscale(&mut grads, &scale)?;
    let mut sum = wgpu.accumulate(None, grads, &found)?;
    let found = wgpu.unscale(&mut sum, &wgpu.upload_state(ScaleState::from_exponent(0))?)?;
    wgpu.update(&mut scale, &[&found], &[&found], &LossScale::dynamic())?;
    assert_read_without_waiting(&wgpu, &found, &scale)
}
