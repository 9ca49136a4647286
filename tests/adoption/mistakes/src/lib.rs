//! The mistakes that the compiler refuses, each beside the right way. The others are told while the program runs.
//!
//! Every snippet begins with [`start`], which gives a scaler, an optimizer and a loss of 1.
#![forbid(unsafe_code)]

use binade_grad_scaler::core::{
    AmpTensor, DType, FoundInf, HostDevice, HostDeviceError, Named, Optimizer,
};
use binade_grad_scaler::{LossScale, Scaler};
use std::convert::Infallible;

/// One number.
#[derive(Clone, Debug)]
pub struct Mine(pub f32);

impl AmpTensor for Mine {
    type Error = Infallible;
    fn dtype(&self) -> DType {
        DType::F32
    }
    fn cast(&self, _: DType) -> Result<Self, Infallible> {
        Ok(self.clone())
    }
    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        self.0 = f(0, self.0);
    }
}

/// Gradients of one weight.
pub type Grads = Vec<Named<Option<Mine>>>;
/// The error of every function here.
pub type Failure = HostDeviceError<Infallible>;

/// Gradient descent on one weight.
#[derive(Debug)]
pub struct Descent(pub f32);

impl Optimizer<Grads, FoundInf> for Descent {
    type Error = Failure;
    fn step(&mut self, grads: Grads, found: &FoundInf) -> Result<(), Failure> {
        if !found.is_raised() {
            grads.into_iter().flat_map(|grad| grad.value).for_each(|grad| self.0 -= 0.1 * grad.0);
        }
        Ok(())
    }
}

/// A scaler, an optimizer and a loss.
///
/// # Errors
///
/// Never, on this device.
pub fn start() -> Result<(Scaler<HostDevice<Mine>>, Descent, Mine), Failure> {
    Ok((Scaler::new(HostDevice::new(), LossScale::dynamic())?, Descent(1.0), Mine(1.0)))
}

/// The gradient that the weight gets from a scaled loss.
///
/// # Errors
///
/// Never, on this device.
pub fn back(scaled: &Mine) -> Result<Grads, Failure> {
    Ok(vec![Named::new("weight", Some(scaled.clone()))])
}

/// The right way, which compiles and runs.
///
/// ```
/// use binade_adoption_mistakes::*;
///
/// let (mut scaler, mut descent, loss) = start()?;
/// let grads = scaler.scale(&loss)?.backward(back)?;
/// let step = grads.unscale()?.clip_norm(1.0)?.step(&mut descent)?;
/// assert!(scaler.update(step)?.resolve()?.is_applied());
/// # Ok::<(), Failure>(())
/// ```
///
/// # 1. `unscale` is forgotten
///
/// ```compile_fail
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let grads = scaler.scale(&loss)?.backward(back)?;
/// let step = grads.step(&mut descent)?;
/// # scaler.update(step)?.resolve()?.into_applied().unwrap();
/// # Ok::<(), Failure>(())
/// ```
///
/// # 2. The norm is clipped before `unscale`
///
/// ```compile_fail
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let grads = scaler.scale(&loss)?.backward(back)?.clip_norm(1.0)?.unscale()?;
/// let step = grads.step(&mut descent)?;
/// # scaler.update(step)?.resolve()?.into_applied().unwrap();
/// # Ok::<(), Failure>(())
/// ```
///
/// # 3. One set of gradients steps twice
///
/// ```compile_fail
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let grads = scaler.scale(&loss)?.backward(back)?.unscale()?;
/// let step = grads.step(&mut descent)?;
/// let again = grads.step(&mut descent)?;
/// # scaler.update(step)?.resolve()?.into_applied().unwrap();
/// # Ok::<(), Failure>(())
/// ```
///
/// # 5. `update` is forgotten, and the step is bound to no name: an error under `deny(unused_must_use)`
///
/// ```compile_fail
/// # #![deny(unused_must_use)]
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let grads = scaler.scale(&loss)?.backward(back)?.unscale()?;
/// grads.step(&mut descent)?;
/// # Ok::<(), Failure>(())
/// ```
///
/// # 7. `resolve` is forgotten: an error under `deny(unused_must_use)`
///
/// ```compile_fail
/// # #![deny(unused_must_use)]
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let step = scaler.scale(&loss)?.backward(back)?.unscale()?.step(&mut descent)?;
/// scaler.update(step)?;
/// # Ok::<(), Failure>(())
/// ```
///
/// # 8. The resolved step is dropped: an error under `deny(unused_must_use)`
///
/// ```compile_fail
/// # #![deny(unused_must_use)]
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let step = scaler.scale(&loss)?.backward(back)?.unscale()?.step(&mut descent)?;
/// scaler.update(step)?.resolve()?;
/// # Ok::<(), Failure>(())
/// ```
///
/// # 11. torch's way with two optimizers, an `update` without a step
///
/// ```compile_fail
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let step = scaler.scale(&loss)?.backward(back)?.unscale()?.step(&mut descent)?;
/// scaler.update()?;
/// # Ok::<(), Failure>(())
/// ```
///
/// # 12. The loss is scaled by value
///
/// ```compile_fail
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let grads = scaler.scale(loss)?.backward(back)?;
/// # Ok::<(), Failure>(())
/// ```
///
/// # 14. torch's names
///
/// ```compile_fail
/// # use binade_adoption_mistakes::*;
/// # let (mut scaler, mut descent, loss) = start()?;
/// let grads = scaler.scale(&loss)?.backward(back)?;
/// scaler.unscale_(&mut descent)?;
/// # Ok::<(), Failure>(())
/// ```
#[derive(Debug)]
pub struct RefusedByTheCompiler;
