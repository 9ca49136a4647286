//! Arithmetic on sets of host tensors.

use crate::{
    AmpTensor, Checked, DType, FoundInf, HostDevice, HostDeviceError, MatchError, MultiTensor,
    Named, Norm, Norms, TrainError, check_same_set, check_types,
};

type Result<V, T> = std::result::Result<V, HostDeviceError<<T as AmpTensor>::Error>>;

/// [`AmpTensor::from_f32`] creates the scalars of norms; a tensor without that method has no norms.
impl<T: AmpTensor> MultiTensor for HostDevice<T> {
    fn scale_all(&self, factor: f32, tensors: &[Named<T>]) -> Result<Checked<Self>, T> {
        let mut found = FoundInf::default();
        let one = |tensor: &Named<T>| {
            let mut product = tensor.value.cast(DType::F32)?;
            product.map_f32(&mut |index, x| noted(&mut found, &tensor.name, index, factor * x));
            Ok(Named::new(tensor.name.clone(), product))
        };
        Ok((tensors.iter().map(one).collect::<Result<_, T>>()?, found))
    }

    fn axpby(
        &self,
        (a, x): (f32, &[Named<T>]),
        (b, y): (f32, &[Named<T>]),
    ) -> Result<Checked<Self>, T> {
        check_same::<T>(x, y)?;
        let mut found = FoundInf::default();
        let one = |(x, y): (&Named<T>, &Named<T>)| {
            let (mut sum, terms) = (x.value.cast(DType::F32)?, elements(&y.value)?);
            sum.map_f32(&mut |index, x_i| {
                let term = terms.get(index).copied().unwrap_or(f32::NAN);
                noted(&mut found, &x.name, index, a * x_i + b * term)
            });
            Ok(Named::new(x.name.clone(), sum))
        };
        Ok((x.iter().zip(y).map(one).collect::<Result<_, T>>()?, found))
    }

    fn norms(&self, tensors: &[Named<T>], norm: Norm) -> Result<Norms<T>, T> {
        let mut all = 0.0;
        let mut each = Vec::new();
        for tensor in tensors {
            let sum = elements(&tensor.value)?.into_iter().fold(0.0, |sum, x| joined(norm, sum, x));
            each.push(Named::new(tensor.name.clone(), scalar(root(norm, sum))?));
            all = if norm == Norm::L2 { all + sum } else { larger(all, sum) };
        }
        Ok(Norms { all: scalar(root(norm, all))?, each })
    }

    fn cast_all(&self, tensors: &[Named<T>], to: &[DType]) -> Result<Vec<Named<T>>, T> {
        check_types(tensors, to).map_err(mismatch::<T>)?;
        let one = |(tensor, dtype): (&Named<T>, &DType)| {
            Ok(Named::new(tensor.name.clone(), tensor.value.cast(*dtype)?))
        };
        tensors.iter().zip(to).map(one).collect()
    }

    fn assign(&self, to: &mut [Named<T>], from: &[Named<T>], unless: &FoundInf) -> Result<(), T> {
        check_same::<T>(to, from)?;
        if let Some(other) = to.iter().find(|tensor| tensor.value.dtype() != DType::F32) {
            let why = "elements are assigned to tensors of f32 alone: cast it to f32 before";
            return Err(HostDeviceError::Mismatch { parameter: other.name.clone(), why });
        }
        if unless.is_raised() {
            return Ok(());
        }
        let copies = from.iter().map(|tensor| Ok(tensor.value.cast(DType::F32)?));
        let copies = copies.collect::<Result<Vec<_>, T>>()?;
        to.iter_mut().zip(copies).for_each(|(to, copy)| to.value = copy);
        Ok(())
    }
}

/// Adds a result to the finding, and returns it.
fn noted(found: &mut FoundInf, name: &std::sync::Arc<str>, index: usize, result: f32) -> f32 {
    found.check(name, index as u64, result, result);
    result
}

/// Checks names, shapes where tensors tell them, and numbers of elements.
fn check_same<T: AmpTensor>(x: &[Named<T>], y: &[Named<T>]) -> Result<(), T> {
    check_same_set(x, y, |_| None).map_err(mismatch::<T>)?;
    for (x, y) in x.iter().zip(y) {
        HostDeviceError::same_shapes(&x.name, &y.value, &x.value)?;
        if elements(&x.value)?.len() != elements(&y.value)?.len() {
            let why = "two tensors of one name must have the same number of elements";
            return Err(HostDeviceError::Mismatch { parameter: x.name.clone(), why });
        }
    }
    Ok(())
}

fn mismatch<T: AmpTensor>(MatchError { parameter, why }: MatchError) -> HostDeviceError<T::Error> {
    HostDeviceError::Mismatch { parameter, why }
}

fn elements<T: AmpTensor>(tensor: &T) -> Result<Vec<f32>, T> {
    let (mut wide, mut elements) = (tensor.cast(DType::F32)?, Vec::new());
    wide.map_f32(&mut |_, x| {
        elements.push(x);
        x
    });
    Ok(elements)
}

/// Returns the larger, or NaN where one is.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

fn joined(norm: Norm, sum: f64, x: f32) -> f64 {
    let x = f64::from(x);
    if norm == Norm::L2 { x * x + sum } else { larger(sum, x.abs()) }
}

fn root(norm: Norm, sum: f64) -> f64 {
    if norm == Norm::L2 { sum.sqrt() } else { sum }
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn scalar<T: AmpTensor>(norm: f64) -> Result<T, T> {
    let missing = || TrainError::unsupported::<HostDevice<T>>("MultiTensor::norms");
    T::from_f32(&[norm as f32], &[]).ok_or_else(|| HostDeviceError::Train(missing()))
}
