//! CUDA as a driver of the shared host code.

use crate::{
    AdoptError, CaptureError, Cuda, CudaError, Error, Tensor,
    capture::Reservation,
    faults::FaultCopy,
    kernels::{self, CAST, CAST_STOCHASTIC},
    launch::{Grid, args, code},
    memory::{Buffer, Memory, Pool, view, view_mut},
};
use binade_core::ops::shape;
use binade_core::{DType, Names, cast::OnOverflow, stochastic::Key};
use binade_gpu::{Driver, Rounding};
use binade_master_weights::UpdateRule;
use std::{any::Any, ops::Range, sync::Arc};

impl Driver for Cuda {
    const NAME: &'static str = "cuda";

    fn steps_by(rule: &UpdateRule) -> bool {
        !matches!(rule, UpdateRule::Custom(_)) || kernels::is_added(rule)
    }

    /// LAMB moves its moments in the pass that measures, and its step must not see them rounded.
    fn takes_bf16_state(rule: &UpdateRule) -> bool {
        !matches!(rule, UpdateRule::Lamb(_))
    }

    type Memory = Memory;
    type Failure = CudaError;

    fn pool(&self) -> &Arc<Pool> {
        &self.inner.pool
    }

    fn names(&self) -> &Names {
        &self.inner.names
    }

    fn buffer(&self, bytes: usize) -> Result<Buffer, Error> {
        self.check_alive()?;
        let rounded = self.rounded(bytes)?;
        let (pool, made) = (&self.inner.pool, || self.made(rounded));
        let memory = match pool.state.serve(rounded)? {
            Reservation::Here(memory) => memory,
            Reservation::Make(arena, run) => arena.adopt(made()?, run),
            Reservation::Elsewhere => pool.take(rounded, |_| true).map_or_else(made, Ok)?,
        };
        Ok(Buffer::new(memory, bytes, pool.clone()))
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Buffer, Error> {
        self.inner.pool.state.refuse("upload", CaptureError::Upload { bytes: bytes.len() })?;
        let buffer = self.buffer(bytes.len())?;
        self.put(bytes, &buffer, 0)?;
        Ok(buffer)
    }

    fn zeros(&self, bytes: usize) -> Result<Buffer, Error> {
        let mut buffer = self.buffer(bytes)?;
        let at = buffer.address();
        if let (1.., Some(mut view)) = (bytes, view_mut(&mut buffer)) {
            let words = || vec![at, bytes as u64];
            self.enqueue("memset", words, |stream| stream.memset_zeros(&mut view))?;
        }
        Ok(buffer)
    }

    fn copy(&self, from: &Buffer) -> Result<Buffer, Error> {
        self.copy_part(from, 0..from.bytes())
    }

    fn grown(&self, from: &Buffer, bytes: usize) -> Result<Buffer, Error> {
        self.check_owner(from)?;
        let mut to = self.zeros(bytes)?;
        let words = vec![from.address(), to.address(), from.bytes() as u64];
        if let (1.., Some(from), Some(mut to)) =
            (from.bytes(), view(from, 0..from.bytes()), view_mut(&mut to))
        {
            self.enqueue("copy", || words, |stream| stream.memcpy_dtod(&from, &mut to))?;
            self.inner.counters.copies.add(1);
        }
        Ok(to)
    }

    fn converted(&self, tensor: &Tensor, to: DType, rounding: Rounding) -> Result<Tensor, Error> {
        self.check_owner(tensor.buffer())?;
        let (from_code, to_code) = (code("cast", tensor.dtype())?, code("cast to", to)?);
        let result = self.unset(to, tensor.shape())?;
        let saturates = matches!(rounding, Rounding::Nearest(OnOverflow::Saturate));
        let saturates = u32::from(saturates);
        let args = args![tensor, from_code, &result, to_code, tensor.len(), saturates];
        let (kernel, args) = match rounding {
            Rounding::Stochastic(Key { seed, step, parameter }) => {
                (CAST_STOCHASTIC, [&args[..], &args![seed, step, parameter]].concat())
            }
            Rounding::Nearest(_) => (CAST, args.to_vec()),
        };
        self.launch(kernel, Grid::elementwise(tensor.len()), &args)?;
        Ok(result)
    }

    fn copy_tensor(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        // Its own elements only: many may be slices of one large buffer.
        let buffer = self.copy_part(tensor.buffer(), tensor.range())?;
        Ok(Tensor::filling(buffer, tensor.dtype(), tensor.shape()))
    }

    fn read_bytes(&self, from: &Buffer, bytes: Range<usize>) -> Result<Vec<u8>, Error> {
        self.check_alive()?;
        self.reads("download")?;
        self.check_owner(from)?;
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = self.clone_of(from, bytes)?;
        let fault = self.noted(|record| self.clone_of(record, 0..record.bytes()))?;
        self.synchronize()?;
        if let Some(FaultCopy { copy, reported }) = fault {
            self.report_fault(&FaultCopy { copy: bytemuck::pod_read_unaligned(&copy), reported })?;
        }
        Ok(bytes)
    }

    fn tensor_bytes(&self, dtype: DType, shape: &[usize]) -> Result<usize, Error> {
        let too_large = || CudaError::TooLarge { what: "a tensor", sizes: shape.to_vec() };
        Ok(shape::size(shape, dtype.bytes()).ok_or_else(too_large)?)
    }

    fn zeros_tensor(&self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        let bytes = self.tensor_bytes(dtype, shape)?;
        Ok(Tensor::filling(self.zeros(bytes)?, dtype, shape))
    }

    fn unit_factors(&self) -> Result<&Arc<Buffer>, Error> {
        Ok(&self.shared_buffers()?.unit_factors)
    }

    fn check_movable(&self, buffer: &Buffer) -> Result<(), Error> {
        self.inner.pool.state.check_movable("copy", buffer.memory())
    }

    fn is_writable(&self, buffer: &Buffer) -> bool {
        buffer.memory().lender().is_none_or(|lender| lender.is_writable)
    }

    fn check_owned(&self, buffer: &Buffer) -> Result<(), Error> {
        match buffer.memory().lender() {
            Some(lender) if lender.is_writable => Err(AdoptError::Moved.of("step")),
            Some(_) => Err(AdoptError::ReadOnly.of("step")),
            None => Ok(()),
        }
    }

    fn writes(&self, buffer: &Arc<Buffer>) {
        let shared: Arc<dyn Any + Send + Sync> = buffer.clone();
        self.inner.pool.state.replayed(|replay| replay.sole.push(Arc::downgrade(&shared)));
    }

    fn replace(&self, tensor: &mut Tensor, value: Tensor) -> Result<(), Error> {
        if tensor.buffer().memory().lender().is_none() {
            *tensor = value;
            return Ok(());
        }
        self.copy_into(&value, tensor)
    }
}
