//! First values of parameters.

/// Returns weights uniform within √(6 / inputs) (He et al. 2015, arXiv 1502.01852), biases 0, gains of normalisations 1.
///
/// The name tells the kind of a parameter: a bias ends in `bias`, a gain has `norm` in it. The first dimension of a weight is
/// its outputs.
pub fn values(name: &str, shape: &[usize], random: &mut fastrand::Rng) -> Vec<f32> {
    let count = shape.iter().product();
    match name {
        _ if name.ends_with("bias") => vec![0.0; count],
        _ if name.contains("norm") => vec![1.0; count],
        _ => {
            let inputs: usize = shape[1..].iter().product();
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            let limit = (6.0 / inputs as f32).sqrt();
            (0..count).map(|_| (2.0 * random.f32() - 1.0) * limit).collect()
        }
    }
}
