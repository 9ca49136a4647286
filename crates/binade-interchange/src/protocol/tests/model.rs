//! Sequences of any calls, against a model that keeps a log of what was done and knows no stages.
#![expect(clippy::cast_possible_truncation, reason = "the scale is an f32 computed in f64")]

use super::super::{NewScale, ProtocolError, Stage, Verdict};
use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Call {
    Scale,
    Unscale(u64, Vec<Option<f32>>),
    Step(u64, Vec<Option<f32>>),
    Update,
    SetScale(f64),
    Reload,
}

/// Entry of the log since the last update; `None` is "no gradient at all".
#[derive(Clone, Copy, PartialEq)]
enum Did {
    Looked(Option<bool>),
    Stepped,
}

struct Model {
    config: StateDict,
    scale: Option<f32>,
    tracker: i64,
    log: Vec<(u64, Did)>,
}

/// Result of a call: a flag, a verdict as "stepped", or the first word of the refusal.
type Answer = Result<Option<bool>, &'static str>;

fn word(error: ProtocolError) -> &'static str {
    match error {
        ProtocolError::NeverScaled { .. } => "never scaled",
        ProtocolError::AlreadyUnscaled { .. } => "already unscaled",
        ProtocolError::UnscaledAfterStep { .. } => "after step",
        ProtocolError::AlreadyStepped { .. } => "already stepped",
        ProtocolError::NothingChecked { .. } => "nothing checked",
        ProtocolError::NothingToUpdate => "nothing to update",
        ProtocolError::OutOfRange { .. } => "out of range",
        _ => "another",
    }
}

impl Model {
    fn of(&self, id: u64) -> Vec<Did> {
        self.log.iter().filter(|(who, _)| *who == id).map(|(_, did)| *did).collect()
    }

    /// Looks at the gradients as they are, and multiplies them by the reciprocal in any case.
    fn look(&mut self, id: u64, grads: &mut [Option<f32>]) -> Option<bool> {
        let present: Vec<f32> = grads.iter().flatten().copied().collect();
        let found = (!present.is_empty()).then(|| present.iter().any(|g| !g.is_finite()));
        let inverse = self.scale.map_or(1.0, |scale| (1.0 / f64::from(scale)) as f32);
        grads.iter_mut().flatten().for_each(|g| *g *= inverse);
        self.log.push((id, Did::Looked(found)));
        found
    }

    fn unscale(&mut self, id: u64, grads: &mut [Option<f32>]) -> Answer {
        let done = self.of(id);
        match () {
            () if self.scale.is_none() => Err("never scaled"),
            () if done.contains(&Did::Stepped) => Err("after step"),
            () if !done.is_empty() => Err("already unscaled"),
            () => Ok(Some(self.look(id, grads) == Some(true))),
        }
    }

    fn step(&mut self, id: u64, grads: &mut [Option<f32>]) -> Answer {
        if self.scale.is_none() {
            return Err("never scaled");
        }
        let found = match self.of(id).last() {
            Some(Did::Stepped) => return Err("already stepped"),
            Some(Did::Looked(found)) => *found,
            None => self.look(id, grads),
        };
        let overflowed = found.ok_or("nothing checked")?;
        self.log.push((id, Did::Stepped));
        Ok(Some(!overflowed))
    }

    fn update(&mut self) -> Answer {
        let scale = f64::from(self.scale.ok_or("never scaled")?);
        let looked = |raised| self.log.iter().any(|(_, did)| *did == Did::Looked(Some(raised)));
        if !looked(true) && !looked(false) {
            return Err("nothing to update");
        }
        if looked(true) {
            (self.scale, self.tracker) = (Some((scale * self.config.backoff_factor) as f32), 0);
        } else if self.tracker == self.config.growth_interval - 1 {
            let grown = (scale * self.config.growth_factor) as f32;
            (self.scale, self.tracker) = (Some(grown).filter(|s| s.is_finite()).or(self.scale), 0);
        } else {
            self.tracker += 1;
        }
        self.log.clear();
        Ok(None)
    }

    fn set_scale(&mut self, value: f64) -> Answer {
        self.scale.ok_or("never scaled")?;
        if value.is_finite() && (value as f32).is_infinite() {
            return Err("out of range");
        }
        self.scale = Some(value as f32);
        self.log.clear();
        Ok(None)
    }

    fn answer(&mut self, call: &mut Call) -> Answer {
        match call {
            Call::Scale => {
                self.scale = self.scale.or(Some(self.config.scale as f32));
                Ok(None)
            }
            Call::Unscale(id, grads) => self.unscale(*id, grads),
            Call::Step(id, grads) => self.step(*id, grads),
            Call::Update => self.update(),
            Call::SetScale(value) => self.set_scale(*value),
            Call::Reload => Ok(None),
        }
    }
}

fn ask(scaler: &mut ProtocolScaler, call: &mut Call) -> Answer {
    let answer = match call {
        Call::Scale => scaler.scale(1.0_f32).map(|_| None),
        Call::Unscale(id, grads) => with(grads, |g| scaler.unscale(*id, g).map(Some)),
        Call::Step(id, grads) => {
            let stepped = |verdict| Some(verdict == Verdict::Apply);
            with(grads, |g| scaler.step(*id, g).map(stepped))
        }
        Call::Update => scaler.update().map(|()| None),
        Call::SetScale(value) => scaler.set_scale(NewScale::Float(*value)).map(|()| None),
        Call::Reload => {
            let state = scaler.state_dict();
            scaler.load_state_dict(&state).map(|()| None)
        }
    };
    answer.map_err(word)
}

/// Lends each gradient as a slice of one element.
fn with<R>(grads: &mut [Option<f32>], run: impl FnOnce(&mut [Option<&mut [f32]>]) -> R) -> R {
    let slices = grads.iter_mut().map(|g| g.as_mut().map(std::slice::from_mut));
    run(&mut slices.collect::<Vec<_>>())
}

fn scales() -> impl Strategy<Value = f64> {
    let special = [0.0, 1.0, -2.0, 1e-45, 3e38, f64::INFINITY, f64::NAN, 65536.0, 1234.567];
    prop::sample::select(special.to_vec())
}

fn gradients() -> impl Strategy<Value = Vec<Option<f32>>> {
    let values = vec![1.0, -0.0, 3e38, f32::INFINITY, f32::NAN, 1.0, 2.0, 3.0];
    prop::collection::vec(prop::option::weighted(0.7, prop::sample::select(values)), 0..3)
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        2 => Just(Call::Scale),
        4 => (0..3_u64, gradients()).prop_map(|(id, grads)| Call::Unscale(id, grads)),
        6 => (0..3_u64, gradients()).prop_map(|(id, grads)| Call::Step(id, grads)),
        4 => Just(Call::Update),
        1 => prop_oneof![scales(), Just(1e39)].prop_map(Call::SetScale),
        1 => Just(Call::Reload),
    ];
    prop::collection::vec(call, 0..60)
}

fn configs() -> impl Strategy<Value = StateDict> {
    let growth = prop::sample::select(vec![2.0, 1.1, 1e10, f64::NAN]);
    let backoff = prop::sample::select(vec![0.5, 0.75, 1e-30, 0.0, -1.0]);
    (scales(), growth, backoff, -1..5_i64).prop_map(
        |(scale, growth_factor, backoff_factor, growth_interval)| StateDict {
            scale,
            growth_factor,
            backoff_factor,
            growth_interval,
            growth_tracker: 0,
        },
    )
}

fn same(a: Option<f32>, b: Option<f32>) -> bool {
    a.map(f32::to_bits) == b.map(f32::to_bits)
        || a.is_some_and(f32::is_nan) && b.is_some_and(f32::is_nan)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(1024)))]

    #[test]
    fn any_sequence_of_calls_agrees_with_the_model(config in configs(), calls in calls()) {
        let mut scaler = ProtocolScaler::new(config).unwrap();
        let mut model = Model { config, scale: None, tracker: 0, log: Vec::new() };
        for call in &calls {
            let (mut here, mut there) = (call.clone(), call.clone());
            prop_assert_eq!(ask(&mut scaler, &mut here), model.answer(&mut there), "{:?}", call);
            prop_assert_eq!(format!("{here:?}"), format!("{there:?}"), "the gradients of {:?}", call);
            prop_assert!(same(scaler.current(), model.scale), "{:?} {:?}", scaler.current(), model.scale);
            prop_assert_eq!(scaler.growth_tracker(), model.tracker);
        }
    }

    #[test]
    fn after_an_update_everything_is_legal_again(config in configs(), calls in calls(), id in 0..3_u64) {
        let mut scaler = ProtocolScaler::new(config).unwrap();
        for call in [Call::Scale].iter().chain(&calls) {
            let _ = ask(&mut scaler, &mut call.clone());
        }
        let another = 9;
        prop_assert!(with(&mut [Some(1.0)], |g| scaler.unscale(another, g)).is_ok());
        prop_assert!(scaler.update().is_ok());
        prop_assert_eq!(scaler.stage(id), Stage::Ready);
        prop_assert!(with(&mut [Some(1.0)], |g| scaler.unscale(id, g)).is_ok());
        prop_assert_eq!(with(&mut [Some(1.0)], |g| scaler.step(id, g)), Ok(Verdict::Apply));
        prop_assert!(scaler.update().is_ok());
    }

    #[test]
    fn a_raised_flag_always_skips(config in configs(), flag in any::<f32>()) {
        let mut scaler = ProtocolScaler::new(config).unwrap();
        scaler.scale(1.0_f32).unwrap();
        let verdict = scaler.step_with(SGD, |_| Ok(Some(flag)));
        prop_assert_eq!(verdict == Ok(Verdict::Skip), flag != 0.0, "{}", flag);
    }

    #[test]
    fn a_saved_state_resumes_the_same_run(config in configs(), before in calls(), after in calls()) {
        let mut kept = ProtocolScaler::new(config).unwrap();
        for call in before.iter().chain(&[Call::Scale, Call::SetScale(2.0)]) {
            let _ = ask(&mut kept, &mut call.clone());
        }
        let mut resumed = ProtocolScaler::new(StateDict::default()).unwrap();
        resumed.load_state_dict(&kept.state_dict()).unwrap();
        for call in [Call::Scale].iter().chain(&after) {
            let [here, there] = [&mut resumed, &mut kept].map(|scaler| ask(scaler, &mut call.clone()));
            prop_assert_eq!(here, there, "{:?}", call);
            prop_assert!(same(resumed.current(), kept.current()));
            prop_assert_eq!(resumed.growth_tracker(), kept.growth_tracker());
        }
    }
}
