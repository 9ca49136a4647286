//! Arithmetic on sets of tensors.

use crate::gradients::{Measured, inspect, multiplied, supported};
use crate::scaler::add;
use crate::{Cpu, Error, Gradients, Tensor, reduce};
use binade_core::{
    Checked, DType, FoundInf, MultiTensor, Named, Norm, Norms, check_same_set, check_types,
};
use binade_master_weights::step::Factor;

type Set = Vec<Named<Tensor>>;

impl MultiTensor for Cpu {
    fn scale_all(&self, factor: f32, tensors: &[Named<Tensor>]) -> Result<Checked<Self>, Error> {
        checked(times(factor, tensors)?)
    }

    fn axpby(
        &self,
        (a, x): (f32, &[Named<Tensor>]),
        (b, y): (f32, &[Named<Tensor>]),
    ) -> Result<Checked<Self>, Error> {
        check_same_set(x, y, |tensor| Some(tensor.shape()))?;
        let mut sums = times(a, x)?;
        for (sum, term) in sums.iter_mut().zip(y) {
            add(&mut sum.value, &term.value, factor_of(b))?;
        }
        checked(sums)
    }

    fn norms(&self, tensors: &[Named<Tensor>], norm: Norm) -> Result<Norms<Tensor>, Error> {
        let (mut all, mut each) = (Measured::default(), Vec::new());
        for tensor in tensors {
            let (_, measured) = inspect(&as_gradients(std::slice::from_ref(tensor)), 1.0)?;
            all.join(measured);
            each.push(Named::new(tensor.name.clone(), scalar(measured, norm)));
        }
        Ok(Norms { all: scalar(all, norm), each })
    }

    fn cast_all(&self, tensors: &[Named<Tensor>], to: &[DType]) -> Result<Set, Error> {
        check_types(tensors, to)?;
        let one = |(tensor, dtype): (&Named<Tensor>, &DType)| {
            Ok(Named::new(tensor.name.clone(), tensor.value.cast(*dtype)?))
        };
        tensors.iter().zip(to).map(one).collect()
    }

    fn assign(
        &self,
        to: &mut [Named<Tensor>],
        from: &[Named<Tensor>],
        unless: &FoundInf,
    ) -> Result<(), Error> {
        check_same_set(to, from, |tensor| Some(tensor.shape()))?;
        for tensor in to.iter() {
            if tensor.value.dtype() != DType::F32 {
                let (what, dtype) = ("assign to a tensor of", tensor.value.dtype());
                return Err(Error::Unsupported { what, dtype });
            }
        }
        let copies = times(1.0, from)?;
        if !unless.is_raised() {
            to.iter_mut().zip(copies).for_each(|(to, copy)| to.value = copy.value);
        }
        Ok(())
    }
}

fn factor_of(factor: f32) -> Factor {
    Factor { inverse: factor, ..Factor::ONE }
}

/// Returns `factor * tensor` for each tensor, in `f32`.
fn times(factor: f32, tensors: &[Named<Tensor>]) -> Result<Set, Error> {
    let one = |tensor: &Named<Tensor>| {
        supported(&tensor.value, "scale tensors of")?;
        Ok(Named::new(tensor.name.clone(), multiplied(&tensor.value, factor_of(factor))?))
    };
    tensors.iter().map(one).collect()
}

fn as_gradients(tensors: &[Named<Tensor>]) -> Gradients {
    let entry =
        |tensor: &Named<Tensor>| Named::new(tensor.name.clone(), Some(tensor.value.clone()));
    tensors.iter().map(entry).collect::<Vec<_>>().into()
}

fn checked(tensors: Set) -> Result<Checked<Cpu>, Error> {
    let (found, _) = inspect(&as_gradients(&tensors), 1.0)?;
    Ok((tensors, found))
}

fn scalar(measured: Measured, norm: Norm) -> Tensor {
    Tensor::scalar(reduce::round(measured.norm(norm)))
}
