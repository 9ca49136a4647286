//! Checked operations: the types that a policy asks for, sums in `f32`, and candle's errors by kind.

use crate::{Result, values};
use binade::prelude::*;
use binade_candle::{Candle, ops};
use candle_core::{D, DType as Type, Device, Tensor};

fn matrix(dtype: Type) -> candle_core::Result<Tensor> {
    let values = [[0.5_f32, -1.0, 2.0], [3.0, 0.25, -0.125]];
    Tensor::new(&values, &Device::Cpu)?.to_dtype(dtype)
}

/// Returns a region without casts, in which each operation computes in its operands' types.
fn off() -> Region {
    Region::f16().off()
}

#[test]
fn a_region_in_f16_by_torchs_lists_multiplies_in_f16_and_gives_the_rest_in_f32() -> Result {
    let scope = Region::f16().open(&Candle);
    let (x, row) = (matrix(Type::F32)?, Tensor::ones(3, Type::F32, &Device::Cpu)?);
    let labels = Tensor::new(&[2_u32, 0], &Device::Cpu)?;
    let half = ops::matmul(&scope, "", &x, &x.t()?)?;
    assert_eq!(half.dtype(), Type::F16);
    assert_eq!(ops::linear(&scope, "", &x, &x, None)?.dtype(), Type::F16);
    let bias = Tensor::ones(2, Type::F32, &Device::Cpu)?;
    let affine = ops::linear(&scope, "", &x, &x, Some(&bias))?;
    assert_eq!((affine.dtype(), values(&affine)?), (Type::F16, values(&(&half + 1.0)?)?));
    for whole in [
        ops::sum(&scope, "", &half)?,
        ops::mean(&scope, "", &half)?,
        ops::softmax(&scope, "", &half, D::Minus1)?,
        ops::log_softmax(&scope, "", &half, D::Minus1)?,
        ops::layer_norm(&scope, "", [&x.to_dtype(Type::F16)?, &row, &row], 1e-5)?,
        ops::mse_loss(&scope, "", &half, &half)?,
        ops::cross_entropy(&scope, "", &x.to_dtype(Type::F16)?, &labels)?,
    ] {
        assert_eq!(whole.dtype(), Type::F32);
    }
    Ok(())
}

#[test]
fn a_region_that_is_off_stores_what_it_is_given_and_sums_in_f32() -> Result {
    let scope = Region::f16().off().open(&Candle);
    let x = matrix(Type::BF16)?;
    let row = Tensor::ones(3, Type::BF16, &Device::Cpu)?;
    assert_eq!(ops::softmax(&scope, "", &x, 1)?.dtype(), Type::BF16);
    assert_eq!(ops::rms_norm(&scope, "", [&x, &row], 1e-5)?.dtype(), Type::BF16);
    assert_eq!(ops::sum(&scope, "", &x)?.dtype(), Type::F32);
    Ok(())
}

#[test]
fn a_policys_exception_holds_at_its_path_and_nowhere_else() -> Result {
    let policy = Overrides::over(OpTable::torch_cuda()).path("head.*", CastRule::To(DType::F32));
    let region = Region::f16().with_policy(policy).unwrap();
    let scope = region.open(&Candle);
    let x = matrix(Type::F32)?;
    assert_eq!(ops::linear(&scope, "head.out", &x, &x, None)?.dtype(), Type::F32);
    assert_eq!(ops::linear(&scope, "body.out", &x, &x, None)?.dtype(), Type::F16);
    Ok(())
}

#[test]
fn what_candle_refuses_and_what_a_policy_refuses_have_kinds() -> Result {
    let x = matrix(Type::F32)?;
    let off = Region::f16().off();
    let mismatch = ops::matmul(&off.open(&Candle), "", &x, &x).err().ok_or("it was taken")?;
    assert_eq!(mismatch.kind(), ErrorKind::Mismatch, "{mismatch}");
    let mixed = ops::matmul(&off.open(&Candle), "", &x, &x.t()?.to_dtype(Type::F16)?);
    assert_eq!(mixed.err().ok_or("it was taken")?.kind(), ErrorKind::Mismatch);
    let cast = Candle.cast(&x, DType::E4M3).err().ok_or("it was cast")?;
    assert_eq!(cast.kind(), ErrorKind::Unsupported, "{cast}");
    let twice = Candle.cast(&matrix(Type::F64)?, DType::F16).err().ok_or("it was cast")?;
    assert!(twice.to_string().contains("rounds twice"), "{twice}");
    Ok(())
}

#[test]
fn an_index_that_is_no_class_or_row_is_refused_though_candle_passes_over_the_largest() -> Result {
    let (scope, matrix) = (off().open(&Candle), matrix(Type::F32)?);
    for indices in [
        Tensor::new(&[0, u32::MAX], &Device::Cpu)?,
        Tensor::new(&[0, i64::MAX], &Device::Cpu)?,
        Tensor::new(&[0_u32, 3], &Device::Cpu)?,
        Tensor::new(&[0_i64, -1], &Device::Cpu)?,
    ] {
        for result in [
            ops::cross_entropy(&scope, "", &matrix, &indices),
            ops::embedding(&scope, "", &matrix, &indices),
        ] {
            let error = result.err().ok_or("it was taken")?;
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
    let (row, floats) = (matrix.get(0)?, Tensor::new(&[0_f32], &Device::Cpu)?);
    for (table, indices) in [(&row, &row.to_dtype(Type::U32)?), (&matrix, &floats)] {
        let error = ops::embedding(&scope, "", table, indices).err().ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    }
    Ok(())
}

/// candle ignores labels of an integer type's largest value. For bytes that is 255, which is a class among 256.
#[test]
fn every_class_counts_whatever_integers_the_labels_are() -> Result {
    let logits = Tensor::zeros((1, 256), Type::F32, &Device::Cpu)?;
    let scope = Region::f16().open(&Candle);
    for labels in [
        Tensor::new(&[255_u8], &Device::Cpu)?,
        Tensor::new(&[255_u32], &Device::Cpu)?,
        Tensor::new(&[255_i64], &Device::Cpu)?,
    ] {
        let loss = ops::cross_entropy(&scope, "", &logits, &labels)?.to_scalar::<f32>()?;
        assert!((loss - 256.0_f32.ln()).abs() < 1e-5, "{loss} by {:?}", labels.dtype());
        let last = ops::embedding(&scope, "", &logits.t()?, &labels)?;
        assert_eq!(last.dims(), [1, 1]);
    }
    Ok(())
}
