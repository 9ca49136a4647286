//! Interface of the shared host code to one GPU API.

use crate::{Buffer, DriverError, Error, Memory, Pool, Tensor, check_length, memory::is_alone};
use binade_autocast::Autocast;
use binade_core::{DType, Names, cast::OnOverflow, stochastic::Key};
use binade_master_weights::UpdateRule;
use std::{
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

/// Result of a call on driver `D`.
pub type Result<T, D> = std::result::Result<T, Error<<D as Driver>::Failure>>;

/// Buffer of driver `D`.
pub type BufferOf<D> = Buffer<<D as Driver>::Memory>;

/// Rounding of a cast.
#[derive(Clone, Copy, Debug)]
pub enum Rounding {
    /// To nearest even.
    Nearest(OnOverflow),
    /// Stochastic, by the random words of a key.
    Stochastic(Key),
}

/// Device handle of one GPU API: memory, copies, and kernels. A clone refers to the same device.
///
/// # For implementers
///
/// * Everything that is asked for runs in the order of the calls; only [`read_bytes`](Self::read_bytes) waits for the device.
/// * After a failure that the device does not recover from, every call gives that first error.
pub trait Driver:
    Autocast<Tensor = Tensor<Self>, Error = Error<Self::Failure>>
    + Clone
    + fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// Name of the backend in the output of `Debug`, such as `cuda`.
    const NAME: &'static str;

    /// Returns true if the driver has a kernel for the rule.
    fn steps_by(rule: &UpdateRule) -> bool {
        !matches!(rule, UpdateRule::Custom(_))
    }

    /// Returns true if the rule's kernel keeps moments in bf16.
    fn takes_bf16_state(_rule: &UpdateRule) -> bool {
        false
    }

    /// Type of an allocation.
    type Memory: Memory;

    /// Errors that only this driver has.
    type Failure: DriverError;

    /// Returns the pool of idle memory.
    fn pool(&self) -> &Arc<Pool<Self::Memory>>;

    /// Returns the numbers that identify parameters in kernels.
    fn names(&self) -> &Names;

    /// Returns an uninitialised buffer.
    ///
    /// # Errors
    ///
    /// Returns an error if the device has too little memory, or has failed.
    fn buffer(&self, bytes: usize) -> Result<BufferOf<Self>, Self>;

    /// Returns a buffer with these contents.
    ///
    /// # Errors
    ///
    /// As for [`buffer`](Self::buffer).
    fn buffer_of(&self, bytes: &[u8]) -> Result<BufferOf<Self>, Self>;

    /// Returns a buffer of zeros.
    ///
    /// # Errors
    ///
    /// As for [`buffer`](Self::buffer).
    fn zeros(&self, bytes: usize) -> Result<BufferOf<Self>, Self>;

    /// Returns a tensor of zeros. A zero has the same bits in every type.
    ///
    /// # Errors
    ///
    /// As for [`buffer`](Self::buffer).
    fn zeros_tensor(&self, dtype: DType, shape: &[usize]) -> Result<Tensor<Self>, Self>;

    /// Returns a copy of a whole buffer.
    ///
    /// # Errors
    ///
    /// As for [`buffer`](Self::buffer).
    fn copy(&self, from: &BufferOf<Self>) -> Result<BufferOf<Self>, Self>;

    /// Returns a buffer of `bytes` bytes that begins with the contents of `from` and ends in zeros. `bytes` is at least the size of `from`.
    ///
    /// # Errors
    ///
    /// As for [`buffer`](Self::buffer).
    fn grown(&self, from: &BufferOf<Self>, bytes: usize) -> Result<BufferOf<Self>, Self>;

    /// Returns a copy, with another or the same element type, in its own memory.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    fn converted(
        &self,
        tensor: &Tensor<Self>,
        to: DType,
        rounding: Rounding,
    ) -> Result<Tensor<Self>, Self>;

    /// Returns a copy of a tensor in its own memory.
    ///
    /// # Errors
    ///
    /// As for [`buffer`](Self::buffer).
    fn copy_tensor(&self, tensor: &Tensor<Self>) -> Result<Tensor<Self>, Self>;

    /// Waits for these bytes of a buffer and returns them.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails, or if an operation met an index outside its table since the last read.
    fn read_bytes(&self, from: &BufferOf<Self>, bytes: Range<usize>) -> Result<Vec<u8>, Self>;

    /// Returns the bytes of a tensor of this type and shape.
    ///
    /// # Errors
    ///
    /// Returns an error if the device has no tensors of this size.
    fn tensor_bytes(&self, dtype: DType, shape: &[usize]) -> Result<usize, Self>;

    /// Returns the buffer of factors for gradients without pending factors.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn unit_factors(&self) -> Result<&Arc<BufferOf<Self>>, Self>;

    /// Checks that no captured step has the buffer's address, so that its memory may be replaced.
    ///
    /// # Errors
    ///
    /// Returns an error if a captured step has the address.
    fn check_movable(&self, _buffer: &BufferOf<Self>) -> Result<(), Self> {
        Ok(())
    }

    /// Returns false for memory that another program has lent read-only.
    fn is_writable(&self, _buffer: &BufferOf<Self>) -> bool {
        true
    }

    /// Checks that no other program has lent the buffer's memory, out of which a parameter would move: that program would keep the old values.
    ///
    /// # Errors
    ///
    /// Returns an error if another program has lent the memory.
    fn check_owned(&self, _buffer: &BufferOf<Self>) -> Result<(), Self> {
        Ok(())
    }

    /// Replaces a tensor's value by one of the same type and shape. Memory lent by another program is overwritten; otherwise the tensor takes the
    /// memory of `value`.
    ///
    /// # Errors
    ///
    /// Returns an error if another program has lent the memory read-only, or if the device fails.
    fn replace(&self, tensor: &mut Tensor<Self>, value: Tensor<Self>) -> Result<(), Self> {
        *tensor = value;
        Ok(())
    }

    /// Records in the current capture that `buffer` is written in place, so that a replay needs it unshared.
    fn writes(&self, _buffer: &Arc<BufferOf<Self>>) {}

    /// Makes a parameter's memory unshared, since the step's kernels write to it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`own_tensor`](Self::own_tensor), and those of [`check_owned`](Self::check_owned) if the parameter would move.
    fn own_parameter(&self, tensor: &mut Tensor<Self>) -> Result<(), Self> {
        if !self.may_write(tensor) {
            self.check_owned(&tensor.buffer)?;
        }
        self.own_tensor(tensor)
    }

    /// Makes a tensor's memory unshared before a write. It copies the elements if the memory is shared, or lent read-only.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Foreign`] for another handle's tensor, and an error if the device fails.
    fn own_tensor(&self, tensor: &mut Tensor<Self>) -> Result<(), Self> {
        self.check_owner(&tensor.buffer)?;
        if !self.may_write(tensor) {
            self.check_movable(&tensor.buffer)?;
            *tensor = self.copy_tensor(tensor)?;
        }
        self.writes(&tensor.buffer);
        Ok(())
    }

    /// Returns true if a tensor can be written in place.
    fn may_write(&self, tensor: &Tensor<Self>) -> bool {
        is_alone(&tensor.buffer) && self.is_writable(&tensor.buffer)
    }

    /// Checks that the buffer belongs to this handle. Work of different handles is not ordered.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Foreign`] for the buffer of another handle.
    fn check_owner(&self, buffer: &BufferOf<Self>) -> Result<(), Self> {
        if buffer.is_from(self.pool()) { Ok(()) } else { Err(Error::Foreign) }
    }

    /// Checks that all operands belong to this handle.
    ///
    /// # Errors
    ///
    /// As for [`check_owner`](Self::check_owner).
    fn check_owners(&self, operands: &[&Tensor<Self>]) -> Result<(), Self> {
        operands.iter().try_for_each(|operand| self.check_owner(operand.buffer()))
    }

    /// Returns an uninitialised tensor.
    ///
    /// # Errors
    ///
    /// Returns an error if the device has too little memory.
    fn unset(&self, dtype: DType, shape: &[usize]) -> Result<Tensor<Self>, Self> {
        let bytes = self.tensor_bytes(dtype, shape)?;
        Ok(Tensor::filling(self.buffer(bytes)?, dtype, shape))
    }

    /// Returns a tensor from the little-endian bytes of its elements.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Length`] if their number does not fit `shape`, and an error if the device has too little memory.
    fn tensor_of(&self, bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor<Self>, Self> {
        check_length::<Self>("bytes", bytes.len(), shape, dtype.bytes())?;
        self.tensor_bytes(dtype, shape)?;
        Ok(Tensor::filling(self.buffer_of(bytes)?, dtype, shape))
    }

    /// Waits for the device and returns the little-endian bytes of the elements, in row-major order.
    ///
    /// # Errors
    ///
    /// The errors of [`read_bytes`](Self::read_bytes).
    fn bits_of(&self, tensor: &Tensor<Self>) -> Result<Vec<u8>, Self> {
        self.read_bytes(tensor.buffer(), tensor.range())
    }

    /// Returns a small buffer for writing. A shared buffer is copied first, so that other owners keep the old contents.
    ///
    /// # Errors
    ///
    /// As for [`check_owner`](Self::check_owner), [`check_movable`](Self::check_movable) and [`copy`](Self::copy).
    fn own<'b>(&self, buffer: &'b mut Arc<BufferOf<Self>>) -> Result<&'b BufferOf<Self>, Self> {
        self.check_owner(buffer)?;
        if !is_alone(buffer) {
            self.check_movable(buffer)?;
            *buffer = Arc::new(self.copy(buffer)?);
        }
        Ok(buffer)
    }
}

/// Returns the value of `cell`, and makes it on first use.
///
/// # Errors
///
/// As for `make`.
pub fn made_once<T, E>(
    cell: &OnceLock<T>,
    make: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<&T, E> {
    match cell.get() {
        Some(value) => Ok(value),
        None => make().map(|value| cell.get_or_init(|| value)),
    }
}
