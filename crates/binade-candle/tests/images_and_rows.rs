//! Convolutions and embeddings: sums in `f32`, gradients of every operand, and refusals by kind.

use crate::{Result, drawn};
use binade::prelude::*;
use binade_candle::{Candle, backward, named, ops};
use candle_core::{DType as Type, Device, Tensor, Var};
use candle_nn::Conv2dConfig;

/// Shapes of images and kernels, and the configuration of the convolution.
type Layer = ([usize; 4], [usize; 4], Conv2dConfig);

fn config(padding: usize, stride: usize, dilation: usize, groups: usize) -> Conv2dConfig {
    Conv2dConfig { padding, stride, dilation, groups, cudnn_fwd_algo: None }
}

/// Returns layers with and without rows and columns that no window covers, in equal or in different numbers.
fn layers() -> [Layer; 6] {
    [
        ([2, 3, 5, 4], [4, 3, 3, 3], config(1, 1, 1, 1)),
        ([1, 2, 9, 8], [3, 2, 2, 2], config(0, 2, 1, 1)),
        ([2, 1, 6, 7], [2, 1, 2, 3], config(2, 3, 1, 1)),
        ([1, 2, 7, 8], [2, 2, 3, 2], config(1, 2, 2, 1)),
        ([2, 4, 4, 5], [6, 2, 3, 3], config(1, 2, 1, 2)),
        ([1, 1, 1, 1], [1, 1, 1, 1], config(2, 5, 1, 1)),
    ]
}

fn off() -> Region {
    Region::f16().off()
}

fn wide(tensor: &Tensor) -> candle_core::Result<Vec<f64>> {
    tensor.to_dtype(Type::F64)?.flatten_all()?.to_vec1()
}

/// Returns the gradient of `f` from differences in `f64`.
fn differences(f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Vec<f64>> {
    let flat = wide(x)?;
    let at = |index: usize, by: f64| -> Result<f64> {
        let mut moved = flat.clone();
        moved[index] += by;
        Ok(f(&Tensor::from_vec(moved, x.shape(), x.device())?)?.to_scalar::<f64>()?)
    };
    (0..flat.len()).map(|i| Ok((at(i, 1e-5)? - at(i, -1e-5)?) / 2e-5)).collect()
}

fn assert_differences(what: &str, f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result {
    let params = named([("x".to_owned(), Var::from_tensor(x)?)]);
    let grads: NamedGrads<_> = backward(&f(&params[0].value)?, &params)?;
    let grad = wide(grads[0].value.as_ref().ok_or("cut")?)?;
    for (got, wanted) in grad.into_iter().zip(differences(f, x)?) {
        assert!((got - wanted).abs() <= 1e-6 * (1.0 + wanted.abs()), "{what}: {got} {wanted}");
    }
    Ok(())
}

#[test]
fn gradients_of_images_kernels_and_biases_are_those_of_differences() -> Result {
    let loss = |x: &Tensor, w: &Tensor, b: &Tensor, config| -> Result<Tensor> {
        let y = ops::conv2d(&off().open(&Candle), "", x, w, Some(b), config)?;
        Ok(y.sqr()?.sum_all()?)
    };
    for (image, kernel, config) in layers() {
        let drawn = |shape: &[usize], seed| drawn(shape, seed)?.to_dtype(Type::F64);
        let (x, w, b) = (drawn(&image, 1)?, drawn(&kernel, 2)?, drawn(&kernel[..1], 3)?);
        assert_differences("image", &|x| loss(x, &w, &b, config), &x)?;
        assert_differences("kernel", &|w| loss(&x, w, &b, config), &w)?;
        assert_differences("bias", &|b| loss(&x, &w, b, config), &b)?;
    }
    Ok(())
}

#[test]
fn gradients_in_half_of_a_kernel_a_bias_and_a_row_grow_beyond_where_halves_stop() -> Result {
    for dtype in [Type::BF16, Type::F16] {
        let ones = |shape: &[usize]| Var::ones(shape, dtype, &Device::Cpu);
        let params = named([
            ("b".to_owned(), ones(&[1])?),
            ("table".to_owned(), ones(&[2, 1])?),
            ("w".to_owned(), ones(&[1, 1, 1, 1])?),
        ]);
        let [b, table, w] = &params[..] else { return Err("three, by name".into()) };
        let region = off();
        let scope = region.open(&Candle);
        let x = Tensor::ones((16, 1, 16, 16), dtype, &Device::Cpu)?;
        let y = ops::conv2d(&scope, "", &x, &w.value, Some(&b.value), config(0, 1, 1, 1))?;
        let indices = Tensor::zeros(4096, Type::U32, &Device::Cpu)?;
        let rows = ops::embedding(&scope, "", &table.value, &indices)?;
        let loss = (ops::sum(&scope, "", &y)? + ops::sum(&scope, "", &rows)?)?;
        let grads: NamedGrads<_> = backward(&loss, &params)?;
        for (grad, wanted) in grads.iter().zip([vec![4096.0], vec![4096.0, 0.0], vec![4096.0]]) {
            let grad = grad.value.as_ref().ok_or("cut")?;
            assert_eq!((wide(grad)?, grad.dtype()), (wanted, dtype));
        }
    }
    Ok(())
}

#[test]
fn a_policy_lowers_convolutions_and_leaves_tables_as_they_are() -> Result {
    let region = Region::f16();
    let scope = region.open(&Candle);
    let (image, kernel, config) = layers()[0];
    let (x, w) = (drawn(&image, 1)?, drawn(&kernel, 2)?);
    assert_eq!(ops::conv2d(&scope, "", &x, &w, None, config)?.dtype(), Type::F16);
    let indices = Tensor::new(&[[1_u8, 0], [2, 1]], &Device::Cpu)?;
    for dtype in [Type::BF16, Type::F16, Type::F32] {
        let table = drawn(&[3, 5], 4)?.to_dtype(dtype)?;
        let rows = ops::embedding(&scope, "", &table, &indices)?;
        assert_eq!((rows.dims(), rows.dtype()), (&[2, 2, 5][..], dtype));
        assert_eq!(wide(&rows.get(1)?.get(0)?)?, wide(&table.get(2)?)?);
    }
    Ok(())
}

#[test]
fn what_does_not_fit_a_convolution_is_refused_before_candle_sees_it() -> Result {
    let ones = |shape: &[usize]| Tensor::ones(shape, Type::F32, &Device::Cpu);
    let (x, w) = (ones(&[1, 4, 3, 3])?, ones(&[6, 4, 2, 2])?);
    let plain = config(0, 1, 1, 1);
    let region = off();
    let scope = region.open(&Candle);
    for (what, config) in [
        ("stride", config(0, 0, 1, 1)),
        ("dilation", config(0, 1, 0, 1)),
        ("groups", config(0, 1, 1, 0)),
    ] {
        let error = ops::conv2d(&scope, "", &x, &w, None, config).err().ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(
            error.to_string().starts_with(&format!("the convolution's {what}: 0 given")),
            "{error}"
        );
    }
    let wrong = [
        (ones(&[6, 3, 2, 2])?, None, plain),
        (ones(&[6, 4, 4, 2])?, None, plain),
        (ones(&[6, 4, 2, 2])?, None, config(0, 1, 3, 1)),
        (ones(&[6, 4, 2, 0])?, None, plain),
        (ones(&[5, 2, 2, 2])?, None, config(0, 1, 1, 2)),
        (ones(&[4, 2, 2])?, None, plain),
        (w.clone(), Some(ones(&[4])?), plain),
        (w.to_dtype(Type::F16)?, None, plain),
    ];
    for (w, b, config) in wrong {
        let error =
            ops::conv2d(&scope, "", &x, &w, b.as_ref(), config).err().ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    }
    Ok(())
}
