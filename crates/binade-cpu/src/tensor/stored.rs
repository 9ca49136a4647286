//! The element types that a tensor holds, each in an array of its own type.

use binade_core::DType;
use half::{bf16, f16};
use ndarray::{ArcArray, IxDyn};

type Shared<E> = ArcArray<E, IxDyn>;

/// One array, of one of the types.
#[derive(Clone)]
pub(crate) enum Data {
    BF16(Shared<bf16>),
    F16(Shared<f16>),
    F32(Shared<f32>),
    F64(Shared<f64>),
    I64(Shared<i64>),
    /// The bits of a one-byte type: e4m3, e5m2, u8 or bool.
    Byte(DType, Shared<u8>),
}

/// Evaluates `$body` with `$array` bound to the array, whatever its type.
macro_rules! each {
    ($data:expr, $array:ident => $body:expr) => {
        match $data {
            Data::BF16($array) => $body,
            Data::F16($array) => $body,
            Data::F32($array) => $body,
            Data::F64($array) => $body,
            Data::I64($array) => $body,
            Data::Byte(_, $array) => $body,
        }
    };
}

impl Data {
    pub(super) fn dtype(&self) -> DType {
        match self {
            Self::BF16(_) => DType::BF16,
            Self::F16(_) => DType::F16,
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::I64(_) => DType::I64,
            Self::Byte(dtype, _) => *dtype,
        }
    }

    pub(super) fn shape(&self) -> &[usize] {
        each!(self, array => array.shape())
    }

    /// The same elements under `shape`, which has as many.
    pub(super) fn reshape(&self, shape: &[usize]) -> Self {
        fn shared<E: Clone>(array: &Shared<E>, shape: &[usize]) -> Shared<E> {
            array.to_shape(IxDyn(shape)).map_or_else(|_| array.clone(), |view| view.to_shared())
        }
        match self {
            Self::BF16(array) => Self::BF16(shared(array, shape)),
            Self::F16(array) => Self::F16(shared(array, shape)),
            Self::F32(array) => Self::F32(shared(array, shape)),
            Self::F64(array) => Self::F64(shared(array, shape)),
            Self::I64(array) => Self::I64(shared(array, shape)),
            Self::Byte(dtype, array) => Self::Byte(*dtype, shared(array, shape)),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// An element type with a Rust type of its own that tensors are made of: bf16, f16, f32, f64, i64.
pub trait Stored: sealed::Sealed + Copy + Send + Sync + 'static {
    /// Its name at run time.
    const DTYPE: DType;

    #[doc(hidden)]
    #[expect(private_interfaces, reason = "sealed: only this crate calls it")]
    fn data(array: Shared<Self>) -> Data;

    #[doc(hidden)]
    #[expect(private_interfaces, reason = "sealed: only this crate calls it")]
    fn array(data: &Data) -> Option<&Shared<Self>>;

    #[doc(hidden)]
    #[expect(private_interfaces, reason = "sealed: only this crate calls it")]
    fn array_mut(data: &mut Data) -> Option<&mut Shared<Self>>;
}

macro_rules! stored {
    ($($element:ty, $variant:ident;)*) => {$(
        impl sealed::Sealed for $element {}

        impl Stored for $element {
            const DTYPE: DType = DType::$variant;

            #[expect(private_interfaces, reason = "sealed: only this crate calls it")]
            fn data(array: Shared<Self>) -> Data {
                Data::$variant(array)
            }

            #[expect(private_interfaces, reason = "sealed: only this crate calls it")]
            fn array(data: &Data) -> Option<&Shared<Self>> {
                if let Data::$variant(array) = data { Some(array) } else { None }
            }

            #[expect(private_interfaces, reason = "sealed: only this crate calls it")]
            fn array_mut(data: &mut Data) -> Option<&mut Shared<Self>> {
                if let Data::$variant(array) = data { Some(array) } else { None }
            }
        }
    )*};
}

stored! {
    bf16, BF16;
    f16, F16;
    f32, F32;
    f64, F64;
    i64, I64;
}
