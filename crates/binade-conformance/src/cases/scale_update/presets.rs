//! Every preset, from its own start, through what an iteration may see.

use super::{Saw, one};
use crate::cases::values::Draw;
use crate::{Backend, Cases, Verdict};
use binade_grad_scaler::LossScale;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for (name, preset) in LossScale::presets() {
        let sentence = format!("{}_moves_as_documented", name.replace('-', "_"));
        cases.add("-", &sentence, move |s: &S, check| -> Verdict {
            let mut quick = preset;
            quick.growth_interval = 3;
            for (seed, rule) in [preset, quick].into_iter().enumerate() {
                let (mut draw, mut state) = (Draw::new(seed), rule.start());
                for number in 0..80_u16 {
                    let magnitude = 0.01 * f32::from(number);
                    state = one(s, check, &rule, state, &Saw::any(&mut draw).with(magnitude))?;
                    // Divergence would freeze the rest.
                    state.diverged = false;
                }
            }
            Ok(())
        });
    }
}
