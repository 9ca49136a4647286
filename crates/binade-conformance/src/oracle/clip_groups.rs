//! Clipping by groups: each group as if it were all there is.

use super::clip;
use super::norm::norm;
use super::unscale::{Found, Grads};
use binade_grad_scaler::ClipGroup;

/// Unscaled gradients, clipped, and what a norm that is not finite adds to what unscaling found.
pub fn clip_groups(
    grads: Grads<'_>,
    groups: &[ClipGroup],
    mut found: Found,
) -> (Vec<Option<Vec<f64>>>, Found) {
    let (names, mut values): (Vec<&str>, Vec<_>) = grads.into_iter().unzip();
    for group in groups {
        let of_group = |name: &str| group.parameters.iter().any(|parameter| parameter == name);
        let own: Vec<usize> = (0..names.len()).filter(|place| of_group(names[*place])).collect();
        let members: Vec<_> = own.iter().map(|place| values[*place].clone()).collect();
        let norm = norm(group.norm, &members);
        let factor = clip::factor(norm, group.max);
        for place in own {
            let grad = values[place].iter_mut().flatten();
            grad.for_each(|x| *x = clip::by_norm(*x, factor));
        }
        found.first = found.first.or_else(|| not_finite(group, norm));
    }
    (values, found)
}

/// What a norm that is not finite as `f32` goes by: "norm of the group of" its first parameter.
fn not_finite(group: &ClipGroup, norm: f64) -> Option<(String, u64, f64, f64)> {
    let norm = super::cast::rounded(norm, binade_core::DType::F32);
    let first = group.parameters.first()?;
    let name = format!("norm of the group of `{first}`");
    (!norm.is_finite()).then_some((name, 0, norm, norm))
}
