//! Storage of tensors: sharing, bits, casts.

use binade_core::cast::{E4M3, E5M2};
use binade_core::ops::{Download as _, Upload as _};
use binade_core::{DType, Error as _, ErrorKind};
use binade_cpu::{Cpu, Error, Tensor};
use half::{bf16, f16};
use ndarray::{Array, array};

#[test]
fn writing_to_a_clone_leaves_the_original_alone() {
    let original = Tensor::new(vec![1.0_f32, 2.0], &[2]).unwrap();
    let mut copy = original.clone();
    assert_eq!(copy.stamp(), original.stamp());
    copy.as_mut_slice::<f32>().unwrap()[0] = 9.0;
    assert_eq!(original.as_slice::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(copy.as_slice::<f32>().unwrap(), [9.0, 2.0]);
    assert_ne!(copy.stamp(), original.stamp());
}

#[test]
fn an_unshared_tensor_is_written_in_place() {
    let mut tensor = Tensor::new(vec![1.0_f32, 2.0], &[2]).unwrap();
    let before = tensor.as_slice::<f32>().unwrap().as_ptr();
    tensor.as_mut_slice::<f32>().unwrap()[0] = 9.0;
    assert_eq!(tensor.as_slice::<f32>().unwrap().as_ptr(), before);
}

#[test]
fn elements_of_another_type_are_not_given() {
    let mut tensor = Tensor::new(vec![f16::ONE], &[1]).unwrap();
    let stamp = tensor.stamp();
    assert_eq!(tensor.as_slice::<f32>(), None);
    assert_eq!(tensor.as_mut_slice::<bf16>(), None);
    assert_eq!(tensor.stamp(), stamp);
}

#[test]
fn reshaping_shares_and_a_transposed_array_is_laid_out_anew() {
    let matrix = array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let tensor = Tensor::from(matrix.clone().into_dyn());
    let flat = tensor.reshape(&[6]).unwrap();
    let [a, b] = [&flat, &tensor].map(|t| t.as_slice::<f32>().unwrap().as_ptr());
    assert_eq!(a, b);
    let transposed = Tensor::from(matrix.reversed_axes().into_dyn());
    assert_eq!(transposed.shape(), [3, 2]);
    assert_eq!(transposed.as_slice::<f32>().unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}

#[test]
fn uploads_round_once_and_downloads_widen_exactly() {
    use binade_core::cast::{OnOverflow::NonFinite, round};
    let values =
        [65519.99, 65520.0, 464.0, 464.1, 61440.0, 2049.0, 2051.0, 1e-8, -0.0, 1.003_906_3];
    for dtype in [DType::BF16, DType::F16, DType::E4M3, DType::E5M2] {
        let tensor = Cpu.upload(&values, &[values.len()], dtype).unwrap();
        let expected = values.map(|x| round(x, dtype, NonFinite).unwrap());
        let found = Cpu.download(&tensor).unwrap();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{dtype}");
    }
    let codes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    for dtype in [DType::BF16, DType::F16] {
        let all = Tensor::from_bits(&codes, dtype, &[65536]).unwrap();
        let values = Cpu.download(&all).unwrap();
        let back = Cpu.upload(&values, &[65536], dtype).unwrap().to_bits();
        let pairs = codes.chunks(2).zip(back.chunks(2)).zip(values);
        let mut finite = pairs.filter(|(_, value)| !value.is_nan());
        assert!(finite.all(|((code, back), _)| code == back), "{dtype}");
    }
}

#[test]
fn what_would_round_twice_or_is_no_float_is_refused() {
    let wide = Tensor::new(vec![1.0_f64], &[1]).unwrap();
    let one = Tensor::new(vec![1.0_f32], &[1]).unwrap();
    let label = Tensor::new(vec![1_i64], &[1]).unwrap();
    for (tensor, to, what) in [
        (&wide, DType::F16, "cast f64 straight to f16"),
        (&wide, DType::I64, "cast f64 straight to i64"),
        (&label, DType::F32, "cast i64"),
        (&one, DType::I64, "cast to i64"),
        (&label, DType::U8, "cast to u8"),
    ] {
        let error = tensor.cast(to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let text = format!("the CPU cannot {what}; it computes with bf16, f16 and f32");
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(wide.cast(DType::F32).unwrap().to_bits(), one.to_bits());
}

#[test]
fn a_wrong_length_is_an_error_that_counts() {
    let error = Tensor::new(vec![1.0_f32; 5], &[2, 3]).unwrap_err();
    assert_eq!(error.to_string(), "5 elements for shape [2, 3], which takes 6");
    let error = Tensor::from_bits(&[0; 5], DType::F16, &[2]).unwrap_err();
    assert_eq!(error.to_string(), "5 bytes for shape [2], which takes 4");
    assert!(matches!(error, Error::Length { .. }));
}

#[test]
fn an_array_comes_back_as_it_went_in() {
    let array = Array::linspace(0.0_f32, 11.0, 12).into_shape_with_order(vec![3, 4]).unwrap();
    let tensor = Tensor::from(array.clone());
    assert_eq!(tensor.to_array::<f32>().unwrap(), array);
    assert_eq!(format!("{tensor:?}"), "Tensor(f32 [3, 4])");
}

/// Tensor of every pattern of 16 bits, some more than once, of this type.
fn patterns(dtype: DType, len: usize) -> Tensor {
    let pattern = |index: usize| u16::try_from(index & 0xffff).unwrap().to_le_bytes();
    let bits: Vec<u8> = match dtype.bytes() {
        // Halfway and beside: the lower half of an f32 is no zero.
        4 => (0..len).flat_map(|index| [pattern(index), pattern(index)]).flatten().collect(),
        bytes => (0..len).flat_map(|index| pattern(index).into_iter().take(bytes)).collect(),
    };
    Tensor::from_bits(&bits, dtype, &[len]).unwrap()
}

#[test]
fn a_cast_into_a_tensor_has_the_bits_of_a_cast_and_keeps_its_memory() {
    let types = [DType::F32, DType::BF16, DType::F16, DType::E4M3, DType::E5M2];
    for (from, to) in types.into_iter().flat_map(|from| types.map(|to| (from, to))) {
        for len in [1 << 16, (1 << 17) + 3, 17, 1, 0] {
            let (from, mut into) = (patterns(from, len), patterns(to, len));
            let (shared, before) = (into.clone(), into.to_bits());
            from.cast_into(&mut into).unwrap();
            assert_eq!(into.to_bits(), from.cast(to).unwrap().to_bits(), "{from:?} to {to} {len}");
            assert_eq!(
                shared.to_bits(),
                before,
                "a tensor that shares its memory keeps its elements"
            );

            let memory = |tensor: &Tensor| match to {
                DType::F32 => tensor.as_slice::<f32>().unwrap().as_ptr() as usize,
                DType::BF16 => tensor.as_slice::<bf16>().unwrap().as_ptr() as usize,
                DType::F16 => tensor.as_slice::<f16>().unwrap().as_ptr() as usize,
                DType::E4M3 => tensor.as_slice::<E4M3>().unwrap().as_ptr() as usize,
                _ => tensor.as_slice::<E5M2>().unwrap().as_ptr() as usize,
            };
            let there = memory(&into);
            from.cast_into(&mut into).unwrap();
            assert_eq!(memory(&into), there);
        }
    }
}

#[test]
fn a_cast_into_a_tensor_of_another_shape_or_of_integers_is_refused_and_writes_nothing() {
    let from = Tensor::new(vec![1.5_f32; 6], &[2, 3]).unwrap();
    let mut other = Tensor::new(vec![0.0_f32; 6], &[3, 2]).unwrap();
    let told = from.cast_into(&mut other).unwrap_err().to_string();
    assert!(told.contains("[2, 3]") && told.contains("[3, 2]"), "{told}");
    assert_eq!(*other.to_f32(), [0.0; 6]);
    let mut integers = Tensor::new(vec![7_i64; 6], &[2, 3]).unwrap();
    let refused = |what, dtype| Err(Error::Unsupported { what, dtype });
    assert_eq!(from.cast_into(&mut integers), refused("cast to", DType::I64));
    assert_eq!(integers.cast_into(&mut from.clone()), refused("cast", DType::I64));
    assert_eq!(integers.as_slice::<i64>(), Some(&[7; 6][..]));
}
