//! Under which names states and rules are written to a file.

#[path = "../rule/idle.rs"]
mod idle;
#[path = "../rule/mod.rs"]
mod rule;

use binade_interchange::protocol::{ProtocolScaler, StateDict};
use binade_master_weights::{CustomRule as _, UpdateRule};
use idle::idle_rule;
use serde_json::json;

#[test]
fn a_scalers_state_has_torchs_keys() {
    let scaler = ProtocolScaler::new(StateDict::default()).unwrap();
    let written = json!({
        "scale": 65536.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2000,
        "_growth_tracker": 0,
    });
    assert_eq!(serde_json::to_value(scaler.state_dict()).unwrap(), written);
    assert_eq!(serde_json::from_value::<StateDict>(written).unwrap(), scaler.state_dict());
}

#[test]
fn a_missing_key_is_named() {
    let error = serde_json::from_value::<StateDict>(json!({"scale": 1.0})).unwrap_err();
    assert!(error.to_string().contains("`growth_factor`"), "{error}");
}

#[test]
fn a_rule_comes_back_as_it_was() {
    let rules = [UpdateRule::sgd(0.1), UpdateRule::adam(0.1), UpdateRule::adamw(0.1)];
    for rule in rules.into_iter().chain([UpdateRule::adagrad(0.1)]) {
        let written = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<UpdateRule>(&written).unwrap(), rule, "{written}");
    }
}

#[test]
fn a_rule_of_a_programs_own_is_read_by_its_name_once_it_was_made() {
    let written = |name: &str, hyper: &[f64]| json!({"custom": {"name": name, "hyper": hyper}});
    let own = rule::warm_rmsprop().with_lr(0.25);
    let file = written("warm_rmsprop", &[0.25, 0.9, 1e-6, 0.5, 2.0]);
    assert_eq!(serde_json::to_value(own).unwrap(), file);
    assert_eq!(serde_json::from_value::<UpdateRule>(file).unwrap(), own);
    for (file, why) in [
        (written("another", &[0.25]), "the update rule is `another`, and no rule of this name"),
        (written("warm_rmsprop", &[0.25]), "1 hyper-parameters were saved of `warm_rmsprop`"),
    ] {
        let error = serde_json::from_value::<UpdateRule>(file).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(format!("{own:?}").contains("warm_rmsprop { lr: 0.25, alpha: 0.9,"), "{own:?}");
}

#[test]
fn two_rules_of_one_name_are_told_apart_and_refused_in_a_file() {
    idle_rule!(Other, "twice", [], |_| [0.0; 9]);
    idle_rule!(Same, "twice", [], |_| [1.0; 9]);
    let (one, two) = (Other::rule([0.1]), Same::rule([0.1]));
    assert_ne!(one, two);
    let error = serde_json::from_value::<UpdateRule>(serde_json::to_value(one).unwrap());
    assert!(error.unwrap_err().to_string().contains("several rules of the program"));
}
