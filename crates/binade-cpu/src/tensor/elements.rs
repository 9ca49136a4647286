//! Elements of a tensor, in an array of their type, and conversions between types: exact to a wider type, rounded once to a narrower one.

use super::Tensor;
use crate::{
    Error, parallel,
    pool::{self, Pooled, pooled},
    simd::{self, Loop},
};
use binade_core::{
    DType,
    cast::{E4M3, E5M2, OnOverflow::NonFinite},
};
use half::{bf16, f16};
use ndarray::{ArcArray, IxDyn};
use std::borrow::Cow;
use std::ops::Range;

pub(crate) type Shared<E> = ArcArray<E, IxDyn>;

/// Element type that tensors are made of: bf16, f16, f32, f64, E4M3, E5M2, i64, u8.
#[expect(
    private_interfaces,
    reason = "only this crate can name `Data`, so no other crate implements the trait"
)]
pub trait Stored: Copy + Send + Sync + 'static {
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

            /// Gives the memory back if it is large and no other tensor has it; the elements are gone then.
            pub(super) fn recycle(&mut self) {
                match self {
                    $(Self::$variant(array) => recycled(array),)*
                }
            }

            /// Returns the elements under `shape`, which must have the same number.
            pub(super) fn reshape(&self, shape: &[usize]) -> Self {
                match self {
                    $(Self::$variant(array) => Self::$variant(reshaped(array, shape)),)*
                }
            }
        }

        $(
            #[expect(private_interfaces, reason = "only this crate can name `Data`, so no other crate implements the trait")]
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

pooled!(bf16, f16, f32, f64, E4M3, E5M2, i64, u8);

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

/// Returns an array's memory to the pool if it is large and not shared.
fn recycled<E: Pooled>(array: &mut Shared<E>) {
    if array.len().saturating_mul(size_of::<E>()) < pool::LEAST {
        return;
    }
    let empty = Shared::from_shape_vec(IxDyn(&[0]), Vec::new()).expect("no element for no element");
    if let Ok(owned) = std::mem::replace(array, empty).try_into_owned_nocopy() {
        pool::give(owned.into_raw_vec_and_offset().0);
    }
}

/// Shares the elements: a row-major array needs no copy for another shape.
fn reshaped<E: Clone>(array: &Shared<E>, shape: &[usize]) -> Shared<E> {
    array.clone().into_shape_with_order(IxDyn(shape)).expect("the caller counted the elements")
}

impl Tensor {
    /// Returns some of the elements, each as [`to_f32`](Self::to_f32) has it; of 16-bit types the others are not widened.
    pub(crate) fn range_to_f32(&self, range: Range<usize>) -> Cow<'_, [f32]> {
        match &self.data {
            Data::F32(_) => Cow::Borrowed(&self.elements()[range]),
            Data::BF16(_) => Cow::Owned(converted(&self.elements()[range], simd::widen::<bf16>)),
            Data::F16(_) => Cow::Owned(converted(&self.elements()[range], simd::widen::<f16>)),
            _ => Cow::Owned(self.to_f32()[range].to_vec()),
        }
    }

    /// Returns the elements of a range as f32: themselves, or widened into `buffer`, which has room for them.
    pub(crate) fn widened<'a>(&'a self, range: Range<usize>, buffer: &'a mut [f32]) -> &'a [f32] {
        let buffer = &mut buffer[..range.len()];
        match &self.data {
            Data::F32(_) => return &self.elements()[range],
            Data::BF16(_) => simd::widen::<bf16>(&self.elements()[range], buffer),
            Data::F16(_) => simd::widen::<f16>(&self.elements()[range], buffer),
            _ => buffer.copy_from_slice(&self.range_to_f32(range)),
        }
        buffer
    }

    /// Returns the elements as f32: exact for every type of at most 32 bits, the nearest f32 for f64 and i64.
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        Cow::Owned(match &self.data {
            Data::F32(_) => return Cow::Borrowed(self.elements()),
            Data::BF16(_) => converted(self.elements(), simd::widen::<bf16>),
            Data::F16(_) => converted(self.elements(), simd::widen::<f16>),
            Data::E4M3(_) => converted(self.elements(), each(E4M3::to_f32)),
            Data::E5M2(_) => converted(self.elements(), each(E5M2::to_f32)),
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
            Data::F64(array) => array.iter().map(|x| *x as f32).collect(),
            #[expect(clippy::cast_precision_loss, reason = "rounding is what is asked for")]
            Data::I64(array) => array.iter().map(|x| *x as f32).collect(),
            Data::U8(array) => array.iter().map(|x| f32::from(*x)).collect(),
        })
    }

    /// Creates a tensor of `values`, rounded once to `dtype`, to nearest even. Values beyond the format's largest become infinite, or NaN in E4M3, so
    /// that every overflow is visible.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if the number of values does not match `shape`; [`Error::Unsupported`] for types that are not floating-point.
    pub fn from_f32(values: Vec<f32>, shape: &[usize], dtype: DType) -> Result<Self, Error> {
        if dtype == DType::F32 {
            return Self::new(values, shape);
        }
        let tensor = Self::rounded(&values, shape, dtype);
        pool::give(values);
        tensor
    }

    /// Creates a tensor of `values` as [`from_f32`](Self::from_f32) does.
    fn rounded(values: &[f32], shape: &[usize], dtype: DType) -> Result<Self, Error> {
        match dtype {
            DType::BF16 => Self::new(converted(values, simd::narrow::<bf16>), shape),
            DType::F16 => Self::new(converted(values, simd::narrow::<f16>), shape),
            DType::F32 => Self::new(values.to_vec(), shape),
            DType::F64 => Self::new(values.iter().copied().map(f64::from).collect(), shape),
            DType::E4M3 => Self::new(converted(values, each(to_e4m3)), shape),
            DType::E5M2 => Self::new(converted(values, each(to_e5m2)), shape),
            _ => Err(Error::Unsupported { what: "round to", dtype }),
        }
    }

    /// Returns a copy with another element type, rounded once, to nearest even; the tensor itself if it has that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers, and between f64 and anything but f32: the detour would round twice.
    pub fn cast(&self, to: DType) -> Result<Self, Error> {
        let from = self.dtype();
        if to == from {
            return Ok(self.clone());
        }
        let floats = from.is_castable() && to.is_castable();
        let doubles = [from, to].contains(&DType::F64) && [from, to].contains(&DType::F32);
        match (from, to) {
            _ if floats || doubles => match self.to_f32() {
                Cow::Borrowed(values) => Self::rounded(values, self.shape(), to),
                Cow::Owned(values) => Self::from_f32(values, self.shape(), to),
            },
            (DType::F64, _) => Err(Error::Unsupported { what: "cast f64 straight to", dtype: to }),
            _ if to.is_castable() => Err(Error::Unsupported { what: "cast", dtype: from }),
            _ => Err(Error::Unsupported { what: "cast to", dtype: to }),
        }
    }

    /// Returns the elements, whose type the caller has matched on.
    pub(super) fn elements<E: Stored>(&self) -> &[E] {
        self.as_slice().expect("the caller matched on the type")
    }
}

/// Rounds to eight bits once, to nearest even.
#[inline(always)]
pub(super) fn to_e4m3(x: f32) -> E4M3 {
    E4M3::from_f32(x, NonFinite)
}

/// Rounds to eight bits once, to nearest even.
#[inline(always)]
pub(super) fn to_e5m2(x: f32) -> E5M2 {
    E5M2::from_f32(x, NonFinite)
}

/// Returns the conversion of slices by a function of each element, which is `#[inline(always)]`, as [`Loop`] says.
pub(super) fn each<A: Copy, B>(f: impl Fn(A) -> B + Copy) -> impl Fn(&[A], &mut [B]) {
    move |from, to| simd::widest(Each { from, to, f })
}

/// Function of each element.
struct Each<'a, A, B, F> {
    from: &'a [A],
    to: &'a mut [B],
    f: F,
}

impl<A: Copy, B, F: Fn(A) -> B> Loop for Each<'_, A, B, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.to.iter_mut().zip(self.from).for_each(|(to, x)| *to = (self.f)(*x));
    }
}

/// Converts block by block.
fn converted<A: Sync, B: Pooled>(from: &[A], convert: impl Fn(&[A], &mut [B]) + Sync) -> Vec<B> {
    parallel::filled(from.len(), |first, chunk| convert(&from[first..first + chunk.len()], chunk))
}
