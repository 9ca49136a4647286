//! Tensors of one value.

use crate::support::{Device as _, Result, cuda, kind};
use binade_core::{DType, ErrorKind};
use binade_ops::Fill;

crate::tests![a_fill_is_a_cast_of_its_value_everywhere, a_type_without_arithmetic_is_refused];

const TYPES: [DType; 5] = [DType::BF16, DType::F16, DType::F32, DType::E4M3, DType::E5M2];

/// Around pieces of 16 bytes, and beyond what a grid takes at once.
const LENGTHS: [usize; 8] = [0, 1, 3, 15, 16, 17, 33, 5000];

fn a_fill_is_a_cast_of_its_value_everywhere() -> Result {
    let cuda = cuda();
    for value in [0.0, -0.0, 1.1, -3.7e-6, 1e30, f32::INFINITY, f32::NAN] {
        for dtype in TYPES {
            let one = cuda.fill(value, &[1], DType::F32)?;
            let one = cuda.to_bits(&cuda.cast_all(&[one], dtype)?[0])?;
            for len in LENGTHS {
                let got = cuda.bits(&cuda.fill(value, &[len], dtype)?);
                assert_eq!(got, one.repeat(len), "{value} in {dtype}, {len} times");
            }
        }
    }
    let wide = cuda.to_bits(&cuda.fill(1.1, &[2], DType::F32)?)?;
    assert_eq!(wide, [1.1_f32.to_le_bytes(); 2].concat());
    Ok(())
}

fn a_type_without_arithmetic_is_refused() -> Result {
    assert_eq!(kind(cuda().fill(1.0, &[2], DType::I64)), ErrorKind::Unsupported);
    Ok(())
}
