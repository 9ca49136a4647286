//! Rules, parameters and gradients of the tests of steps.

use binade_master_weights::{Adam, Sgd, UpdateRule};

/// Every way that SGD is told apart.
pub(crate) fn descents() -> Vec<Sgd> {
    let plain = Sgd { lr: 0.1, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    let momentum = Sgd { momentum: 0.9, ..plain };
    vec![
        plain,
        Sgd { weight_decay: 0.01, ..plain },
        momentum,
        Sgd { dampening: 0.3, ..momentum },
        Sgd { nesterov: true, ..momentum },
        Sgd { dampening: 0.1, weight_decay: 0.05, ..momentum },
        Sgd { weight_decay: 0.05, nesterov: true, ..momentum },
    ]
}

/// Adam rules, one for each of its variants.
pub(crate) fn adams() -> Vec<Adam> {
    let plain = Adam {
        lr: 0.01,
        betas: [0.9, 0.999],
        eps: 1e-8,
        weight_decay: 0.0,
        decoupled: false,
        amsgrad: false,
    };
    vec![
        plain,
        Adam { betas: [0.3, 0.6], ..plain },
        Adam { weight_decay: 0.01, ..plain },
        Adam { amsgrad: true, ..plain },
        Adam { weight_decay: 0.05, decoupled: true, ..plain },
        Adam { weight_decay: 0.05, decoupled: true, amsgrad: true, ..plain },
    ]
}

/// Rules of both kinds.
pub(crate) fn rules() -> Vec<UpdateRule> {
    let sgd = descents().into_iter().map(UpdateRule::Sgd);
    sgd.chain(adams().into_iter().map(UpdateRule::Adam)).collect()
}
