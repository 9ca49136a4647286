//! What a step says of itself: the first offender, the counts, missing gradients, divergence, flags of other devices.

use crate::support::{Device, Found, Grads, Result, cuda, kind, set, vector};
use binade_core::{DType, ErrorKind, Finding};
use binade_cpu::Cpu;
use binade_cuda::Cuda;
use binade_grad_scaler::{GradScaler, Join, LossScale, ScaleState, ScaleStore};
use binade_master_weights::{MasterWeights, Plan, UpdateRule};

crate::tests![
    the_first_offender_is_the_lowest_and_counts_are_apart,
    findings_join_as_on_the_cpu,
    more_findings_than_one_launch_takes_are_all_seen,
    an_empty_set_finds_nothing_and_is_halted_by_divergence,
    flags_that_sum_to_two_skip,
    sets_that_do_not_fit_are_refused_by_name,
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
        assert_eq!(text(&found(&cuda(), &grads, exponent).0), want);
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
            assert_eq!(joined(&cuda(), values, join), joined(&Cpu, values, join), "{values:?}");
        }
    }
    Ok(())
}

fn more_findings_than_one_launch_takes_are_all_seen() -> Result {
    let cuda = cuda();
    let [(_, good), (_, bad)] = [1.0, f32::NAN].map(|x| found(&cuda, &[("w", Some(vec![x]))], 0));
    for (parts, verdicts, place) in [(70, 3, 0), (70, 3, 69), (70, 3, 72), (130, 0, 129)] {
        let mut all = vec![&good; parts + verdicts];
        all[place] = &bad;
        let mut scale = cuda.upload_state(ScaleState::from_exponent(16))?;
        cuda.update(&mut scale, &all[..parts], &all[parts..], &LossScale::dynamic())?;
        let before = cuda.ledger().syncs;
        let (findings, state) = cuda.read(&all, &scale)?;
        assert_eq!(cuda.ledger().syncs - before, 1, "all in one go");
        assert_eq!((state.exponent, state.skipped), (15, u64::from(place >= parts)));
        let raised: Vec<usize> =
            (0..all.len()).filter(|place| findings[*place].is_raised()).collect();
        assert_eq!(raised, [place]);
    }
    Ok(())
}

fn an_empty_set_finds_nothing_and_is_halted_by_divergence() -> Result {
    let cuda = cuda();
    let (finding, _) = found(&cuda, &[], 4);
    assert!(!finding.is_raised() && finding.magnitude == 0.0);
    let diverged = ScaleState { diverged: true, ..ScaleState::from_exponent(0) };
    let scale = cuda.upload_state(diverged)?;
    let mut grads = set(&cuda, &[("w", Some(vec![1.0]))], DType::F16);
    let found = cuda.unscale(&mut grads, &scale)?;
    let finding = &cuda.read(&[&found], &scale)?.0[0];
    assert!(finding.halted && finding.overflow.is_none());
    Ok(())
}

/// Two devices' flags added up, as a reduction among them does.
fn flags_that_sum_to_two_skip() -> Result {
    let cuda = cuda();
    let (_, mut two) = found(&cuda, &[("w", Some(vec![1.0]))], 0);
    cuda.write_flag(&mut two, 2)?;
    let mut scale = cuda.upload_state(ScaleState::from_exponent(16))?;
    let mut params = vec![binade_core::Named::new("w", vector(&cuda, &[1.0], DType::F32))];
    let mut masters = cuda.masters(&mut params, &Plan::new(UpdateRule::sgd(1.0))?)?;
    let grads = set(&cuda, &[("w", Some(vec![1.0]))], DType::F32);
    cuda.step(&mut params, &mut masters, grads, &two)?;
    cuda.update(&mut scale, &[], &[&two], &LossScale::dynamic())?;
    assert_eq!(cuda.bits(&params[0].value), 1.0_f32.to_le_bytes());
    let (findings, state) = cuda.read(&[&two], &scale)?;
    assert_eq!((state.exponent, state.skipped), (15, 1));
    let overflow = findings[0].overflow.as_ref().ok_or("not raised")?;
    assert_eq!(&*overflow.parameter, "a gradient of another device");
    Ok(())
}

fn sets_that_do_not_fit_are_refused_by_name() -> Result {
    let cuda = cuda();
    let mut params = vec![binade_core::Named::new("w", vector(&cuda, &[1.0, 2.0], DType::F16))];
    let mut masters = cuda.masters(&mut params, &Plan::new(UpdateRule::adamw(1e-3))?)?;
    let (_, fine) = found(&cuda, &[("w", Some(vec![1.0]))], 0);
    let mut refused = |grads: &[(&str, Option<Vec<f32>>)]| {
        let grads = set(&cuda, grads, DType::F16);
        cuda.step(&mut params, &mut masters, grads, &fine).unwrap_err()
    };
    assert!(
        refused(&[("v", Some(vec![1.0, 2.0]))]).to_string().starts_with("`v`: a gradient came")
    );
    assert!(refused(&[("w", Some(vec![1.0]))]).to_string().starts_with("`w`: its gradient has"));
    assert_eq!(kind::<(), _>(Err(refused(&[("w", None)]))), ErrorKind::InvalidArgument);
    Ok(())
}

fn integers_have_no_gradient() -> Result {
    let cuda = cuda();
    let labels: <Cuda as binade_core::Handle>::Tensor = cuda.of_bits(&[0; 8], DType::I64);
    let scale = cuda.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = vec![binade_core::Named::new("labels", Some(labels))].into();
    assert_eq!(kind(cuda.unscale(&mut grads, &scale)), ErrorKind::Unsupported);
    Ok(())
}
