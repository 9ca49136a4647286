//! Average over all places of an image.

use super::Outcome;
use binade::core::DType;
use binade_example_shared::program::Trains;
use binade_tape::Var;

/// Returns the average over the places of `x` [N, C, H, W] by image and channel: [N, C].
pub(super) fn global_average<D: Trains>(x: &Var<D>) -> Outcome<D> {
    let shape = x.shape();
    let [images, channels, places] = [shape[0], shape[1], shape[2] * shape[3]];
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let tensor = x.tape().device().fill(1.0 / places as f32, &[1, places], DType::F32)?;
    let weight = x.tape().constant(tensor).cast(x.dtype())?;
    let rows = x.reshape(&[images * channels, places])?;
    rows.linear(&weight, None)?.reshape(&[images, channels])
}
