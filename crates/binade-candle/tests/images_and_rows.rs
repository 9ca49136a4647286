//! Convolutions and embeddings: sums in `f32`, gradients of every operand, and refusals by kind.

use binade::prelude::*;
use binade_candle::{Candle, backward, named, ops};
use candle_core::{DType as Type, Device, Tensor, Var};
use candle_nn::{Conv1dConfig, Conv2d, Conv2dConfig, Embedding, Module};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Images, kernels, and how these move.
type Layer = ([usize; 4], [usize; 4], Conv2dConfig);

fn config(padding: usize, stride: usize, dilation: usize, groups: usize) -> Conv2dConfig {
    Conv2dConfig { padding, stride, dilation, groups, cudnn_fwd_algo: None }
}

/// Layers with and without rows and columns that no window reaches, as many of both or not.
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

/// Values in [-1, 1), all different.
fn drawn(shape: &[usize], seed: u32, dtype: Type) -> candle_core::Result<Tensor> {
    let count = u32::try_from(shape.iter().product::<usize>()).unwrap();
    let values = (0..count).map(|i| {
        let bits = (i + 1).wrapping_mul(2_654_435_761).wrapping_add(seed * 40_503) >> 16;
        f32::from(u16::try_from(bits).unwrap()) / 32_768.0 - 1.0
    });
    Tensor::from_iter(values, &Device::Cpu)?.reshape(shape)?.to_dtype(dtype)
}

fn values(tensor: &Tensor) -> candle_core::Result<Vec<f64>> {
    tensor.to_dtype(Type::F64)?.flatten_all()?.to_vec1()
}

fn off() -> Region {
    Region::f16().off()
}

#[test]
fn a_convolution_in_half_is_candles_in_f32_rounded_once() -> Result {
    for (dtype, place) in [(Type::BF16, 2_f64.powi(-8)), (Type::F16, 2_f64.powi(-11))] {
        for (image, kernel, config) in layers() {
            let operands = [&image[..], &kernel, &kernel[..1]];
            let drawn =
                |place: u8| drawn(operands[usize::from(place)], 1 + u32::from(place), dtype);
            let [x, w, b] = [drawn(0)?, drawn(1)?, drawn(2)?];
            let got = ops::conv2d(&off().open(&Candle), "", &x, &w, Some(&b), config)?;
            assert_eq!(got.dtype(), dtype);
            let wide = |tensor: &Tensor| tensor.to_dtype(Type::F32);
            let own = Conv2d::new(wide(&w)?, Some(wide(&b)?), config).forward(&wide(&x)?)?;
            for (got, wanted) in values(&got)?.into_iter().zip(values(&own)?) {
                // A rounding of the result, and at most 64 of `f32` in sums of terms below 1.
                let bound = place * wanted.abs() + 64.0 * 64.0 * 2_f64.powi(-24);
                assert!((got - wanted).abs() <= bound, "{dtype:?} {config:?}: {got} {wanted}");
            }
        }
    }
    Ok(())
}

/// Gradient of `f` from differences over `f64`.
fn differences(f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Vec<f64>> {
    let flat = values(x)?;
    let at = |index: usize, by: f64| -> Result<f64> {
        let mut moved = flat.clone();
        moved[index] += by;
        Ok(f(&Tensor::from_vec(moved, x.shape(), x.device())?)?.to_scalar::<f64>()?)
    };
    (0..flat.len()).map(|i| Ok((at(i, 1e-5)? - at(i, -1e-5)?) / 2e-5)).collect()
}

fn assert_differences(what: &str, f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result {
    let params = named([("x".to_owned(), Var::from_tensor(x)?)]);
    let grads = backward(&f(&params[0].value)?, &params)?;
    let grad = values(grads[0].value.as_ref().ok_or("cut")?)?;
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
        let (x, w) = (drawn(&image, 1, Type::F64)?, drawn(&kernel, 2, Type::F64)?);
        let b = drawn(&kernel[..1], 3, Type::F64)?;
        assert_differences("image", &|x| loss(x, &w, &b, config), &x)?;
        assert_differences("kernel", &|w| loss(&x, w, &b, config), &w)?;
        assert_differences("bias", &|b| loss(&x, &w, b, config), &b)?;
    }
    Ok(())
}

#[test]
fn gradients_of_rows_that_windows_do_not_end_with_are_those_of_differences() -> Result {
    let config =
        Conv1dConfig { padding: 2, stride: 3, dilation: 2, groups: 2, cudnn_fwd_algo: None };
    let loss = |x: &Tensor, w: &Tensor, b: &Tensor| -> Result<Tensor> {
        let y = ops::conv1d(&off().open(&Candle), "", x, w, Some(b), config)?;
        assert_eq!(y.dims(), [2, 4, 4], "windows reach 12 of 14 places");
        Ok(y.sqr()?.sum_all()?)
    };
    let (x, w) = (drawn(&[2, 4, 10], 1, Type::F64)?, drawn(&[4, 2, 2], 2, Type::F64)?);
    let b = drawn(&[4], 3, Type::F64)?;
    assert_differences("rows", &|x| loss(x, &w, &b), &x)?;
    assert_differences("kernel", &|w| loss(&x, w, &b), &w)?;
    assert_differences("bias", &|b| loss(&x, &w, b), &b)
}

/// Limits of convolutions in candle alone, as the README states them.
#[test]
fn candle_alone_trains_no_convolution_in_bf16_and_no_conv_transpose1d() -> Result {
    let x = Var::from_tensor(&drawn(&[1, 2, 5, 5], 1, Type::BF16)?)?;
    let w = drawn(&[2, 2, 3, 3], 2, Type::BF16)?;
    let error = x.conv2d(&w, 0, 1, 1, 1).err().ok_or("candle has mended it: tell the README")?;
    assert!(error.to_string().contains("unsupported dtype BF16 for op matmul"), "{error}");
    assert!(x.conv_transpose2d(&w, 0, 0, 1, 1)?.sum_all()?.backward().is_err());
    assert!(x.upsample_nearest2d(10, 10)?.sum_all()?.backward().is_err());
    assert!(ops::conv2d(&off().open(&Candle), "", &x, &w, None, config(0, 1, 1, 1)).is_ok());

    let rows = Var::from_tensor(&drawn(&[1, 2, 5], 1, Type::F32)?)?;
    let y = rows.conv_transpose1d(&drawn(&[2, 2, 3], 2, Type::F32)?, 0, 0, 1, 1, 1)?;
    assert!(y.sum_all()?.backward().is_err(), "candle has mended it: say so in the README");
    Ok(())
}

/// Gradient of a sum over a batch, which is the sum of those over its parts: in candle alone it is wrong, and nothing says so.
#[test]
fn candle_alone_has_a_wrong_gradient_of_a_conv1d_kernel_over_a_batch() -> Result {
    let config = Conv1dConfig::default();
    let w = named([("w".to_owned(), Var::from_tensor(&drawn(&[3, 2, 3], 2, Type::F32)?)?)]);
    let x = drawn(&[2, 2, 6], 1, Type::F32)?;
    let region = off();
    let scope = region.open(&Candle);
    let grad = |y: Tensor| -> Result<Vec<f64>> {
        let grads = backward(&y.sqr()?.sum_all()?, &w)?;
        Ok(values(grads[0].value.as_ref().ok_or("cut")?)?)
    };
    let ours = |x: &Tensor| grad(ops::conv1d(&scope, "", x, &w[0].value, None, config)?);
    let theirs = |x: &Tensor| grad(x.conv1d(&w[0].value, 0, 1, 1, 1)?);
    let apart = |whole: Vec<f64>, parts: [Vec<f64>; 2]| {
        let sums = parts[0].iter().zip(&parts[1]).map(|(a, b)| a + b);
        whole.iter().zip(sums).map(|(whole, sum)| (whole - sum).abs()).fold(0.0, f64::max)
    };
    let parts = [x.narrow(0, 0, 1)?, x.narrow(0, 1, 1)?];
    assert!(apart(ours(&x)?, [ours(&parts[0])?, ours(&parts[1])?]) < 1e-5);
    let wrong = apart(theirs(&x)?, [theirs(&parts[0])?, theirs(&parts[1])?]);
    assert!(wrong > 0.1, "candle has mended it: say so in the README; {wrong}");
    Ok(())
}

/// Reason why images are cut to what windows reach.
#[test]
fn candle_alone_has_no_gradient_where_windows_leave_more_rows_than_columns() -> Result {
    let (image, kernel, config) = layers()[1];
    let x = Var::from_tensor(&drawn(&image, 1, Type::F32)?)?;
    let w = drawn(&kernel, 2, Type::F32)?;
    let y = x.conv2d(&w, config.padding, config.stride, config.dilation, config.groups)?;
    assert!(y.sum_all()?.backward().is_err(), "candle has mended it: say so in the README");
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
        for (grad, wanted) in
            backward(&loss, &params)?.iter().zip([vec![4096.0], vec![4096.0, 0.0], vec![4096.0]])
        {
            let grad = grad.value.as_ref().ok_or("cut")?;
            assert_eq!((values(grad)?, grad.dtype()), (wanted, dtype));
        }

        let own = Embedding::new(table.value.clone(), 1).forward(&indices)?;
        let grads = backward(&own.to_dtype(Type::F32)?.sum_all()?, &params)?;
        let stops = if dtype == Type::BF16 { 256.0 } else { 2048.0 };
        let own = values(grads[1].value.as_ref().ok_or("cut")?)?;
        assert_eq!(own, [stops, 0.0], "candle has mended it: say so in the README");
    }
    Ok(())
}

#[test]
fn a_policy_lowers_convolutions_and_leaves_tables_as_they_are() -> Result {
    let region = Region::f16();
    let scope = region.open(&Candle);
    let (image, kernel, config) = layers()[0];
    let (x, w) = (drawn(&image, 1, Type::F32)?, drawn(&kernel, 2, Type::F32)?);
    assert_eq!(ops::conv2d(&scope, "", &x, &w, None, config)?.dtype(), Type::F16);
    let indices = Tensor::new(&[[1_u8, 0], [2, 1]], &Device::Cpu)?;
    for dtype in [Type::BF16, Type::F16, Type::F32] {
        let table = drawn(&[3, 5], 4, dtype)?;
        let rows = ops::embedding(&scope, "", &table, &indices)?;
        assert_eq!((rows.dims(), rows.dtype()), (&[2, 2, 5][..], dtype));
        assert_eq!(values(&rows.get(1)?.get(0)?)?, values(&table.get(2)?)?);
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

#[test]
fn an_index_that_is_no_row_is_refused_and_every_row_counts_whatever_integers_name_it() -> Result {
    let region = off();
    let scope = region.open(&Candle);
    let table = drawn(&[256, 2], 1, Type::BF16)?;
    for indices in [
        Tensor::new(&[0, u32::MAX], &Device::Cpu)?,
        Tensor::new(&[0, i64::MAX], &Device::Cpu)?,
        Tensor::new(&[0_u32, 256], &Device::Cpu)?,
        Tensor::new(&[0_i64, -1], &Device::Cpu)?,
    ] {
        let error = ops::embedding(&scope, "", &table, &indices).err().ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    let last = ops::embedding(&scope, "", &table, &Tensor::new(&[255_u8], &Device::Cpu)?)?;
    assert_eq!(values(&last)?, values(&table.get(255)?)?);
    for (table, indices) in [
        (table.get(0)?, Tensor::new(&[0_u32], &Device::Cpu)?),
        (table, Tensor::new(&[0_f32], &Device::Cpu)?),
    ] {
        let error = ops::embedding(&scope, "", &table, &indices).err().ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    }
    Ok(())
}
