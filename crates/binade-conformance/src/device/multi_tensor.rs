//! Calls of [`MultiTensor`], for subjects whose handle has it.

use crate::{Result, SubjectError};
use binade_core::{Checked, DType, FoundInf, MultiTensor, Named, Norm, Overflow};
use binade_grad_scaler::{ScaleState, ScaleStore};

/// Call of a method of [`MultiTensor`] on one set of tensors, `x`, or on two.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SetCall {
    /// `scale_all` by this factor.
    Scale(f32),
    /// `axpby` with these factors of `x` and `y`.
    Axpby(f32, f32),
    /// `norms`: the norm of all tensors together, and of each tensor.
    Norms(Norm),
    /// `cast_all` to these types.
    Cast(Vec<DType>),
    /// `assign` of `y` to `x`, with a found-inf result that is raised or not.
    Assign {
        /// True if the found-inf result is raised.
        is_raised: bool,
    },
}

/// Result of a [`SetCall`].
#[derive(Clone, Debug)]
pub struct SetResult<T> {
    /// Tensors that the call returned, in the order of the set. The norm of all tensors comes before the norm of each.
    pub tensors: Vec<Named<T>>,
    /// Found-inf result, if the call returns one.
    pub found: Option<FoundInf>,
}

/// Makes a call of the handle's [`MultiTensor`] and returns its result, for [`Subject::multi_tensor`](crate::Subject::multi_tensor).
///
/// # Errors
///
/// The device's.
pub fn multi_tensor<D>(
    device: &D,
    call: &SetCall,
    x: &[Named<D::Tensor>],
    y: &[Named<D::Tensor>],
) -> Result<SetResult<D::Tensor>>
where
    D: MultiTensor<Tensor: Clone> + ScaleStore,
{
    let tensors = match call {
        SetCall::Scale(factor) => return checked(device, device.scale_all(*factor, x)?),
        SetCall::Axpby(a, b) => return checked(device, device.axpby((*a, x), (*b, y))?),
        SetCall::Norms(norm) => {
            let norms = device.norms(x, *norm)?;
            [vec![Named::new("all", norms.all)], norms.each].concat()
        }
        SetCall::Cast(to) => device.cast_all(x, to)?,
        SetCall::Assign { is_raised } => {
            let overflow = Overflow {
                parameter: "w".into(),
                index: 0,
                rank: None,
                scaled: f32::INFINITY,
                unscaled: f32::INFINITY,
            };
            let finding =
                FoundInf { overflow: is_raised.then_some(overflow), ..FoundInf::default() };
            let mut to = x.to_vec();
            device.assign(&mut to, y, &device.upload_found(&finding)?)?;
            to
        }
    };
    Ok(SetResult { tensors, found: None })
}

fn checked<D: MultiTensor + ScaleStore>(
    device: &D,
    (tensors, found): Checked<D>,
) -> Result<SetResult<D::Tensor>> {
    let scale = device.upload_state(ScaleState::from_exponent(0))?;
    let found = super::read(device, &found, &scale)?;
    Ok::<_, SubjectError>(SetResult { tensors, found: Some(found) })
}
