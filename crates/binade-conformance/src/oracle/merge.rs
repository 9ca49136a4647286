//! Two findings joined, in the words of [`ScaleStore`](binade_grad_scaler::ScaleStore).

use super::unscale::Found;
use binade_grad_scaler::Join;

/// What joining `from` into `into` makes of the two. Which gradients are missing stays with the parts.
pub fn merge(into: &Found, from: &Found, join: Join) -> Found {
    let overflowed = match join {
        Join::Any => into.first.is_some() || from.first.is_some(),
        Join::All => into.first.is_some() && from.first.is_some(),
    };
    // "Keeps the place of the first overflow; a joined finding that did not overflow names none."
    let first = if into.first.is_some() { &into.first } else { &from.first };
    Found {
        first: first.clone().filter(|_| overflowed),
        infinities: into.infinities + from.infinities,
        nans: into.nans + from.nans,
        magnitude: if into.magnitude > from.magnitude { into.magnitude } else { from.magnitude },
        missing: Vec::new(),
    }
}
