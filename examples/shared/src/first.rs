//! First values of parameters.

/// Returns weights uniform within √(6 / inputs) (He et al. 2015, arXiv 1502.01852), biases 0, gains of normalisations 1.
///
/// The name tells the kind of a parameter: a bias ends in `bias`, a gain begins with `norm`. The first dimension of a weight is
/// its outputs.
pub fn values(name: &str, shape: &[usize], random: &mut fastrand::Rng) -> Vec<f32> {
    let count = shape.iter().product();
    match name {
        _ if name.ends_with("bias") => vec![0.0; count],
        _ if name.starts_with("norm") => vec![1.0; count],
        _ => {
            let inputs: usize = shape[1..].iter().product();
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            let limit = (6.0 / inputs as f32).sqrt();
            (0..count).map(|_| (2.0 * random.f32() - 1.0) * limit).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn a_seed_fixes_weights_within_their_limit_and_names_fix_the_rest() {
        let draw = |seed| values("a.weight", &[5, 6], &mut fastrand::Rng::with_seed(seed));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!(draw(1).iter().all(|x| x.abs() <= 1.0), "√(6 / 6)");
        assert_eq!(values("a.bias", &[2], &mut fastrand::Rng::with_seed(1)), [0.0; 2]);
        assert_eq!(values("norm0.weight", &[2], &mut fastrand::Rng::with_seed(1)), [1.0; 2]);
    }
}
