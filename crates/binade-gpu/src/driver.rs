//! The interface to one GPU API that the shared host code is written against.

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

/// A buffer of driver `D`.
pub type BufferOf<D> = Buffer<<D as Driver>::Memory>;

/// How a cast rounds.
#[derive(Clone, Copy, Debug)]
pub enum Rounding {
    /// To nearest even.
    Nearest(OnOverflow),
    /// Up or down by the random words of a key.
    Stochastic(Key),
}

/// A device handle of one GPU API: memory, copies, and kernels. A clone is the same device.
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
    /// The backend's name in the output of `Debug`: `cuda`.
    const NAME: &'static str;

    /// Returns true if there is a kernel of the rule.
    fn steps_by(rule: &UpdateRule) -> bool {
        !matches!(rule, UpdateRule::Custom(_))
    }

    /// Returns true if the rule's kernel keeps moments in bf16.
    fn takes_bf16_state(_rule: &UpdateRule) -> bool {
        false
    }

    /// One allocation.
    type Memory: Memory;

    /// Errors that only this driver has.
    type Failure: DriverError;

    /// Returns the pool of memory that is not in use.
    fn pool(&self) -> &Arc<Pool<Self::Memory>>;

    /// Returns the numbers of parameters, by which kernels name them.
    fn names(&self) -> &Names;

    /// Returns a buffer whose contents are unset.
    ///
    /// # Errors
    ///
    /// Where the device has no room for it, or has failed.
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

    /// Returns a tensor of zeros, which have the same bits in every type.
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

    /// Returns a buffer of `bytes`, at least as many as `from` has, that begins as `from` does and ends in zeros.
    ///
    /// # Errors
    ///
    /// As for [`buffer`](Self::buffer).
    fn grown(&self, from: &BufferOf<Self>, bytes: usize) -> Result<BufferOf<Self>, Self>;

    /// Returns a copy with another element type, or the same one in memory of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    fn converted(
        &self,
        tensor: &Tensor<Self>,
        to: DType,
        rounding: Rounding,
    ) -> Result<Tensor<Self>, Self>;

    /// Returns the same elements in memory of their own.
    ///
    /// # Errors
    ///
    /// As for [`buffer`](Self::buffer).
    fn copy_tensor(&self, tensor: &Tensor<Self>) -> Result<Tensor<Self>, Self>;

    /// Waits for these bytes of a buffer and returns them.
    ///
    /// # Errors
    ///
    /// Where the device fails, or an operation met an index outside its table since the host read last.
    fn read_bytes(&self, from: &BufferOf<Self>, bytes: Range<usize>) -> Result<Vec<u8>, Self>;

    /// Returns the bytes of a tensor of this type and shape.
    ///
    /// # Errors
    ///
    /// Where no tensor of the device is as large.
    fn tensor_bytes(&self, dtype: DType, shape: &[usize]) -> Result<usize, Self>;

    /// Returns a buffer with the factors of gradients without pending factors.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn unit_factors(&self) -> Result<&Arc<BufferOf<Self>>, Self>;

    /// Refuses to replace memory whose address a captured step has.
    ///
    /// # Errors
    ///
    /// Where a captured step has it.
    fn check_movable(&self, _buffer: &BufferOf<Self>) -> Result<(), Self> {
        Ok(())
    }

    /// Returns false for memory that another program has lent to be read.
    fn is_writable(&self, _buffer: &BufferOf<Self>) -> bool {
        true
    }

    /// Refuses memory that another program has lent, where a parameter would move out of it: that program would keep the old values.
    ///
    /// # Errors
    ///
    /// Where another program has lent it.
    fn check_owned(&self, _buffer: &BufferOf<Self>) -> Result<(), Self> {
        Ok(())
    }

    /// Gives a tensor another value of its type and shape: in its own memory where another program has lent that, or else by `value`'s.
    ///
    /// # Errors
    ///
    /// Where another program has lent the memory to be read, or the device fails.
    fn replace(&self, tensor: &mut Tensor<Self>, value: Tensor<Self>) -> Result<(), Self> {
        *tensor = value;
        Ok(())
    }

    /// Tells a capture that is under way that `buffer` is written to in place, so that a replay needs it unshared.
    fn writes(&self, _buffer: &Arc<BufferOf<Self>>) {}

    /// Makes a parameter's memory its own, as the step's kernels write to it.
    ///
    /// # Errors
    ///
    /// The errors of [`own_tensor`](Self::own_tensor), and those of [`check_owned`](Self::check_owned) where it would move.
    fn own_parameter(&self, tensor: &mut Tensor<Self>) -> Result<(), Self> {
        if !self.may_write(tensor) {
            self.check_owned(&tensor.buffer)?;
        }
        self.own_tensor(tensor)
    }

    /// Makes a tensor's memory its own before it is written to: copies the elements where it is shared, or lent to be read.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`] for another handle's tensor; where the device fails.
    fn own_tensor(&self, tensor: &mut Tensor<Self>) -> Result<(), Self> {
        self.check_owner(&tensor.buffer)?;
        if !self.may_write(tensor) {
            self.check_movable(&tensor.buffer)?;
            *tensor = self.copy_tensor(tensor)?;
        }
        self.writes(&tensor.buffer);
        Ok(())
    }

    /// Returns true if a tensor's memory can be written to where it lies.
    fn may_write(&self, tensor: &Tensor<Self>) -> bool {
        is_alone(&tensor.buffer) && self.is_writable(&tensor.buffer)
    }

    /// Refuses another handle's memory: nothing orders that handle's work with this one's.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`].
    fn check_owner(&self, buffer: &BufferOf<Self>) -> Result<(), Self> {
        if buffer.is_from(self.pool()) { Ok(()) } else { Err(Error::Foreign) }
    }

    /// Refuses operands of another handle.
    ///
    /// # Errors
    ///
    /// As for [`check_owner`](Self::check_owner).
    fn check_owners(&self, operands: &[&Tensor<Self>]) -> Result<(), Self> {
        operands.iter().try_for_each(|operand| self.check_owner(operand.buffer()))
    }

    /// Returns a tensor whose elements are unset.
    ///
    /// # Errors
    ///
    /// Where the device has no room for it.
    fn unset(&self, dtype: DType, shape: &[usize]) -> Result<Tensor<Self>, Self> {
        let bytes = self.tensor_bytes(dtype, shape)?;
        Ok(Tensor::filling(self.buffer(bytes)?, dtype, shape))
    }

    /// Returns a tensor from the little-endian bytes of its elements.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they are not as many as `shape` says; where the device has no room for them.
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

    /// Returns a small buffer to write to: copied first where it is shared, so that other owners keep what they see.
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

/// Returns what `cell` holds, made on first use.
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
