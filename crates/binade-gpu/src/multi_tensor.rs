//! Arithmetic on sets of tensors, by the kernels of gradients where a backend has no kernel of its own for it.

use crate::{
    BufferOf, Driver, Found, FoundBits, Gpu, Gradients, Kernels, OwedBits, Result, Rounding, Tensor,
};
use binade_core::cast::OnOverflow;
use binade_core::{
    Checked, DType, FoundInf, MultiTensor, Named, Norm, Norms, check_same_set, check_types,
};
use binade_grad_scaler::{ScaleState, ScaleStore};
use std::{mem::offset_of, sync::Arc};

/// A set of tensors and the number that it is multiplied by.
#[derive(Debug)]
pub struct Term<'a, D: Driver> {
    /// The number.
    pub factor: f32,
    /// The tensors.
    pub tensors: &'a [Named<Tensor<D>>],
}

/// `f32` tensors, and the finding of the pass that computed them.
pub type Computed<D> = (Vec<Named<Tensor<D>>>, BufferOf<D>);

/// A driver with the passes of [`MultiTensor`]. The provided ones are made of several passes of [`Kernels`].
///
/// Every method fails where the device does, and with [`Unsupported`](crate::Error::Unsupported) for an element type without
/// kernels.
#[expect(clippy::missing_errors_doc, reason = "said of all of them above")]
pub trait MultiTensorKernels: Kernels {
    /// Returns `x.factor * x`, plus `y.factor * y` where there is a `y`, whose shapes are those of `x`.
    fn run_axpby(
        &self,
        x: &Term<'_, Self>,
        y: Option<&Term<'_, Self>>,
    ) -> Result<Computed<Self>, Self> {
        let results = owed(self, x)?.apply_factors(self, f32::INFINITY)?;
        if let Some(y) = y {
            let begun = vec![1_u32; results.entries.len()];
            let present = Some(Arc::new(self.buffer_of(bytemuck::cast_slice(&begun))?));
            let finite = Found::upload(self, &FoundInf::default())?;
            self.run_sum(&Gradients { present, ..results.clone() }, &owed(self, y)?, &finite.bits)?;
        }
        let one = unit_scale(self)?;
        let [found, _] = self.run_unscale(&results, &one)?;
        let tensor = |entry: Named<Option<_>>| Some(Named::new(entry.name, entry.value?));
        Ok((results.entries.into_iter().filter_map(tensor).collect(), found))
    }

    /// Returns the norm of all elements together and of each tensor.
    fn run_norms(
        &self,
        tensors: &[Named<Tensor<Self>>],
        norm: Norm,
    ) -> Result<Norms<Tensor<Self>>, Self> {
        let one = unit_scale(self)?;
        let measured = |tensors: &[Named<Tensor<Self>>]| -> Result<Tensor<Self>, Self> {
            let [found, sizes] = self.run_unscale(&unowed(tensors), &one)?;
            self.run_clip(&found, &sizes, norm, f32::INFINITY)?;
            let offset = offset_of!(FoundBits, norm);
            Ok(Tensor::within(Arc::new(found), offset, DType::F32, &[]))
        };
        let each = |tensor: &Named<Tensor<Self>>| {
            Ok(Named::new(tensor.name.clone(), measured(std::slice::from_ref(tensor))?))
        };
        Ok(Norms {
            all: measured(tensors)?,
            each: tensors.iter().map(each).collect::<Result<_, Self>>()?,
        })
    }

    /// Returns copies in these element types, one for each tensor.
    fn run_cast_all(
        &self,
        tensors: &[Named<Tensor<Self>>],
        to: &[DType],
    ) -> Result<Vec<Named<Tensor<Self>>>, Self> {
        let one = |(tensor, dtype): (&Named<Tensor<Self>>, &DType)| {
            let rounding = Rounding::Nearest(OnOverflow::NonFinite);
            let copy = self.converted(&tensor.value, *dtype, rounding)?;
            Ok(Named::new(tensor.name.clone(), copy))
        };
        tensors.iter().zip(to).map(one).collect()
    }
}

impl<D: MultiTensorKernels> MultiTensor for Gpu<'_, D> {
    fn scale_all(&self, factor: f32, tensors: &[Named<Tensor<D>>]) -> Result<Checked<Self>, D> {
        check_owners(self.0, tensors)?;
        Ok(checked(self.0.run_axpby(&Term { factor, tensors }, None)?))
    }

    fn axpby(
        &self,
        x: (f32, &[Named<Tensor<D>>]),
        y: (f32, &[Named<Tensor<D>>]),
    ) -> Result<Checked<Self>, D> {
        let [x, y] = [x, y].map(|(factor, tensors)| Term { factor, tensors });
        check_same(self.0, x.tensors, y.tensors)?;
        Ok(checked(self.0.run_axpby(&x, Some(&y))?))
    }

    fn norms(&self, tensors: &[Named<Tensor<D>>], norm: Norm) -> Result<Norms<Tensor<D>>, D> {
        check_owners(self.0, tensors)?;
        self.0.run_norms(tensors, norm)
    }

    fn cast_all(
        &self,
        tensors: &[Named<Tensor<D>>],
        to: &[DType],
    ) -> Result<Vec<Named<Tensor<D>>>, D> {
        check_types(tensors, to)?;
        check_owners(self.0, tensors)?;
        self.0.run_cast_all(tensors, to)
    }

    /// Adds `from` to sums that have not begun, so that each sum becomes the tensor that is added, unless the finding is raised.
    fn assign(
        &self,
        to: &mut [Named<Tensor<D>>],
        from: &[Named<Tensor<D>>],
        unless: &Found<D>,
    ) -> Result<(), D> {
        let device = self.0;
        check_same(device, to, from)?;
        device.check_owner(&unless.bits)?;
        for tensor in to.iter() {
            if tensor.value.dtype() != DType::F32 {
                let (what, dtype) = ("assign to a tensor of", tensor.value.dtype());
                return Err(crate::Error::Unsupported { what, dtype });
            }
        }
        for tensor in from {
            crate::trained::<D>("assign tensors of", tensor.value.dtype())?;
        }
        to.iter_mut().try_for_each(|tensor| device.own_tensor(&mut tensor.value))?;
        let present = Some(Arc::new(device.zeros(size_of::<u32>() * to.len())?));
        let begins = Gradients { present, ..unowed(to) };
        device.run_sum(&begins, &unowed(from), &unless.bits)
    }
}

/// Returns the tensors as gradients with nothing left to multiply.
fn unowed<D: Driver>(tensors: &[Named<Tensor<D>>]) -> Gradients<D> {
    let entry =
        |tensor: &Named<Tensor<D>>| Named::new(tensor.name.clone(), Some(tensor.value.clone()));
    Gradients::from(tensors.iter().map(entry).collect::<Vec<_>>())
}

/// Returns the tensors as gradients that are still to be multiplied by the factor.
fn owed<D: Driver>(device: &D, term: &Term<'_, D>) -> Result<Gradients<D>, D> {
    let factors = OwedBits { inverse: term.factor, ..OwedBits::NOTHING };
    let owed = Some(Arc::new(device.buffer_of(bytemuck::bytes_of(&factors))?));
    Ok(Gradients { owed, ..unowed(term.tensors) })
}

fn unit_scale<D: Kernels>(device: &D) -> Result<Arc<BufferOf<D>>, D> {
    Ok(Gpu(device).upload_state(ScaleState::from_exponent(0))?.bits)
}

fn checked<D: Kernels>((tensors, found): Computed<D>) -> Checked<Gpu<'static, D>> {
    let found = Found::of(found, &unowed(&tensors));
    (tensors, found)
}

fn check_owners<D: Driver>(device: &D, tensors: &[Named<Tensor<D>>]) -> Result<(), D> {
    tensors.iter().try_for_each(|tensor| device.check_owner(tensor.value.buffer()))
}

fn check_same<D: Driver>(
    device: &D,
    x: &[Named<Tensor<D>>],
    y: &[Named<Tensor<D>>],
) -> Result<(), D> {
    check_owners(device, x)?;
    check_owners(device, y)?;
    Ok(check_same_set(x, y, |tensor| Some(tensor.shape()))?)
}
