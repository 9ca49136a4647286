//! Values that have no gradient, and are not cast.

use crate::support::{Result, gpu, kind, vector};
use binade_autocast::Autocast;
use binade_core::{DType, ErrorKind, Named};
use binade_grad_scaler::{GradScaler, ScaleState, ScaleStore};
use binade_ops::Upload;

crate::tests![integers_have_no_gradient_and_are_not_cast];

fn integers_have_no_gradient_and_are_not_cast() -> Result {
    let gpu = gpu();
    let labels = gpu.upload_i64(&[0], &[1])?;
    let scale = gpu.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = vec![Named::new("labels", Some(labels))].into();
    assert_eq!(kind(gpu.unscale(&mut grads, &scale)), ErrorKind::Unsupported);
    let floats = vector(&gpu, &[1.0], DType::F32);
    for to in [DType::I64, DType::U8, DType::F64] {
        assert_eq!(kind(gpu.cast(&floats, to)), ErrorKind::Unsupported);
    }
    let labels = gpu.upload_i64(&[1, -2], &[2])?;
    assert_eq!(kind(gpu.cast(&labels, DType::F32)), ErrorKind::Unsupported);
    Ok(())
}
