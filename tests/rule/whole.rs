//! Update rules that the tests of several crates step by, with everything in them that a step may read.

use super::rule::warm_rmsprop;
use binade_master_weights::{Adagrad, Adam, GradNorm, Lamb, Lars, Lion, NovoGrad, Sgd, UpdateRule};

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

/// Returns each rule that steps by norms of whole tensors, in both of its modes.
pub(crate) fn whole_rules() -> [UpdateRule; 6] {
    let (betas, weight_decay) = ([0.9, 0.99], 0.1);
    let lamb = Lamb {
        lr: 0.01,
        betas,
        eps: 1e-6,
        weight_decay,
        bias_correction: true,
        adam_w_mode: true,
        grad_averaging: true,
        max_grad_norm: 1.0,
        use_nvlamb: false,
    };
    let novograd = NovoGrad {
        lr: 0.02,
        betas,
        eps: 1e-8,
        weight_decay,
        bias_correction: true,
        reg_inside_moment: false,
        grad_averaging: true,
        norm: GradNorm::L2,
        init_zero: false,
    };
    let larc = Lars {
        lr: 0.1,
        momentum: 0.9,
        dampening: 0.1,
        weight_decay,
        nesterov: false,
        trust_coefficient: 0.02,
        clip: true,
        eps: 1e-8,
    };
    [
        UpdateRule::Lamb(lamb),
        UpdateRule::Lamb(Lamb {
            weight_decay: 0.0,
            bias_correction: false,
            adam_w_mode: false,
            grad_averaging: false,
            max_grad_norm: 0.0,
            use_nvlamb: true,
            ..lamb
        }),
        UpdateRule::NovoGrad(novograd),
        UpdateRule::NovoGrad(NovoGrad {
            bias_correction: false,
            reg_inside_moment: true,
            grad_averaging: false,
            norm: GradNorm::Max,
            init_zero: true,
            ..novograd
        }),
        UpdateRule::Lars(larc),
        UpdateRule::Lars(Lars { dampening: 0.0, nesterov: true, clip: false, ..larc }),
    ]
}
