//! Whole slices of sixteen-bit elements to f32 and back.
//!
//! One element at a time asks each time whether the processor can convert, which costs more than the step itself.

use binade_core::Element;
use half::{bf16, f16, slice::HalfFloatSliceExt};

/// An element type with conversions of whole slices; those of one element, many times, to the bit.
pub(crate) trait Convert: Element {
    /// Widens, exactly; the slices are of one length.
    fn widen(from: &[Self], to: &mut [f32]);

    /// Rounds each once, to nearest even; the slices are of one length.
    fn narrow(from: &[f32], to: &mut [Self]);
}

macro_rules! halves {
    ($($half:ty),*) => {$(
        impl Convert for $half {
            fn widen(from: &[Self], to: &mut [f32]) {
                from.convert_to_f32_slice(to);
            }

            fn narrow(from: &[f32], to: &mut [Self]) {
                to.convert_from_f32_slice(from);
            }
        }
    )*};
}

halves!(bf16, f16);

impl Convert for f32 {
    fn widen(from: &[Self], to: &mut [f32]) {
        to.copy_from_slice(from);
    }

    fn narrow(from: &[f32], to: &mut [Self]) {
        to.copy_from_slice(from);
    }
}
