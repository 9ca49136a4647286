//! Mistakes of a training loop that no type can refuse.

use crate::{Error, ErrorKind};

/// Mistake in the use of a loss scaler that compiles.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OrderError {
    /// Update of one scaler by a step whose loss another has scaled.
    #[error(
        "{} holds gradients of a loss that another scaler has scaled, whose scale this update would not move: give it to the \
         `Scaler::update` of that scaler, or use `Scaler::update_each` for a step made of several scalers' gradients",
        quoted(step)
    )]
    OtherScaler {
        /// Name of the step; empty if it has none.
        step: String,
    },
    /// Second update for losses that were scaled before the last one.
    #[error(
        "{} holds gradients of losses that were all scaled before the last `Scaler::update`, which has ended their iteration: \
         join the steps of one iteration with `.and()` and update once, and scale the next iteration's losses after it",
        quoted(step)
    )]
    SecondUpdate {
        /// Name of the step; empty if it has none.
        step: String,
    },
    /// Step that was dropped before an update took it.
    #[error(
        "step {update}{} never reached `Scaler::update`, so that the scale has not moved by what it found and nobody has heard \
         whether it was skipped: give every step to `update`, or call `abandon` on it; this is told once, and the next call goes on",
        in_brackets(step)
    )]
    NeverUpdated {
        /// Name of the step; empty if it has none.
        step: String,
        /// Number of the update that it was due for, from 1 since the scaler was made.
        update: u64,
    },
    /// Window of accumulation whose sum was lost by an error while a micro-batch was added.
    #[error(
        "micro-batch {micro_batch} could not be added, and the sum before it is lost: begin the window again with `Scaler::accumulate`"
    )]
    LostWindow {
        /// Place of the micro-batch that failed, from 0.
        micro_batch: usize,
    },
    /// A backward pass whose gradients do not grow with the scale of the loss it is given.
    #[error(
        "backward does not differentiate the scaled loss: the largest |gradient| is {small:e} for a loss times 1 and {large:e} \
         for a loss times {factor}; {}",
        advice(*small, *large)
    )]
    BackwardIgnoresScale {
        /// Largest finite |gradient| of the loss times 1; if none but 0 is finite, the first that is not.
        small: f32,
        /// Largest finite |gradient| of the loss times `factor`, with the same exception.
        large: f32,
        /// Factor by which it should be larger.
        factor: f32,
    },
}

impl Error for OrderError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::OtherScaler { .. }
            | Self::SecondUpdate { .. }
            | Self::NeverUpdated { .. }
            | Self::LostWindow { .. } => ErrorKind::Mismatch,
            Self::BackwardIgnoresScale { .. } => ErrorKind::InvalidArgument,
        }
    }
}

fn quoted(step: &str) -> String {
    match step {
        "" => "the step".into(),
        name => format!("the step `{name}`"),
    }
}

fn in_brackets(step: &str) -> String {
    if step.is_empty() { String::new() } else { format!(" (`{step}`)") }
}

fn advice(small: f32, large: f32) -> &'static str {
    if !small.is_finite() {
        "gradients are not finite before they are scaled: look at the loss and at the parameters' values"
    } else if small == 0.0 && large == 0.0 {
        "no gradient came that is not 0: check with a loss that has some, and with the parameters that it depends on"
    } else {
        "start the backward pass from the tensor that the closure is given, and multiply by the scale nowhere else"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_that_are_all_zero_are_told_apart_from_gradients_that_ignore_the_scale() {
        let of = |small, large| {
            OrderError::BackwardIgnoresScale { small, large, factor: 256.0 }.to_string()
        };
        assert!(of(0.0, 0.0).contains("no gradient came that is not 0"), "{}", of(0.0, 0.0));
        assert!(of(f32::NAN, 0.0).contains("is NaN for a loss times 1"), "{}", of(f32::NAN, 0.0));
        for bad in [f32::NAN, f32::INFINITY] {
            assert!(of(bad, bad).contains("not finite before they are scaled"), "{}", of(bad, bad));
        }
        for (small, large) in [(0.5, 0.5), (0.0, 0.5), (0.5, 0.0)] {
            let text = of(small, large);
            assert!(text.contains("tensor that the closure is given"), "{text}");
        }
    }
}
