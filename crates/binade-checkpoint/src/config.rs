//! Comparison of a saved configuration with the run's.

use crate::Mismatch;
use binade_master_weights::{OptimizerConfig, UpdateRule};
use serde_json::Value;

/// Checks that both configurations have rules of the same kind, so that their states have the same tensors.
pub(crate) fn same_kind(
    name: &str,
    saved: &OptimizerConfig,
    running: &OptimizerConfig,
) -> Result<(), Mismatch> {
    let (saved, running) = (saved.rule().name(), running.rule().name());
    if saved == running {
        return Ok(());
    }
    let what = format!("the rule of optimizer `{name}`");
    Err(Mismatch::Differs { what, found: saved.into(), expected: running.into() })
}

/// Checks that both configurations have the same rules for the same parameters in the same storage. Learning rates may differ, since a schedule
/// changes them.
pub(crate) fn agrees(
    name: &str,
    saved: &OptimizerConfig,
    running: &OptimizerConfig,
) -> Result<(), Mismatch> {
    let differs = |part: &str, found: String, expected: String| Mismatch::Differs {
        what: format!("the {part} of optimizer `{name}`"),
        found,
        expected,
    };
    if !alike(saved.rule(), running.rule()) {
        let [found, expected] = differing(saved.rule(), running.rule());
        return Err(differs("rule", found, expected));
    }
    if !alike_groups(saved, running) {
        let text = |config: &OptimizerConfig| format!("{:?}", config.groups());
        return Err(differs("groups", text(saved), text(running)));
    }
    if (saved.store, &saved.storage) != (running.store, &running.storage) {
        let text = |config: &OptimizerConfig| format!("{:?} of {:?}", config.store, config.storage);
        return Err(differs("store", text(saved), text(running)));
    }
    rates(name, saved)
}

fn alike(saved: &UpdateRule, running: &UpdateRule) -> bool {
    saved.with_lr(0.0) == running.with_lr(0.0)
}

/// Returns the differing hyper-parameters of both rules, except for the learning rate. If none differs, it returns each rule as a whole.
fn differing(saved: &UpdateRule, running: &UpdateRule) -> [String; 2] {
    let rules = [saved, running];
    // A rule is a map from its name to the map of its hyper-parameters.
    let fields = rules.map(|rule| match serde_json::to_value(rule.with_lr(0.0)) {
        Ok(Value::Object(kind)) => {
            kind.into_iter().next().map_or(Value::Null, |(_, fields)| fields)
        }
        _ => Value::Null,
    });
    let [Value::Object(a), Value::Object(b)] = &fields else {
        return rules.map(|rule| format!("{rule:?}"));
    };
    [(a, b), (b, a)].map(|(own, other)| {
        let own = own.iter().filter(|(name, value)| other.get(*name) != Some(value));
        own.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
    })
}

fn alike_groups(saved: &OptimizerConfig, running: &OptimizerConfig) -> bool {
    let mut groups = saved.groups().iter().zip(running.groups());
    saved.groups().len() == running.groups().len()
        && groups.all(|(saved, running)| {
            saved.parameters == running.parameters && alike(&saved.rule, &running.rule)
        })
}

/// Checks the saved learning rates, which come from a file.
fn rates(name: &str, saved: &OptimizerConfig) -> Result<(), Mismatch> {
    let checked: Result<Vec<()>, _> = saved.rules().map(UpdateRule::validate).collect();
    checked.map(|_| ()).map_err(|error| Mismatch::Invalid {
        what: format!("the rule of optimizer `{name}`"),
        why: error.to_string(),
    })
}
