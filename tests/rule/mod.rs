//! Update rule of the tests' own, as a program makes one: torch's `RMSprop` with momentum, behind a warm-up.

use binade_master_weights::{CustomRule, ElementState, UpdateRule};

pub(crate) struct WarmRmsProp;

impl CustomRule for WarmRmsProp {
    const NAME: &'static str = "warm_rmsprop";
    const HYPER_PARAMETERS: &'static [&'static str] =
        &["lr", "alpha", "eps", "momentum", "warm_up"];
    const MOMENTS: &'static [&'static str] = &["square_avg", "momentum_buffer"];

    fn initial(_: &[f64]) -> [f32; 3] {
        [1.0, 0.0, 0.0]
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "rounding is the point"
    )]
    fn constants(hyper: &[f64], applied: u64) -> [f32; 9] {
        let &[lr, alpha, eps, momentum, warm_up] = hyper else { unreachable!("five numbers") };
        let rate = lr * ((applied + 1) as f64 / warm_up).min(1.0);
        [-rate, alpha, 1.0 - alpha, eps, momentum, 0.0, 0.0, 0.0, 0.0].map(|x| x as f32)
    }

    fn element(
        &[rate, alpha, share, eps, momentum, ..]: &[f32; 9],
        grad: f32,
        ElementState { param, moments: [square, buffer, _] }: &mut ElementState,
    ) -> bool {
        *square = *square * alpha + share * grad * grad;
        *buffer = *buffer * momentum + grad / (square.sqrt() + eps);
        let change = rate * *buffer;
        *param += change;
        change != 0.0
    }
}

/// Returns the rule with a warm-up of two steps.
pub(crate) fn warm_rmsprop() -> UpdateRule {
    WarmRmsProp::rule([0.05, 0.9, 1e-6, 0.5, 2.0])
}
