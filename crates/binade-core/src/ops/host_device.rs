//! Shapes, uploads and downloads of host tensors, by the methods of [`AmpTensor`].

use crate::ops::{Download, Shaped, Upload, shape::element_count};
use crate::{AmpTensor, DType, HostDevice, HostDeviceError, TrainError};

/// A tensor without a shape has one axis.
impl<T: AmpTensor> Shaped for HostDevice<T> {
    fn shape(&self, tensor: &T) -> Vec<usize> {
        // A tensor must cast to its own type; otherwise its download is an error.
        tensor
            .shape()
            .unwrap_or_else(|| vec![elements(tensor).map_or(0, |elements| elements.len())])
    }
}

/// Takes [`AmpTensor::from_f32`]. Types without it are refused, and so are integers.
impl<T: AmpTensor> Upload for HostDevice<T> {
    fn upload(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<T, HostDeviceError<T::Error>> {
        if values.len() != element_count(shape) {
            return Err(HostDeviceError::Mismatch { parameter: "upload".into(), why: COUNT });
        }
        let unsupported = TrainError::unsupported::<T>("AmpTensor::from_f32");
        let tensor = T::from_f32(values, shape).ok_or(HostDeviceError::Train(unsupported))?;
        Ok(if dtype == DType::F32 { tensor } else { tensor.cast(dtype)? })
    }

    fn upload_i64(&self, _: &[i64], _: &[usize]) -> Result<T, HostDeviceError<T::Error>> {
        Err(HostDeviceError::Train(TrainError::unsupported::<Self>("Upload::upload_i64")))
    }

    /// Writes to a copy of `place`, without [`AmpTensor::from_f32`].
    fn upload_to(
        &self,
        place: &mut T,
        values: &[f32],
        _: &[usize],
        dtype: DType,
    ) -> Result<(), HostDeviceError<T::Error>> {
        let (mut new, mut count) = (place.cast(dtype)?, 0);
        new.map_f32(&mut |index, x| {
            count = index + 1;
            values.get(index).copied().unwrap_or(x)
        });
        if count != values.len() {
            return Err(HostDeviceError::Mismatch { parameter: "upload_to".into(), why: COUNT });
        }
        *place = new;
        Ok(())
    }
}

impl<T: AmpTensor> Download for HostDevice<T> {
    fn download(&self, tensor: &T) -> Result<Vec<f32>, HostDeviceError<T::Error>> {
        Ok(elements(tensor)?)
    }
}

const COUNT: &str = "the values are more or fewer than the shape has elements; give as many";

/// Returns the elements, read from a cast, which copies: a clone may share them, and an autograd would see a write to them.
fn elements<T: AmpTensor>(tensor: &T) -> Result<Vec<f32>, T::Error> {
    let mut elements = Vec::new();
    tensor.cast(DType::F32)?.whole().map_f32(&mut |_, x| {
        elements.push(x);
        x
    });
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error as _, ErrorKind, HostTensor};

    #[test]
    fn values_come_back_from_a_tensor_and_from_the_place_of_one() {
        let device = HostDevice::<HostTensor>::new();
        let values = [1.0 / 3.0, -0.0, 1e9];
        let tensor = device.upload(&values, &[3], DType::F32).unwrap();
        assert_eq!(device.shape(&tensor), [3]);
        assert_eq!(
            device.download(&tensor).unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            values.map(f32::to_bits)
        );
        let low = device.upload(&values, &[3], DType::F16).unwrap();
        assert_eq!(device.download(&low).unwrap(), [0.333_251_95, 0.0, f32::INFINITY]);
        let mut place = low.clone();
        device.upload_to(&mut place, &[1.0, 2.0, 3.0], &[3], DType::F16).unwrap();
        assert_eq!(place.dtype(), DType::F16);
        assert_eq!(device.download(&place).unwrap(), [1.0, 2.0, 3.0]);
        assert_eq!(device.download(&low).unwrap()[2], f32::INFINITY);
    }

    #[test]
    fn a_number_of_values_that_is_not_the_shapes_is_refused() {
        let device = HostDevice::<HostTensor>::new();
        let error = device.upload(&[1.0], &[2], DType::F32).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        for values in [&[1.0][..], &[1.0; 3]] {
            let mut place = HostTensor::from(vec![5.0, 6.0]);
            let error = device.upload_to(&mut place, values, &[2], DType::F32).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            assert_eq!(place.to_f32(), [5.0, 6.0]);
        }
    }
}
