//! Case 18: a whole run. In tt-metal#54371, a loss went from 2.5 to 10 while all unit tests passed.

use crate::common::{Mlp, Result, step, trained};
use binade_burn::Burn;
use binade_core::DType;
use binade_grad_scaler::{LossScale, Scaler};
use burn::optim::AdamWConfig;

/// Losses of 200 steps from `start`.
fn losses(start: &Mlp, dtype: DType, rule: LossScale) -> Result<Vec<f32>> {
    let mut trained = trained(start.clone(), dtype, AdamWConfig::new().init(), 1e-2)?;
    let mut scaler = Scaler::new(Burn, rule)?;
    let mut losses = Vec::new();
    for _ in 0..200 {
        let loss = trained.module.loss();
        losses.push(loss.clone().into_scalar::<f32>());
        step(&mut scaler, &mut trained, loss)?.unless_diverged()?;
    }
    Ok(losses)
}

/// Case 18. From step twenty on, the loss averaged over ten steps is within 15 % of that of f32, or within 0.005 if that is more.
#[test]
fn two_hundred_steps_in_sixteen_bits_keep_to_the_losses_of_f32() -> Result {
    let start = Mlp::new();
    let wanted = losses(&start, DType::F32, LossScale::none())?;
    assert!(wanted[199] < wanted[0] / 10.0, "f32 does not learn: {wanted:?}");
    for (dtype, rule) in [(DType::BF16, LossScale::none()), (DType::F16, LossScale::dynamic())] {
        let got = losses(&start, dtype, rule)?;
        for (at, (got, wanted)) in got.chunks(10).zip(wanted.chunks(10)).enumerate().skip(2) {
            let [got, wanted] = [got, wanted].map(|losses| losses.iter().sum::<f32>() / 10.0);
            assert!(
                (got - wanted).abs() <= (0.15 * wanted).max(0.005),
                "{dtype}, {at}: {got} {wanted}"
            );
        }
    }
    Ok(())
}
