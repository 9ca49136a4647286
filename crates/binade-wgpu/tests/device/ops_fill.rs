//! Tensors of one value, and the same elements under another shape.

use crate::support::{Result, TYPES, kind, narrow, vector, wgpu};
use binade_autocast::Autocast;
use binade_core::{DType, ErrorKind};
use binade_ops::{Fill, Reshape};

crate::tests![
    a_fill_is_a_cast_of_its_value_everywhere,
    a_type_without_arithmetic_is_refused,
    a_reshape_keeps_elements_and_refuses_another_count,
];

fn a_fill_is_a_cast_of_its_value_everywhere() -> Result {
    for (wgpu, lengths) in
        [(wgpu(), [0, 1, 2, 3, 255, 300_001]), (narrow(), [0, 1, 2, 3, 4097, 9001])]
    {
        for value in [0.0, -0.0, 1.1, -3.7e-6, 1e30, f32::INFINITY, f32::NAN] {
            for dtype in TYPES {
                let one = wgpu.to_bits(&wgpu.cast(&vector(&wgpu, &[value], DType::F32), dtype)?)?;
                for len in lengths {
                    let got = wgpu.to_bits(&wgpu.fill(value, &[len], dtype)?)?;
                    assert_eq!(got, one.repeat(len), "{value} in {dtype}, {len} times");
                }
            }
        }
    }
    Ok(())
}

fn a_type_without_arithmetic_is_refused() -> Result {
    assert_eq!(kind(wgpu().fill(1.0, &[2], DType::I64)), ErrorKind::Unsupported);
    Ok(())
}

fn a_reshape_keeps_elements_and_refuses_another_count() -> Result {
    let wgpu = wgpu();
    let tensor = vector(&wgpu, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], DType::F16);
    let reshaped = wgpu.reshape(&tensor, &[2, 3])?;
    assert_eq!(reshaped.shape(), [2, 3]);
    assert_eq!(wgpu.to_bits(&reshaped)?, wgpu.to_bits(&tensor)?);
    assert_eq!(kind(wgpu.reshape(&tensor, &[7])), ErrorKind::Mismatch);
    Ok(())
}
