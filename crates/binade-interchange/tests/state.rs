//! States of any library come back through their dictionary as JSON, and no dictionary panics.
#![cfg(feature = "serde")]

use binade_core::{HostDevice, HostTensor, Named, NamedGrads, OptimizerFn};
use binade_grad_scaler::{LossScale, ScaleState, Scaler, Tolerance, UpdateInputs};
use binade_interchange::protocol::{
    NewScale, OptimizerId, ProtocolConfig, ProtocolScaler, StateDict,
};
use binade_interchange::{
    ApexState, DeepSpeedFusedState, DeepSpeedState, Dictionary, FirstGrowth, Imported,
    InterchangeError, KerasState, PaddleState, Saved, TfKerasState, Value,
};
use proptest::prelude::*;
use serde::de::{Deserialize, value};

/// Returns the state after a way through JSON and the library's keys.
fn through_json<S: Saved>(saved: &S) -> S {
    let text = serde_json::to_string(&saved.write()).unwrap();
    S::read(&serde_json::from_str::<Dictionary>(&text).unwrap()).unwrap()
}

fn seen() -> impl Strategy<Value = Vec<UpdateInputs>> {
    let step = any::<bool>().prop_map(|overflow| UpdateInputs {
        overflow,
        skipped: overflow,
        magnitude: 0.0,
    });
    prop::collection::vec(step, 0..60)
}

/// Returns a rule that moves by `up` and `down` binades, and its state after these steps.
fn ran(
    up: i32,
    down: i32,
    interval: u32,
    tolerance: Tolerance,
    steps: &[UpdateInputs],
) -> (LossScale, ScaleState) {
    let mut rule = LossScale::torch().with_growth_interval(interval).unwrap();
    (rule.growth_exponent, rule.backoff_exponent) = (up, down);
    let rule = rule.with_tolerance(tolerance).with_patience(u32::MAX);
    let state = steps.iter().fold(rule.start(), |state, &seen| rule.next(state, seen));
    (rule, state)
}

/// Returns true if both scales move alike from here.
fn leads_on(
    imported: &Imported,
    rule: &LossScale,
    state: ScaleState,
    steps: &[UpdateInputs],
) -> bool {
    let theirs = imported.rule.with_patience(u32::MAX);
    let start = (imported.state, state);
    let all = steps.iter().scan(start, |(a, b), &seen| {
        (*a, *b) = (theirs.next(*a, seen), rule.next(*b, seen));
        Some(a.factor() == b.factor() && a.diverged == b.diverged)
    });
    imported.state.factor() == state.factor() && all.into_iter().all(|same| same)
}

proptest! {
    #[test]
    fn torchs_state_leads_on_from_wherever_it_was_saved(
        (up, down, interval) in (0..4, 0..4, 1_u32..9), past in seen(), future in seen(),
    ) {
        let (rule, state) = ran(up, down, interval, Tolerance::None, &past);
        let saved = StateDict::export(&rule, &state).unwrap().saved;
        let back = through_json(&saved);
        prop_assert_eq!(back, saved);
        prop_assert!(leads_on(&back.import().unwrap(), &rule, state, &future));
    }

    #[test]
    fn kerass_and_apexs_states_lead_on_from_wherever_they_were_saved(
        interval in 1_u32..9, past in seen(), future in seen(),
    ) {
        let (rule, state) = ran(1, 1, interval, Tolerance::None, &past);
        let keras = through_json(&KerasState::export(&rule, &state).unwrap().saved);
        prop_assert!(leads_on(&keras.import(&rule).unwrap(), &rule, state, &future));
        let tf_keras = through_json(&TfKerasState::export(&rule, &state).unwrap().saved);
        prop_assert!(leads_on(&tf_keras.import(&rule).unwrap(), &rule, state, &future));
        let apex = through_json(&ApexState::export(&rule, &[rule.start(), state]).unwrap().saved);
        prop_assert!(leads_on(&apex.import(&rule).unwrap()[1], &rule, state, &future));
    }

    #[test]
    fn paddles_state_leads_on_from_wherever_it_was_saved(
        (up, down, interval, overflows) in (1..4, 1..4, 1_u32..9, 1_u32..5), past in seen(), future in seen(),
    ) {
        let (rule, state) = ran(up, down, interval, Tolerance::InARow { overflows }, &past);
        let saved = PaddleState::export(&rule, &state).unwrap().saved;
        let back = through_json(&saved);
        prop_assert_eq!(back, saved);
        prop_assert!(leads_on(&back.import().unwrap(), &rule, state, &future));
    }

    #[test]
    fn deepspeeds_state_leads_on_from_wherever_it_was_saved(
        (interval, overflows, consecutive) in (1_u32..9, 1_u32..5, any::<bool>()),
        late in any::<bool>(), past in seen(), future in seen(),
    ) {
        let tolerance =
            if consecutive { Tolerance::UntilGoodStep { overflows } } else { Tolerance::UntilGrowth { overflows } };
        let first = if late { FirstGrowth::AfterWindowAndOne } else { FirstGrowth::AfterWindow };
        let (rule, state) = ran(1, 1, interval, tolerance, &past);
        let saved = DeepSpeedState::export(&rule, &state, first).unwrap().saved;
        let back = through_json(&saved);
        prop_assert_eq!(back, saved);
        prop_assert!(leads_on(&back.import(first).unwrap(), &rule, state, &future));
        let plain = rule.with_tolerance(Tolerance::None);
        let fused = through_json(&DeepSpeedFusedState::export(&plain, &state).unwrap().saved);
        let untold = ScaleState { tolerated: 0, ..state };
        prop_assert!(leads_on(&fused.import(&plain).unwrap(), &plain, untold, &future));
    }

    #[test]
    fn no_dictionary_panics_and_what_is_imported_is_a_scale(dictionary in any_dictionary()) {
        let keras = LossScale::preset("keras").unwrap();
        let outcomes: [Result<Imported, InterchangeError>; 7] = [
            StateDict::read(&dictionary).and_then(|saved| saved.import()),
            KerasState::read(&dictionary).and_then(|saved| saved.import(&keras)),
            TfKerasState::read(&dictionary).and_then(|saved| saved.import(&keras)),
            PaddleState::read(&dictionary).and_then(|saved| saved.import()),
            DeepSpeedState::read(&dictionary).and_then(|saved| saved.import(FirstGrowth::AfterWindow)),
            DeepSpeedState::read(&dictionary).and_then(|saved| saved.import(FirstGrowth::AfterWindowAndOne)),
            DeepSpeedFusedState::read(&dictionary).and_then(|saved| saved.import(&keras)),
        ];
        for imported in outcomes.into_iter().flatten() {
            let next = imported.rule.next(imported.state, UpdateInputs::default());
            prop_assert!(next.factor().is_normal() && next.inverse().is_normal());
            prop_assert_eq!(imported.rule.start().exponent, imported.state.exponent);
        }
    }
}

/// Dictionary of a library's own keys, with values of any kind, most of them usable.
fn any_dictionary() -> impl Strategy<Value = Dictionary> {
    let states: Vec<Vec<String>> = [
        StateDict {
            scale: 1.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 1,
            growth_tracker: 0,
        }
        .write(),
        KerasState { step_counter: 0, dynamic_scale: 1.0 }.write(),
        TfKerasState { good_steps: 0, current_loss_scale: 1.0 }.write(),
        PaddleState::export(
            &LossScale::preset("paddle").unwrap(),
            &LossScale::preset("paddle").unwrap().start(),
        )
        .unwrap()
        .saved
        .write(),
        DeepSpeedState::export(
            &LossScale::preset("deepspeed").unwrap(),
            &LossScale::preset("deepspeed").unwrap().start(),
            FirstGrowth::AfterWindow,
        )
        .unwrap()
        .saved
        .write(),
        DeepSpeedFusedState::export(&LossScale::torch(), &LossScale::torch().start())
            .unwrap()
            .saved
            .write(),
    ]
    .into_iter()
    .map(|state| state.0.into_keys().collect())
    .collect();
    let keys = prop::sample::select(states);
    keys.prop_flat_map(|keys| {
        let values = prop::collection::vec(any_value(), keys.len());
        values.prop_map(move |values| Dictionary(keys.iter().cloned().zip(values).collect()))
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => prop::sample::select(vec![0.25, 0.5, 1.0, 2.0, 65536.0, 400.0]).prop_map(Value::Number),
        4 => (0_i64..5).prop_map(Value::Integer),
        2 => any::<bool>().prop_map(Value::Bool),
        1 => any::<f64>().prop_map(Value::Number),
        1 => any::<i64>().prop_map(Value::Integer),
        1 => Just(Value::Integer(i64::MAX)),
        1 => Just(Value::List(vec![Value::Number(8.0)])),
        1 => Just(Value::Null),
    ]
}

#[test]
fn a_checkpoint_of_torch_goes_on_in_the_typed_scaler() -> Result<(), Box<dyn std::error::Error>> {
    let text = r#"{"scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                   "growth_interval": 3, "_growth_tracker": 2}"#;
    let saved = StateDict::read(&serde_json::from_str(text).unwrap()).unwrap();
    let imported = saved.import().unwrap();
    let mut scaler = Scaler::new(HostDevice::<HostTensor>::new(), imported.rule)?;
    scaler.set_state(imported.state)?;
    let grads = scaler.scale(&HostTensor::from(vec![1.0]))?;
    let grads = grads.backward(|seed| Ok(vec![Named::new("w", Some(seed.clone()))]))?;
    let step = grads.unscale()?.step(&mut OptimizerFn(|_: NamedGrads<HostTensor>| {}))?;
    assert!(scaler.update(step)?.resolve()?.is_applied());
    assert_eq!((scaler.state()?.factor(), scaler.state()?.good_steps), (8.0, 0));
    let saved = StateDict::export(scaler.rule(), &scaler.state()?).unwrap().saved;
    assert_eq!((saved.scale, saved.growth_tracker), (8.0, 0));
    Ok(())
}

#[test]
fn a_bare_infinity_becomes_no_scale() {
    let dictionary: Dictionary =
        serde_json::from_str(r#"{"step_counter": 0, "dynamic_scale": null}"#).unwrap();
    let text = KerasState::read(&dictionary).unwrap_err().to_string();
    assert!(text.contains("`dynamic_scale`") && text.contains("null"), "{text}");
}

#[test]
fn what_the_rules_cannot_say_the_protocol_takes_as_it_is() {
    let odd = StateDict {
        scale: 3.0,
        growth_factor: 1.5,
        backoff_factor: 0.1,
        growth_interval: 1,
        growth_tracker: 0,
    };
    assert!(matches!(odd.import(), Err(InterchangeError::Factor { .. })));
    let mut exact = ProtocolScaler::new(ProtocolConfig::default()).unwrap();
    exact.load_state_dict(&odd).unwrap();
    exact.scale(1.0_f32).unwrap();
    exact.unscale(OptimizerId(0), &mut [Some(&mut [1.0_f32][..])]).unwrap();
    exact.update().unwrap();
    assert_eq!(exact.current(), Some(4.5));
    exact.set_scale(NewScale::Float(2.0)).unwrap();
}

#[test]
fn what_no_dictionary_holds_is_refused_in_words() {
    let text = serde_json::from_str::<Dictionary>("3").unwrap_err().to_string();
    assert!(text.contains("expected a dictionary, as `state_dict()` returns it"), "{text}");
    let bytes = value::BytesDeserializer::<value::Error>::new(b"pickled");
    let text = Value::deserialize(bytes).unwrap_err().to_string();
    assert!(text.contains("expected a number, a flag, a text, a list or a dictionary"), "{text}");
}
