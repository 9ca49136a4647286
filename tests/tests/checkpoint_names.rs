//! Under which names states and rules are written to a file.

use binade_interchange::protocol::{ProtocolScaler, StateDict};
use binade_master_weights::UpdateRule;
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
