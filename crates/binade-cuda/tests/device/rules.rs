//! The scale after an update is the rule's, bit for bit: every preset, every tolerance, every prediction.

use crate::support::{Found, Result, cuda, set};
use binade_core::DType;
use binade_cuda::Cuda;
use binade_grad_scaler::{
    Averages, GradScaler, LogMax, LossScale, ScaleState, ScaleStore, Seen, Tolerance,
};

crate::tests![
    the_scale_moves_as_the_rule_says_through_a_thousand_updates,
    every_preset_moves_as_on_the_host,
    every_tolerance_moves_as_on_the_host,
    every_prediction_moves_as_on_the_host,
    nonsense_in_rules_and_states_moves_as_on_the_host,
    the_largest_gradient_of_all_launches_counts,
];

/// What a pass over these finds, at a scale of 1.
fn found(cuda: &Cuda, values: &[f32]) -> Found<Cuda> {
    let scale = cuda.upload_state(ScaleState::from_exponent(0)).unwrap();
    let mut grads = set(cuda, &[("w", Some(values.to_vec()))], DType::F32);
    cuda.unscale(&mut grads, &scale).unwrap()
}

fn the_scale_moves_as_the_rule_says_through_a_thousand_updates() -> Result {
    let cuda = cuda();
    let flags = [1.0, f32::INFINITY].map(|x| found(&cuda, &[x]));
    // Beyond what an exponent holds, in both directions.
    let mut leaps = LossScale::dynamic().with_limits(f32::MIN_POSITIVE, 2.0_f32.powi(126))?;
    (leaps.growth_exponent, leaps.backoff_exponent, leaps.growth_interval) =
        (i32::MAX, i32::MAX, 3);
    let rules = [
        LossScale::dynamic().with_growth_interval(2)?,
        LossScale::dynamic()
            .with_growth_interval(1)?
            .with_limits(f32::MIN_POSITIVE, 2.0_f32.powi(126))?,
        leaps,
        LossScale::none().with_patience(3),
    ];
    for rule in rules {
        let mut random = fastrand::Rng::with_seed(7);
        let start = ScaleState::import(3.0e4).ok_or("not a scale")?;
        let mut scale = cuda.upload_state(start)?;
        let mut want = start;
        for number in 0..250 {
            let [part, verdict] = [random.u32(..4) == 0, random.u32(..8) == 0];
            let flag = |raised: bool| &flags[usize::from(raised)];
            cuda.update(&mut scale, &[flag(part)], &[flag(verdict)], &rule)?;
            let seen = Seen { overflow: part || verdict, skipped: verdict, magnitude: 1.0 };
            want = rule.next(want, seen);
            if number % 50 == 49 {
                assert_eq!(cuda.read(&[], &scale)?.1, want, "update {number} of {rule:?}");
            }
        }
    }
    Ok(())
}

/// The largest gradients that rules are tried with: subnormal to huge, with odd significands, and none at all.
const MAGNITUDES: [f32; 12] =
    [0.0, 1e-45, 3e-40, 1.2e-38, 1e-20, 0.001, 0.7, 1.0, 1.5, 40_000.0, 65_504.0, 3e38];

/// A finding of each of [`MAGNITUDES`], good ones first, then overflowed ones.
fn findings(cuda: &Cuda) -> [Vec<Found<Cuda>>; 2] {
    let of = |also: f32| {
        let one = |x: &f32| found(cuda, &[*x, also]);
        MAGNITUDES.iter().map(one).collect()
    };
    [of(0.0), of(f32::NAN)]
}

/// Random updates by `rule` from `start`, each compared whole with the host's.
fn moves_as_on_the_host(
    cuda: &Cuda,
    findings: &[Vec<Found<Cuda>>; 2],
    rule: &LossScale,
    start: ScaleState,
    (drawn_by, updates): (u64, usize),
) -> Result {
    let mut random = fastrand::Rng::with_seed(drawn_by);
    let mut scale = cuda.upload_state(start)?;
    let mut want = start;
    for number in 0..updates {
        let [part, verdict] = [random.u32(..3) == 0, random.u32(..6) == 0];
        let [a, b] = [random.usize(..MAGNITUDES.len()), random.usize(..MAGNITUDES.len())];
        let [one, other] = [&findings[usize::from(part)][a], &findings[usize::from(verdict)][b]];
        cuda.update(&mut scale, &[one], &[other], rule)?;
        let magnitude = MAGNITUDES[a].max(MAGNITUDES[b]);
        let seen = Seen { overflow: part || verdict, skipped: verdict, magnitude };
        let now = rule.next(want, seen);
        assert_eq!(cuda.read(&[], &scale)?.1, now, "update {number}, {seen:?}, {want:?}, {rule:?}");
        want = now;
    }
    Ok(())
}

/// A preset's own start, and one that is no power of two.
fn starts(rule: &LossScale) -> Result<[ScaleState; 2]> {
    Ok([rule.start(), ScaleState::import(3.0e4).ok_or("not a scale")?])
}

fn every_preset_moves_as_on_the_host() -> Result {
    let cuda = cuda();
    let findings = findings(&cuda);
    for (name, rule) in LossScale::presets() {
        // Growth at all within the updates that there is time for, and a way down that does not end at once.
        let quick = rule.with_growth_interval(2)?.with_patience(1000);
        for (number, start) in starts(&quick)?.into_iter().enumerate() {
            let seed = number as u64 + name.len() as u64;
            moves_as_on_the_host(&cuda, &findings, &quick, start, (seed, 60))?;
        }
        moves_as_on_the_host(&cuda, &findings, &rule, rule.start(), (3, 20))?;
    }
    Ok(())
}

/// Each tolerance with each of these numbers.
fn tolerances() -> impl Iterator<Item = Tolerance> {
    [0, 1, 2, 3, 20_000, 40_000, u32::MAX].into_iter().flat_map(|number| {
        [
            Tolerance::None,
            Tolerance::UntilGoodStep { overflows: number },
            Tolerance::UntilGrowth { overflows: number },
            Tolerance::InARow { overflows: number },
            Tolerance::Share { of_65536: number },
        ]
    })
}

fn every_tolerance_moves_as_on_the_host() -> Result {
    let cuda = cuda();
    let findings = findings(&cuda);
    let rule = LossScale::torch().with_growth_interval(2)?.with_patience(9);
    for (number, tolerance) in tolerances().enumerate() {
        let rule = rule.with_tolerance(tolerance);
        let start = starts(&rule)?[number % 2];
        moves_as_on_the_host(&cuda, &findings, &rule, start, (number as u64, 40))?;
        // Counters at their ends, where they stay.
        let full = ScaleState { tolerated: u32::MAX, since_move: u32::MAX, ..rule.start() };
        moves_as_on_the_host(&cuda, &findings, &rule, full, (number as u64, 6))?;
    }
    Ok(())
}

fn every_prediction_moves_as_on_the_host() -> Result {
    let cuda = cuda();
    let findings = findings(&cuda);
    let mut random = fastrand::Rng::with_seed(5);
    for number in 0..16_u64 {
        let rule = LossScale::open_seq2seq_log_max().with_patience(1000);
        let mut rule = rule.with_limits(f32::MIN_POSITIVE, 2.0_f32.powi(126))?;
        let shift = random.u32(7..32);
        rule.log_max = Some(LogMax {
            ceiling_exponent: random.i32(-20..40),
            deviations: random.u32(..1 << 19),
            weight: random.u32(..) >> shift,
            slow_weight: random.u32(..) >> shift,
        });
        for start in starts(&rule)? {
            moves_as_on_the_host(&cuda, &findings, &rule, start, (number, 40))?;
        }
    }
    Ok(())
}

/// Whatever public fields can be set to: the same bits all the same, wrapped where they wrap.
fn nonsense_in_rules_and_states_moves_as_on_the_host() -> Result {
    let cuda = cuda();
    let findings = findings(&cuda);
    let mut random = fastrand::Rng::with_seed(6);
    for number in 0..60 {
        let mut any = || random.u32(..).wrapping_shr(random.u32(..32));
        let mut rule = LossScale::torch();
        [rule.patience, rule.growth_interval] = [(); 2].map(|()| any());
        [rule.growth_exponent, rule.backoff_exponent, rule.min_exponent, rule.max_exponent] =
            [(); 4].map(|()| any().cast_signed());
        let mut predicts = LogMax::open_seq2seq();
        predicts.ceiling_exponent = any().cast_signed();
        (predicts.deviations, predicts.weight, predicts.slow_weight) = (any(), any(), any());
        rule.log_max = Some(predicts);
        let mut start = ScaleState { bad_steps: any(), good_steps: any(), ..rule.start() };
        let (taken, slow_taken) = (any(), any());
        let mut long = || random.i64(..) >> random.u32(..64);
        let [mean, slow_mean, square] = [long(), long(), long()];
        start.averages = Averages { mean, slow_mean, square, taken, slow_taken };
        moves_as_on_the_host(&cuda, &findings, &rule, start, (number, 4))?;
    }
    Ok(())
}

fn the_largest_gradient_of_all_launches_counts() -> Result {
    let cuda = cuda();
    let [small, large] = [0.25, 3.0].map(|x| found(&cuda, &[x, -x / 2.0]));
    let rule = LossScale::open_seq2seq_log_max();
    let wanted = rule.next(rule.start(), Seen { magnitude: 3.0, ..Seen::default() });
    for (parts, verdicts, place) in [(70, 3, 0), (70, 3, 69), (70, 3, 72), (130, 0, 64), (1, 0, 0)]
    {
        let mut all = vec![&small; parts + verdicts];
        all[place] = &large;
        let mut scale = cuda.upload_state(rule.start())?;
        cuda.update(&mut scale, &all[..parts], &all[parts..], &rule)?;
        assert_eq!(cuda.read(&[], &scale)?.1, wanted, "{place} of {parts} and {verdicts}");
        // What one update saw is not left for the next.
        cuda.update(&mut scale, &[&small], &[], &rule)?;
        let next = rule.next(wanted, Seen { magnitude: 0.25, ..Seen::default() });
        assert_eq!(cuda.read(&[], &scale)?.1, next, "after {place} of {parts} and {verdicts}");
    }
    Ok(())
}
