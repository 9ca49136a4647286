//! Comparison of a saved configuration with the run's.

use crate::Mismatch;
use binade_master_weights::{OptimizerConfig, UpdateRule};

/// Checks that both configurations have the same rules but for learning rates, which a schedule moves, for the same parameters in the same
/// storage.
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
        let (found, expected) = (format!("{:?}", saved.rule()), format!("{:?}", running.rule()));
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

fn alike_groups(saved: &OptimizerConfig, running: &OptimizerConfig) -> bool {
    let mut groups = saved.groups().iter().zip(running.groups());
    saved.groups().len() == running.groups().len()
        && groups.all(|(saved, running)| {
            saved.parameters == running.parameters && alike(&saved.rule, &running.rule)
        })
}

/// Checks the saved rates, which come from a file.
fn rates(name: &str, saved: &OptimizerConfig) -> Result<(), Mismatch> {
    let checked: Result<Vec<()>, _> = saved.rules().map(UpdateRule::validate).collect();
    checked.map(|_| ()).map_err(|error| Mismatch::Invalid {
        what: format!("the rule of optimizer `{name}`"),
        why: error.to_string(),
    })
}
