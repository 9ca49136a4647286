//! Implementation of the shared host code's `Driver` by wgpu.

use crate::{
    Error, Tensor, Wgpu, WgpuError,
    memory::{Allocation, Buffer, Pool},
};
use binade_core::ops::{Fill, shape};
use binade_core::{DType, Names, cast::OnOverflow};
use binade_gpu::{Driver, Rounding};
use std::{ops::Range, sync::Arc};

/// Maximal number of elements of a tensor, since shaders index in 32 bits.
const MOST_ELEMENTS: usize = u32::MAX as usize;

impl Driver for Wgpu {
    const NAME: &'static str = "wgpu";
    type Memory = Allocation;
    type Failure = WgpuError;

    fn names(&self) -> &Names {
        &self.inner.names
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.inner.pool
    }

    fn buffer(&self, bytes: usize) -> Result<Buffer, Error> {
        self.buffer_for(bytes, |_| true)
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Buffer, Error> {
        let buffer =
            self.buffer_for(bytes.len(), |memory| memory.is_unused_by(&self.inner.pool.state))?;
        let whole = bytes.len() / 4 * 4;
        let (words, rest) = bytes.split_at(whole);
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        self.inner.counters.uploaded_bytes.add(bytes.len());
        self.scoped("upload", || {
            self.inner.queue.write_buffer(&buffer.memory().buffer, 0, words);
            if !rest.is_empty() {
                self.inner.queue.write_buffer(&buffer.memory().buffer, whole as u64, &last);
            }
        })?;
        Ok(buffer)
    }

    fn zeros(&self, bytes: usize) -> Result<Buffer, Error> {
        self.buffer_of(&vec![0; bytes])
    }

    /// Copies whole words.
    fn copy(&self, from: &Buffer) -> Result<Buffer, Error> {
        let to = self.buffer(from.bytes())?;
        self.copy_to(from, &to, 0, from.bytes().next_multiple_of(4))?;
        Ok(to)
    }

    fn grown(&self, from: &Buffer, bytes: usize) -> Result<Buffer, Error> {
        let to = self.zeros(bytes)?;
        self.copy_to(from, &to, 0, from.bytes())?;
        Ok(to)
    }

    fn converted(&self, tensor: &Tensor, to: DType, rounding: Rounding) -> Result<Tensor, Error> {
        self.check_owner(tensor.buffer())?;
        let result = self.unset(to, tensor.shape())?;
        self.cast_into(tensor, &result, rounding)?;
        Ok(result)
    }

    fn copy_tensor(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        self.converted(tensor, tensor.dtype(), Rounding::Nearest(OnOverflow::NonFinite))
    }

    fn read_bytes(&self, from: &Buffer, bytes: Range<usize>) -> Result<Vec<u8>, Error> {
        self.check_owner(from)?;
        if bytes.is_empty() {
            self.inner.health.check()?;
            return Ok(Vec::new());
        }
        let sent = self.send(from, bytes)?;
        let noted = self.send_faults()?;
        self.ask(&sent)?;
        self.report_fault(noted.as_ref())?;
        self.receive(&sent)
    }

    fn tensor_bytes(&self, dtype: DType, shape: &[usize]) -> Result<usize, Error> {
        Ok(tensor_bytes(dtype, shape, self.facts().most_buffer_bytes)?)
    }

    fn zeros_tensor(&self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        self.fill(0.0, shape, dtype)
    }

    fn own_parameter(&self, tensor: &mut Tensor) -> Result<(), Error> {
        // A shader that writes takes whole words from a binding's start on.
        if tensor.range().start != 0 {
            *tensor = self.copy_tensor(tensor)?;
        }
        self.own_tensor(tensor)
    }

    fn unit_factors(&self) -> Result<&Arc<Buffer>, Error> {
        Ok(&self.fixed()?.unit_factors)
    }
}

/// Bytes of a tensor, at most `most` and at most what shaders count.
fn tensor_bytes(dtype: DType, shape: &[usize], most: u64) -> Result<usize, WgpuError> {
    let most_counted = MOST_ELEMENTS.saturating_mul(dtype.bytes());
    let bytes = shape::size(shape, dtype.bytes()).unwrap_or(usize::MAX);
    let most = most.min(most_counted as u64);
    if bytes as u64 > most { Err(WgpuError::TooLarge { bytes, most }) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_has_no_more_elements_than_shaders_count_and_no_more_bytes_than_a_buffer() {
        let most = u32::MAX as usize;
        let of = |dtype, shape: &[usize], most| tensor_bytes(dtype, shape, most).ok();
        assert_eq!(of(DType::BF16, &[most], u64::MAX), Some(2 * most));
        assert_eq!(of(DType::BF16, &[1 << 16, 1 << 16], u64::MAX), None);
        assert_eq!(of(DType::F32, &[2, 3], 24), Some(24));
        assert_eq!(of(DType::F32, &[2, 3], 23), None);
        assert_eq!(of(DType::F32, &[1 << 33, 1 << 31], u64::MAX), None, "nothing wraps");
        assert_eq!(of(DType::F32, &[0, 3], u64::MAX), Some(0));
    }
}
