//! Learning rate by epoch and step, as in `main_amp`.

/// Epochs of the warm-up.
const WARM_UP: u64 = 5;

/// Returns the learning rate of a step, counted from 1 in its epoch, which is counted from 0 and has `len` steps: `peak`, a tenth of it
/// from epoch 30 on, a hundredth from 60, a thousandth from 80; in the first five epochs a part of it that grows in a line.
#[expect(clippy::cast_precision_loss, reason = "a few million steps")]
pub fn rate(peak: f64, epoch: u64, step: u64, len: u64) -> f64 {
    let tenths = i32::try_from(epoch / 30).unwrap_or(i32::MAX) + i32::from(epoch >= 80);
    let rate = peak * 0.1_f64.powi(tenths);
    if epoch >= WARM_UP {
        return rate;
    }
    // main_amp adds 1 to a step that it has counted from 1: the last step of the warm-up is a step beyond the peak.
    rate * (1 + step + epoch * len) as f64 / (WARM_UP * len) as f64
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn the_rate_rises_for_five_epochs_and_falls_after_thirty_sixty_and_eighty() {
        assert_eq!(rate(1.0, 0, 1, 10), 2.0 / 50.0);
        assert_eq!(rate(1.0, 4, 9, 10), 1.0);
        assert_eq!(rate(1.0, 4, 10, 10), 51.0 / 50.0);
        let later = [5, 29, 30, 59, 60, 79, 80, 89].map(|epoch| rate(1.0, epoch, 7, 10));
        let told = [1.0, 1.0, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001];
        assert!(later.iter().zip(told).all(|(a, b)| (a - b).abs() <= 1e-12), "{later:?}");
    }
}
