//! Update rules that the tests of several crates step by, with everything in them that a step may read.

use super::{rule::warm_rmsprop, whole::whole_rules};
use binade_master_weights::{Adagrad, Adam, Lion, Sgd, UpdateRule};

/// Returns each elementwise rule: SGD without and with momentum, Adam, `AdamW`, `AMSGrad`, Adagrad, Lion, a rule of a program's own, and
/// SGD with Nesterov's momentum.
pub(crate) fn rules() -> [UpdateRule; 9] {
    let momentum =
        Sgd { lr: 0.1, momentum: 0.9, dampening: 0.25, weight_decay: 0.01, nesterov: false };
    let amsgrad = Adam {
        lr: 0.01,
        betas: [0.4, 0.99],
        eps: 1e-6,
        weight_decay: 0.1,
        decoupled: false,
        amsgrad: true,
        sparse: false,
    };
    let adagrad = Adagrad {
        lr: 0.1,
        lr_decay: 0.5,
        weight_decay: 0.01,
        initial_accumulator_value: 0.1,
        eps: 1e-10,
    };
    [
        UpdateRule::sgd(0.1),
        UpdateRule::Sgd(momentum),
        UpdateRule::adam(0.01),
        UpdateRule::adamw(0.01),
        UpdateRule::Adam(amsgrad),
        UpdateRule::Adagrad(adagrad),
        UpdateRule::Lion(Lion { lr: 0.01, betas: [0.9, 0.99], weight_decay: 0.1 }),
        warm_rmsprop(),
        UpdateRule::Sgd(Sgd { dampening: 0.0, nesterov: true, ..momentum }),
    ]
}

/// Returns every rule, those that step whole tensors among them.
pub(crate) fn all_rules() -> Vec<UpdateRule> {
    rules().into_iter().chain(whole_rules()).collect()
}
