//! DLPack: the C structures by which libraries hand tensors to each other, as `dlpack.h` 1.1 declares them.
//!
//! A tensor of another library is adopted by [`Cuda::adopt_dlpack`](crate::Cuda::adopt_dlpack), and a tensor of this crate is exported by
//! [`Cuda::to_dlpack`](crate::Cuda::to_dlpack). Both name the other side's stream, since the structures do not.

mod export;
mod import;

use binade_core::DType;
use std::ffi::c_void;

/// Version of DLPack. The major number says how the rest of the structure lies in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Version {
    /// Number of the layout.
    pub major: u32,
    /// Number of the additions to the layout.
    pub minor: u32,
}

impl Version {
    /// Version that this crate writes. Adoption takes every version of the same major number.
    pub const WRITTEN: Self = Self { major: 1, minor: 1 };
}

/// Device that a tensor lies on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Device {
    /// Kind of the device.
    pub kind: i32,
    /// Number of the device among those of its kind.
    pub id: i32,
}

impl Device {
    /// Kind of CUDA devices, `kDLCUDA`.
    pub const CUDA: i32 = 2;
}

/// Element type: a kind of number, its bits, and the numbers of one element.
#[repr(C)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ElementType {
    /// Kind of number.
    pub code: u8,
    /// Bits of one number.
    pub bits: u8,
    /// Numbers of one element, 1 unless it is a vector.
    pub lanes: u16,
}

impl ElementType {
    /// Element types that this backend has, each with its `code` and `bits`.
    const KNOWN: [(DType, [u8; 2]); 6] = [
        (DType::I64, [0, 64]),
        (DType::F16, [2, 16]),
        (DType::F32, [2, 32]),
        (DType::BF16, [4, 16]),
        (DType::E4M3, [10, 8]),
        (DType::E5M2, [12, 8]),
    ];

    /// Returns the element type for `dtype`, if DLPack has it.
    pub fn of(dtype: DType) -> Option<Self> {
        let (_, [code, bits]) = *Self::KNOWN.iter().find(|(known, _)| *known == dtype)?;
        Some(Self { code, bits, lanes: 1 })
    }

    /// Returns the [`DType`] of such elements, if this backend has it.
    fn dtype(self) -> Option<DType> {
        let is_it = |(_, [code, bits]): &&(_, [u8; 2])| [*code, *bits] == [self.code, self.bits];
        let (dtype, _) = *Self::KNOWN.iter().find(is_it).filter(|_| self.lanes == 1)?;
        Some(dtype)
    }
}

/// Tensor of another library, without an owner.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// Address of the memory.
    pub data: *mut c_void,
    /// Device of the memory.
    pub device: Device,
    /// Number of axes.
    pub ndim: i32,
    /// Element type.
    pub dtype: ElementType,
    /// Extents of the axes, `ndim` of them.
    pub shape: *mut i64,
    /// Steps of the axes in elements, `ndim` of them; null for contiguous rows.
    pub strides: *mut i64,
    /// Offset of the first element from `data`, in bytes.
    pub byte_offset: u64,
}

/// `DLManagedTensorVersioned`: a tensor with the function that gives it back.
#[repr(C)]
#[derive(Debug)]
pub struct ManagedTensor {
    /// Version, by which the rest is read.
    pub version: Version,
    /// Value of the library that made the tensor.
    pub manager: *mut c_void,
    /// Function that gives the tensor back, called once with the structure's address.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// Flags, such as [`READ_ONLY`], a bit each.
    pub flags: u64,
    /// The tensor.
    pub tensor: Tensor,
}

/// `DLManagedTensor`: the structure before version 1, which has neither version nor flags.
#[repr(C)]
#[derive(Debug)]
pub struct LegacyManagedTensor {
    /// The tensor.
    pub tensor: Tensor,
    /// Value of the library that made the tensor.
    pub manager: *mut c_void,
    /// Function that gives the tensor back, called once with the structure's address.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// Flag of a tensor that must not be written to.
pub const READ_ONLY: u64 = 1;
