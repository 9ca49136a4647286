//! Types of C's arguments: the pointers that a caller gives, behind methods that check for null.
//!
//! Rust code never creates values of these types. They come from C, whose caller keeps the promises of `cuda.h`: during the call the pointer is null,
//! or points to a value of its type, or to as many values as the call's other arguments say. Each access below relies on that promise, and on null
//! being checked.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::driver::{
    code::{Code, Result},
    host::HostSpan,
};

/// Pointer to the place of a result.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    pub(super) fn set(self, value: T) -> Result {
        if self.0.is_null() {
            return Err(Code::InvalidValue);
        }
        // SAFETY: not null, so by the caller's promise it points to a place for a `T`; whether that is aligned, C leaves to the
        // caller, so the write does not depend on it.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes the first places of an array.
    pub(super) fn set_all(self, values: &[T]) -> Result {
        let set = |(place, value): (usize, &T)| Self(self.0.wrapping_add(place)).set(*value);
        values.iter().enumerate().try_for_each(set)
    }
}

impl Out<c_char> {
    /// Copies text with its closing 0, cut to `length` bytes of which the last is 0.
    pub(super) fn text(self, text: &CStr, length: c_int) -> Result {
        let room = usize::try_from(length).ok().filter(|room| *room > 0);
        let room = room.filter(|_| !self.0.is_null()).ok_or(Code::InvalidValue)?;
        let bytes = text.to_bytes();
        let bytes = &bytes[..bytes.len().min(room - 1)];
        // SAFETY: not null, so by the caller's promise `length` bytes are writable there; the text was cut to one less.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast(), bytes.len());
            self.0.add(bytes.len()).write(0);
        }
        Ok(())
    }
}

/// Pointer to a value that is read.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// Returns true if the pointer is not null.
    pub(super) fn given(self) -> bool {
        !self.0.is_null()
    }

    pub(super) fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(Code::InvalidValue);
        }
        // SAFETY: not null, so by the caller's promise it points to a `T`, aligned or not.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

/// Pointer to a value whose type another argument gives.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Untyped(*mut c_void);

impl Untyped {
    /// Reads `count` bytes.
    pub(super) fn bytes(self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        Host(self.0.cast()).span(count)?.read(&mut bytes);
        Ok(bytes)
    }
}

/// Pointer to text that ends with 0.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Text(*const c_char);

impl Text {
    pub(super) fn bytes(self) -> Result<Vec<u8>> {
        if self.0.is_null() {
            return Err(Code::InvalidValue);
        }
        // SAFETY: not null, so by the caller's promise a 0 follows; the bytes are copied before the call ends.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes().to_vec())
    }
}

/// Pointer to host memory whose length another argument gives.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Host(*mut u8);

impl Host {
    pub(super) fn span(self, bytes: usize) -> Result<HostSpan> {
        if self.0.is_null() && bytes > 0 {
            return Err(Code::InvalidValue);
        }
        // SAFETY: `HostSpan` demands what CUDA demands of a copy's host pointer, and the caller who made the copy promised.
        Ok(unsafe { HostSpan::new(self.0, bytes) })
    }

    pub(super) fn address(self) -> usize {
        self.0.addr()
    }
}

/// Arguments of a kernel: a pointer to each.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Arguments(*const *const u8);

impl Arguments {
    /// Returns the block of parameters, from the offset and size in bytes of each.
    pub(super) fn block(self, layout: &[(usize, usize)]) -> Result<Vec<u8>> {
        let mut block = vec![0; layout.last().map_or(0, |(offset, bytes)| offset + bytes)];
        if self.0.is_null() && !layout.is_empty() {
            return Err(Code::InvalidValue);
        }
        for (index, (offset, bytes)) in layout.iter().copied().enumerate() {
            // SAFETY: not null, so by the caller's promise there is a pointer for each parameter of the kernel.
            let argument = unsafe { self.0.add(index).read() };
            let argument = Host(argument.cast_mut()).span(bytes)?;
            argument.read(&mut block[offset..offset + bytes]);
        }
        Ok(block)
    }
}
