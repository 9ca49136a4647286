//! States of any library survive a round trip through JSON, and no dictionary causes a panic. `tests/tests/golden_scalers.rs` continues recorded
//! states.
#![cfg(feature = "serde")]

use binade_core::{HostDevice, HostOptimizer, HostTensor, Named};
use binade_grad_scaler::{LossScale, Scaler, UpdateInputs};
use binade_interchange::protocol::{NewScale, ProtocolScaler, StateDict};
use binade_interchange::{
    ApexState, DeepSpeedFusedState, DeepSpeedState, FirstGrowth, KerasState, PaddleState,
    TfKerasState,
};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Returns a state of each library as it saves it.
fn saved() -> [Value; 7] {
    let of = |name| LossScale::preset(name).unwrap();
    let (torch, paddle, zero) = (LossScale::torch(), of("paddle"), of("deepspeed"));
    let (start, first) = (torch.start(), FirstGrowth::AfterWindow);
    [
        json!(StateDict::default()),
        json!(KerasState::export(&torch, &start).unwrap().saved),
        json!(TfKerasState::export(&torch, &start).unwrap().saved),
        json!(PaddleState::export(&paddle, &paddle.start()).unwrap().saved),
        json!(DeepSpeedState::export(&zero, &zero.start(), first).unwrap().saved),
        json!(DeepSpeedFusedState::export(&torch, &start).unwrap().saved),
        json!(ApexState::export(&torch, &[start]).unwrap().saved),
    ]
}

/// Reads a dictionary as the state of the library with this index in [`saved`], and writes it again.
fn read(library: usize, dictionary: &Value) -> Result<Value, String> {
    fn of<S: Serialize + DeserializeOwned>(text: &str) -> Result<Value, String> {
        serde_json::from_str::<S>(text).map(|state| json!(state)).map_err(|error| error.to_string())
    }
    let text = dictionary.to_string();
    match library {
        0 => of::<StateDict>(&text),
        1 => of::<KerasState>(&text),
        2 => of::<TfKerasState>(&text),
        3 => of::<PaddleState>(&text),
        4 => of::<DeepSpeedState>(&text),
        5 => of::<DeepSpeedFusedState>(&text),
        _ => of::<ApexState>(&text),
    }
}

#[test]
fn a_key_that_is_missing_unknown_or_of_another_type_is_an_error_that_tells_what_belongs_there() {
    for (library, written) in saved().into_iter().enumerate() {
        assert_eq!(read(library, &written).as_ref(), Ok(&written));
        for key in written.as_object().unwrap().keys() {
            let mut without = written.clone();
            without.as_object_mut().unwrap().remove(key);
            let text = read(library, &without).unwrap_err();
            assert!(text.contains(&format!("`{key}`")), "{text}");
            let mut mistyped = written.clone();
            mistyped[key] = json!("twelve");
            let text = read(library, &mistyped).unwrap_err();
            assert!(
                text.contains("\"twelve\", expected ") || text.contains("a list of one"),
                "{text}"
            );
        }
        let mut more = written.clone();
        more["zest"] = Value::Null;
        match read(library, &more) {
            // The fused optimizer saves more than its scale.
            Ok(back) => assert_eq!((back, library), (written, 5)),
            Err(text) => {
                assert!(text.contains("`zest`") || text.contains("expected struct"), "{text}");
            }
        }
    }
}

#[test]
fn numbers_of_another_kind_are_taken_where_python_takes_them() {
    let with = |library: usize, key: &str, value: Value| {
        let mut dictionary = saved()[library].clone();
        dictionary[key] = value;
        read(library, &dictionary)
    };
    assert_eq!(with(0, "scale", json!(65536)), Ok(saved()[0].clone()));
    assert_eq!(with(3, "scale", json!(8.0)).unwrap()["scale"], json!([8.0]));
    for (library, key, value) in [
        (0, "scale", json!(true)),
        (0, "_growth_tracker", json!(7.0)),
        (1, "dynamic_scale", Value::Null),
        (3, "scale", json!([])),
        (3, "scale", json!([1.0, 2.0])),
    ] {
        assert!(with(library, key, value.clone()).is_err(), "{key} {value}");
    }
    for (library, key) in [(4, "dynamic"), (5, "dynamic_loss_scale")] {
        let text = with(library, key, json!(false)).unwrap_err();
        assert!(text.contains("LossScale::fixed"), "{text}");
    }
}

#[test]
fn a_loss_that_apex_left_out_is_named() {
    let scaler = saved()[6]["loss_scaler0"].clone();
    let text = read(6, &json!({"loss_scaler0": scaler, "loss_scaler2": scaler})).unwrap_err();
    assert!(text.contains("no `loss_scaler1`") && text.contains("loss_scaler2"), "{text}");
    assert!(read(6, &json!({})).unwrap_err().contains("no `loss_scaler0`"));
}

proptest! {
    #[test]
    fn no_dictionary_panics_and_what_is_imported_is_a_scale(dictionary in any_dictionary()) {
        fn of<S: DeserializeOwned>(dictionary: &Value) -> Option<S> {
            S::deserialize(dictionary).ok()
        }
        let (keras, late) = (LossScale::preset("keras").unwrap(), FirstGrowth::AfterWindowAndOne);
        let outcomes = [
            of::<StateDict>(&dictionary).map(|saved| saved.import()),
            of::<KerasState>(&dictionary).map(|saved| saved.import(&keras)),
            of::<TfKerasState>(&dictionary).map(|saved| saved.import(&keras)),
            of::<PaddleState>(&dictionary).map(|saved| saved.import()),
            of::<DeepSpeedState>(&dictionary).map(|saved| saved.import(FirstGrowth::AfterWindow)),
            of::<DeepSpeedState>(&dictionary).map(|saved| saved.import(late)),
            of::<DeepSpeedFusedState>(&dictionary).map(|saved| saved.import(&keras)),
        ];
        for imported in outcomes.into_iter().flatten().flatten() {
            let next = imported.rule.next(imported.state, UpdateInputs::default());
            prop_assert!(next.factor().is_normal() && next.inverse().is_normal());
            prop_assert_eq!(imported.rule.start().exponent, imported.state.exponent);
        }
    }
}

/// Dictionary of a library's own keys, with values of any kind, most of them usable.
fn any_dictionary() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        4 => prop::sample::select(vec![0.25, 0.5, 1.0, 2.0, 65536.0, 400.0]).prop_map(|x| json!(x)),
        4 => (0_i64..5).prop_map(|n| json!(n)),
        2 => any::<bool>().prop_map(|flag| json!(flag)),
        1 => any::<f64>().prop_map(|x| json!(x)),
        1 => any::<i64>().prop_map(|n| json!(n)),
        1 => prop::sample::select(vec![json!(i64::MAX), json!([8.0]), Value::Null]),
    ];
    let states = prop::sample::select(saved()[..6].to_vec());
    (states, prop::collection::vec(value, 11)).prop_map(|(mut state, values)| {
        state.as_object_mut().unwrap().values_mut().zip(values).for_each(|(to, from)| *to = from);
        state
    })
}

#[test]
fn a_checkpoint_of_torch_goes_on_in_the_typed_scaler() -> Result<(), Box<dyn std::error::Error>> {
    let text = r#"{"scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                   "growth_interval": 3, "_growth_tracker": 2}"#;
    let imported = serde_json::from_str::<StateDict>(text)?.import()?;
    let mut scaler = Scaler::new(HostDevice::<HostTensor>::new(), imported.rule)?;
    scaler.set_state(imported.state)?;
    let grads = scaler.scale(&HostTensor::from(vec![1.0]))?;
    let grads = grads.backward(|seed| Ok(vec![Named::new("w", Some(seed.clone()))]))?;
    let mut own = HostOptimizer::new(HostDevice::<HostTensor>::new(), |_| Ok(()));
    let step = grads.unscale()?.step(&mut own)?;
    assert!(scaler.update(step)?.resolve()?.is_applied());
    assert_eq!((scaler.state()?.factor(), scaler.state()?.good_steps), (8.0, 0));
    let saved = StateDict::export(scaler.rule(), &scaler.state()?).unwrap().saved;
    assert_eq!((saved.scale, saved.growth_tracker), (8.0, 0));
    Ok(())
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
    assert!(odd.import().unwrap_err().to_string().starts_with("`growth_factor` is 1.5"));
    let mut exact = ProtocolScaler::new(StateDict::default()).unwrap();
    exact.load_state_dict(&odd).unwrap();
    exact.scale(1.0_f32).unwrap();
    exact.unscale(0, &mut [Some(&mut [1.0_f32][..])]).unwrap();
    exact.update().unwrap();
    assert_eq!(exact.current(), Some(4.5));
    exact.set_scale(NewScale::Float(2.0)).unwrap();
}
