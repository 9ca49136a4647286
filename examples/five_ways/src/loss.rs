//! Loss by hand, for the ways without autograd.

use binade_example_shared::data::CLASSES;

/// Returns the mean cross-entropy of a batch, and the gradient of `scale` times it with respect to the logits.
pub(crate) fn cross_entropy(logits: &[f32], labels: &[i64], scale: f32) -> (f32, Vec<f32>) {
    #[expect(clippy::cast_precision_loss, reason = "a few dozen images")]
    let images = labels.len() as f32;
    let mut loss = 0.0;
    let mut towards = Vec::new();
    for (row, &label) in logits.chunks_exact(CLASSES).zip(labels) {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = row.iter().map(|x| (x - most).exp()).sum();
        for (class, x) in row.iter().enumerate() {
            let is_label = i64::try_from(class) == Ok(label);
            let share = (x - most).exp() / sum;
            loss += if is_label { sum.ln() - (x - most) } else { 0.0 };
            towards.push((share - f32::from(is_label)) / images * scale);
        }
    }
    (loss / images, towards)
}
