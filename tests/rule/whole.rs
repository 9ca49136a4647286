//! Update rules that step by norms of whole tensors, with everything in them that a step may read.

use binade_master_weights::{GradNorm, Lamb, Lars, NovoGrad, UpdateRule};

/// Returns each rule that steps by norms of whole tensors, in both of its modes, and LAMB in two more. Each `eps` is large
/// enough to be seen.
pub(crate) fn whole_rules() -> [UpdateRule; 8] {
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
        eps: 0.1,
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
        eps: 0.5,
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
        UpdateRule::Lamb(Lamb { lr: 0.003, eps: 0.01, adam_w_mode: false, ..lamb }),
        UpdateRule::Lamb(Lamb { weight_decay: 0.0, ..lamb }),
    ]
}
