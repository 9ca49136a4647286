//! The scale after an update is the rule's, bit for bit, beyond the kit: numbers without sense, and more findings than a launch takes.

use crate::support::{Found, Gpu, Result, gpu, set};
use binade_core::DType;
use binade_grad_scaler::{Averages, GradScaler, LossScale, ScaleState, ScaleStore, UpdateInputs};

crate::tests![
    nonsense_in_rules_and_states_moves_as_on_the_host,
    of_more_findings_than_a_launch_takes_all_are_seen,
];

/// The finding of a pass over these, at a scale of 1.
fn found(gpu: &Gpu, values: &[f32]) -> Found<Gpu> {
    let scale = gpu.upload_state(ScaleState::from_exponent(0)).unwrap();
    let mut grads = set(gpu, &[("w", Some(values.to_vec()))], DType::F32);
    gpu.unscale(&mut grads, &scale).unwrap()
}

/// The largest gradients that rules are tried with: subnormal to huge, with odd significands, and none at all.
const MAGNITUDES: [f32; 12] =
    [0.0, 1e-45, 3e-40, 1.2e-38, 1e-20, 0.001, 0.7, 1.0, 1.5, 40_000.0, 65_504.0, 3e38];

/// A finding of each of [`MAGNITUDES`], good ones first, then overflowed ones.
fn findings(gpu: &Gpu) -> [Vec<Found<Gpu>>; 2] {
    let of = |also: f32| {
        let one = |x: &f32| found(gpu, &[*x, also]);
        MAGNITUDES.iter().map(one).collect()
    };
    [of(0.0), of(f32::NAN)]
}

/// Random updates by `rule` from `start`, each compared whole with the host's.
fn moves_as_on_the_host(
    gpu: &Gpu,
    findings: &[Vec<Found<Gpu>>; 2],
    rule: &LossScale,
    start: ScaleState,
    (drawn_by, updates): (u64, usize),
) -> Result {
    let mut random = fastrand::Rng::with_seed(drawn_by);
    let mut scale = gpu.upload_state(start)?;
    let mut want = start;
    for number in 0..updates {
        let [part, verdict] = [random.u32(..3) == 0, random.u32(..6) == 0];
        let [a, b] = [random.usize(..MAGNITUDES.len()), random.usize(..MAGNITUDES.len())];
        let [one, other] = [&findings[usize::from(part)][a], &findings[usize::from(verdict)][b]];
        gpu.update(&mut scale, &[one], &[other], rule)?;
        let magnitude = MAGNITUDES[a].max(MAGNITUDES[b]);
        let seen = UpdateInputs { overflow: part || verdict, skipped: verdict, magnitude };
        let now = rule.next(want, seen);
        assert_eq!(gpu.read(&[], &scale)?.1, now, "update {number}, {seen:?}, {want:?}, {rule:?}");
        want = now;
    }
    Ok(())
}

/// Public fields at any values: the bits are the same, wrapped where they wrap.
fn nonsense_in_rules_and_states_moves_as_on_the_host() -> Result {
    let gpu = gpu();
    let findings = findings(&gpu);
    let mut random = fastrand::Rng::with_seed(6);
    for number in 0..60 {
        let mut any = || random.u32(..).wrapping_shr(random.u32(..32));
        let mut rule = LossScale::torch();
        [rule.patience, rule.growth_interval] = [(); 2].map(|()| any());
        [rule.growth_exponent, rule.backoff_exponent, rule.min_exponent, rule.max_exponent] =
            [(); 4].map(|()| any().cast_signed());
        let mut predicts = LossScale::preset("log-max").unwrap().log_max.unwrap();
        predicts.ceiling_exponent = any().cast_signed();
        (predicts.deviations, predicts.weight, predicts.slow_weight) = (any(), any(), any());
        rule.log_max = Some(predicts);
        let mut start = ScaleState { bad_steps: any(), good_steps: any(), ..rule.start() };
        let (taken, slow_taken) = (any(), any());
        let mut long = || random.i64(..) >> random.u32(..64);
        let [mean, slow_mean, square] = [long(), long(), long()];
        start.averages = Averages { mean, slow_mean, square, taken, slow_taken };
        moves_as_on_the_host(&gpu, &findings, &rule, start, (number, 4))?;
    }
    Ok(())
}

fn of_more_findings_than_a_launch_takes_all_are_seen() -> Result {
    let gpu = gpu();
    let [small, large, bad] = [0.25, 3.0, f32::NAN].map(|x| found(&gpu, &[x, -x / 2.0]));
    let rule = LossScale::preset("log-max").unwrap();
    let wanted =
        rule.next(rule.start(), UpdateInputs { magnitude: 3.0, ..UpdateInputs::default() });
    for (parts, verdicts, place) in [(70, 3, 0), (70, 3, 69), (70, 3, 72), (130, 0, 64), (1, 0, 0)]
    {
        let mut all = vec![&small; parts + verdicts];
        all[place] = &large;
        let mut scale = gpu.upload_state(rule.start())?;
        gpu.update(&mut scale, &all[..parts], &all[parts..], &rule)?;
        assert_eq!(gpu.read(&[], &scale)?.1, wanted, "{place} of {parts} and {verdicts}");
        // What one update saw is not left for the next.
        gpu.update(&mut scale, &[&small], &[], &rule)?;
        let next = rule.next(wanted, UpdateInputs { magnitude: 0.25, ..UpdateInputs::default() });
        assert_eq!(gpu.read(&[], &scale)?.1, next, "after {place} of {parts} and {verdicts}");
        all[place] = &bad;
        let mut scale = gpu.upload_state(ScaleState::from_exponent(16))?;
        gpu.update(&mut scale, &all[..parts], &all[parts..], &LossScale::dynamic())?;
        let before = gpu.counters().syncs;
        let (findings, state) = gpu.read(&all, &scale)?;
        assert_eq!(gpu.counters().syncs - before, 1, "all in one go");
        assert_eq!((state.exponent, state.skipped), (15, u64::from(place >= parts)));
        let raised = (0..all.len()).filter(|place| findings[*place].is_raised());
        assert_eq!(raised.collect::<Vec<_>>(), [place]);
    }
    Ok(())
}
