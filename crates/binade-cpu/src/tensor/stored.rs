//! Element types that a tensor holds, each in an array of its own type.

use binade_core::{
    DType,
    cast::{E4M3, E5M2},
};
use half::{bf16, f16};
use ndarray::{ArcArray, IxDyn};

pub(crate) type Shared<E> = ArcArray<E, IxDyn>;

mod sealed {
    pub trait Sealed {}
}

/// Element type that tensors are made of: bf16, f16, f32, f64, E4M3, E5M2, i64, u8.
#[expect(private_interfaces, reason = "sealed: only this crate calls the hidden methods")]
pub trait Stored: sealed::Sealed + Copy + Send + Sync + 'static {
    /// Element type at run time.
    const DTYPE: DType;

    #[doc(hidden)]
    fn data(array: Shared<Self>) -> Data;

    #[doc(hidden)]
    fn array(data: &Data) -> Option<&Shared<Self>>;

    #[doc(hidden)]
    fn array_mut(data: &mut Data) -> Option<&mut Shared<Self>>;
}

macro_rules! stored {
    ($($element:ty, $variant:ident;)*) => {
        /// Array of one of the element types.
        #[derive(Clone)]
        pub(crate) enum Data {
            $($variant(Shared<$element>),)*
        }

        impl Data {
            pub(super) fn dtype(&self) -> DType {
                match self {
                    $(Self::$variant(_) => DType::$variant,)*
                }
            }

            pub(super) fn shape(&self) -> &[usize] {
                match self {
                    $(Self::$variant(array) => array.shape(),)*
                }
            }

            /// Returns the elements under `shape`, which has as many.
            pub(super) fn reshape(&self, shape: &[usize]) -> Self {
                match self {
                    $(Self::$variant(array) => Self::$variant(reshaped(array, shape)),)*
                }
            }
        }

        $(
            impl sealed::Sealed for $element {}

            #[expect(private_interfaces, reason = "sealed: only this crate calls the hidden methods")]
            impl Stored for $element {
                const DTYPE: DType = DType::$variant;

                fn data(array: Shared<Self>) -> Data {
                    Data::$variant(array)
                }

                fn array(data: &Data) -> Option<&Shared<Self>> {
                    if let Data::$variant(array) = data { Some(array) } else { None }
                }

                fn array_mut(data: &mut Data) -> Option<&mut Shared<Self>> {
                    if let Data::$variant(array) = data { Some(array) } else { None }
                }
            }
        )*
    };
}

stored! {
    bf16, BF16;
    f16, F16;
    f32, F32;
    f64, F64;
    E4M3, E4M3;
    E5M2, E5M2;
    i64, I64;
    u8, U8;
}

/// Shares the elements: a row-major array needs no copy for another shape.
fn reshaped<E: Clone>(array: &Shared<E>, shape: &[usize]) -> Shared<E> {
    array.clone().into_shape_with_order(IxDyn(shape)).expect("the caller counted the elements")
}
