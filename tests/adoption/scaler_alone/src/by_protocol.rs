//! torch's protocol, with its stages checked at run time.

use crate::{descend, gradient};
use binade_interchange::protocol::{ProtocolError, ProtocolScaler, StateDict, Verdict};

/// The weights after `steps` iterations, skipped ones among them.
///
/// # Errors
///
/// When calls are out of order.
pub fn train(steps: usize) -> Result<Vec<f32>, ProtocolError> {
    let mut weights = vec![0.0; 2];
    // glue: loop
    let mut scaler = ProtocolScaler::new(StateDict::default())?;
    let sgd = 0;
    // end of glue
    for _ in 0..steps {
        // glue: loop
        let seed = scaler.scale(1.0_f32)?;
        // end of glue
        let mut grad = gradient(&weights, seed);
        // glue: loop
        if scaler.step(sgd, &mut [Some(&mut grad[..])])? == Verdict::Apply {
            descend(&mut weights, &grad);
        }
        scaler.update()?;
        // end of glue
    }
    Ok(weights)
}
