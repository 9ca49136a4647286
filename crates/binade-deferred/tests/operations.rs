//! Operations, each against the CPU: shapes and types at once, bits when they are read, and the same refusals.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

mod common;

use binade_autocast::Autocast;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_deferred::Deferred;
use binade_ops::{
    AffineGrads, BatchNormConfig, Conv2dConfig, MaxPool2dConfig, NormGrads, Ops, RunningStats,
};
use common::tensor;

/// Device with every operation, and a way to make operands.
struct On<'d, D> {
    device: &'d D,
    dtype: DType,
}

impl<D: Ops + Autocast> On<'_, D> {
    fn tensor(&self, shape: &[usize], seed: u32) -> D::Tensor {
        tensor(self.device, shape, seed, self.dtype)
    }

    fn f32(&self, shape: &[usize], seed: u32) -> D::Tensor {
        tensor(self.device, shape, seed, DType::F32)
    }

    fn stats(&self) -> RunningStats<D::Tensor> {
        RunningStats {
            mean: self.f32(&[3], 8),
            var: self.device.fill(0.5, &[3], DType::F32).unwrap(),
        }
    }
}

fn products<D: Ops + Autocast>(on: &On<'_, D>) -> Result<Vec<D::Tensor>, D::Error> {
    let d = on.device;
    let (a, b) = (on.tensor(&[2, 3, 4], 1), on.tensor(&[2, 4, 5], 2));
    let (m, n) = (on.tensor(&[3, 4], 3), on.tensor(&[4, 5], 4));
    let mut out = vec![d.matmul(&m, &n)?, d.bmm(&a, &b)?];
    out.extend(d.matmul_backward(&out[0], &m, &n)?);
    out.extend(d.bmm_backward(&out[1], &a, &b)?);
    let (w, bias) = (on.tensor(&[5, 4], 5), on.tensor(&[5], 6));
    for bias in [None, Some(&bias)] {
        let y = d.linear(&a, &w, bias)?;
        out.extend(affine(d.linear_backward(&y, &a, &w, bias.is_some())?));
        out.push(y);
    }
    let (x, k, config) = (on.tensor(&[2, 3, 5, 4], 7), on.tensor(&[5, 3, 2, 3], 8), conv());
    for bias in [None, Some(&bias)] {
        let y = d.conv2d(&x, &k, bias, config)?;
        out.extend(affine(d.conv2d_backward(&y, &x, &k, bias.is_some(), config)?));
        out.push(y);
    }
    Ok(out)
}

fn conv() -> Conv2dConfig {
    Conv2dConfig { stride: [1, 2], padding: [1, 0] }
}

fn affine<T>(grads: AffineGrads<T>) -> impl Iterator<Item = T> {
    [grads.input, grads.weight].into_iter().chain(grads.bias)
}

fn norm<T>(grads: NormGrads<T>) -> [T; 3] {
    [grads.input, grads.weight, grads.bias]
}

fn norms<D: Ops + Autocast>(on: &On<'_, D>) -> Result<Vec<D::Tensor>, D::Error> {
    let (d, running, config) = (on.device, on.stats(), BatchNormConfig::default());
    let (x, rows) = (on.tensor(&[2, 3, 2, 2], 1), on.tensor(&[4, 3], 2));
    let mut out = Vec::new();
    // The parameters are of the input's type, and of f32.
    for (w, b) in [(on.tensor(&[3], 3), on.tensor(&[3], 4)), (on.f32(&[3], 3), on.f32(&[3], 4))] {
        let y = d.layer_norm(&rows, &w, &b, 1e-5)?;
        out.extend(norm(d.layer_norm_backward(&y, &rows, &w, 1e-5)?));
        let done = d.batch_norm(&x, &w, &b, &running, config)?;
        out.extend(norm(d.batch_norm_backward(&done.output, &x, &w, config.eps)?));
        out.push(d.batch_norm_inference(&x, &w, &b, &done.running, config.eps)?);
        out.extend([y, done.output, done.running.mean, done.running.var]);
    }
    Ok(out)
}

fn rows<D: Ops + Autocast>(on: &On<'_, D>) -> Result<Vec<D::Tensor>, D::Error> {
    let (d, dtype) = (on.device, on.dtype);
    let (x, y) = (on.tensor(&[4, 3], 1), on.tensor(&[4, 3], 2));
    let (labels, one) = (d.upload_i64(&[2, 0, 1, 2], &[4])?, d.fill(1.5, &[], DType::F32)?);
    let (soft, log) = (d.softmax(&x)?, d.log_softmax(&x)?);
    let mut out = vec![d.softmax_backward(&y, &soft)?, d.log_softmax_backward(&y, &log)?];
    out.extend([d.cross_entropy(&x, &labels)?, d.mse_loss(&x, &y)?, d.sum(&x)?, d.mean(&x)?]);
    out.push(d.cross_entropy_backward(&one, &x, &labels)?);
    out.extend(d.mse_loss_backward(&one, &x, &y)?);
    out.extend([d.sum_backward(&one, &[4, 3], dtype)?, d.mean_backward(&one, &[4, 3], dtype)?]);
    let picked = d.embedding(&x, &labels)?;
    out.push(d.embedding_backward(&picked, &labels, 4)?);
    out.extend([soft, log, picked]);
    Ok(out)
}

fn pointwise<D: Ops + Autocast>(on: &On<'_, D>) -> Result<Vec<D::Tensor>, D::Error> {
    let d = on.device;
    let (x, y, b) = (on.tensor(&[2, 3, 4, 4], 1), on.tensor(&[2, 3, 4, 4], 2), on.tensor(&[3], 3));
    let mut out = vec![d.relu(&x)?, d.tanh(&x)?, d.gelu(&x)?, d.add(&x, &y)?, d.mul(&x, &y)?];
    out.push(d.relu_backward(&y, &out[0])?);
    out.push(d.tanh_backward(&y, &out[1])?);
    out.push(d.gelu_backward(&y, &x)?);
    out.extend(d.add_backward(&y)?);
    out.extend(d.mul_backward(&y, &x, &y)?);
    out.push(d.bias_add(&x, &b)?);
    out.extend(d.bias_add_backward(&y)?);
    let key = d.upload_i64(&[7, 1], &[2])?;
    out.extend([d.dropout(&x, &key, 0.25)?, d.dropout_backward(&y, &key, 0.25)?]);
    let pooled = d.max_pool2d(&x, MaxPool2dConfig::square(2))?;
    out.push(d.max_pool2d_backward(&pooled, &x, MaxPool2dConfig::square(2))?);
    out.extend([pooled, d.reshape(&x, &[6, 16])?, d.fill(0.1, &[2], on.dtype)?]);
    for to in [DType::BF16, DType::F16, DType::F32] {
        out.push(d.cast(&x, to)?);
    }
    Ok(out)
}

fn everything<D: Ops + Autocast>(on: &On<'_, D>) -> Result<Vec<D::Tensor>, D::Error> {
    Ok([products(on)?, norms(on)?, rows(on)?, pointwise(on)?].into_iter().flatten().collect())
}

#[test]
fn every_operation_has_the_cpus_shape_and_type_at_once_and_its_bits_later() {
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let device = Deferred::new();
        let now = everything(&On { device: &Cpu, dtype }).unwrap();
        let late = everything(&On { device: &device, dtype }).unwrap();
        assert_eq!((now.len(), device.reads()), (late.len(), 0));
        for (i, (now, late)) in now.iter().zip(&late).enumerate() {
            assert_eq!((late.shape(), late.dtype()), (now.shape(), now.dtype()), "{dtype}, {i}");
        }
        for (i, (now, late)) in now.iter().zip(&late).enumerate() {
            assert_eq!(device.to_bits(late).unwrap(), now.to_bits(), "{dtype}, result {i}");
        }
    }
}

/// Calls that do not fit, and the message of each.
fn mistakes<D: Ops + Autocast>(device: &D) -> Vec<String> {
    let on = On { device, dtype: DType::F32 };
    let (d, config) = (device, BatchNormConfig::default());
    let (v, m, low) = (on.f32(&[3], 1), on.f32(&[2, 3], 2), tensor(d, &[2, 3], 2, DType::F16));
    let (image, ints) = (on.f32(&[1, 3, 2, 2], 3), d.upload_i64(&[1, 2], &[2]).unwrap());
    let (gone, one) = (MaxPool2dConfig::square(0), d.fill(1.0, &[], DType::F16).unwrap());
    let lone = on.f32(&[1, 3], 4);
    let said = [
        d.matmul(&m, &m).err(),
        d.matmul_backward(&v, &m, &on.f32(&[3, 2], 3)).err(),
        d.bmm(&m, &m).err(),
        d.add(&m, &low).err(),
        d.add(&m, &v).err(),
        d.mul_backward(&v, &m, &m).err(),
        d.linear(&m, &v, None).err(),
        d.linear(&m, &low, None).err(),
        d.linear_backward(&low, &m, &on.f32(&[3, 3], 1), true).err(),
        d.conv2d(&image, &m, None, conv()).err(),
        d.conv2d(&image, &image, None, Conv2dConfig { stride: [0, 1], ..conv() }).err(),
        d.bias_add(&m, &ints).err(),
        d.bias_add(&low, &v).err(),
        d.layer_norm(&m, &v, &on.f32(&[2], 1), 1e-5).err(),
        d.layer_norm(&m, &tensor(d, &[3], 1, DType::F16), &v, 1e-5).err(),
        d.batch_norm(&lone, &v, &v, &on.stats(), config).err(),
        d.batch_norm(&m, &v, &v, &RunningStats { mean: ints.clone(), var: v.clone() }, config)
            .err(),
        d.batch_norm_backward(&low, &m, &v, 1e-5).err(),
        d.softmax(&one).err(),
        d.softmax_backward(&m, &v).err(),
        d.gelu(&ints).err(),
        d.cross_entropy(&m, &m).err(),
        d.cross_entropy(&m, &v).err(),
        d.cross_entropy_backward(&one, &m, &ints).err(),
        d.mse_loss(&m, &v).err(),
        d.mse_loss_backward(&m, &m, &m).err(),
        d.sum(&ints).err(),
        d.sum_backward(&one, &[2], DType::F32).err(),
        d.mean_backward(&on.f32(&[], 1), &[2], DType::I64).err(),
        d.embedding(&v, &ints).err(),
        d.embedding(&m, &m).err(),
        d.embedding_backward(&lone, &ints, 2).err(),
        d.dropout(&m, &ints, 1.5).err(),
        d.dropout(&m, &v, 0.5).err(),
        d.dropout(&m, &on.f32(&[2], 1), 0.5).err(),
        d.max_pool2d(&m, MaxPool2dConfig::square(2)).err(),
        d.max_pool2d(&image, gone).err(),
        d.relu(&ints).err(),
        d.relu_backward(&m, &low).err(),
        d.reshape(&m, &[7]).err(),
        d.fill(1.0, &[2], DType::I64).err(),
        d.cast(&m, DType::I64).err(),
        d.upload(&[1.0], &[2], DType::F32).err(),
    ];
    said.into_iter()
        .map(|error| error.map_or_else(|| "nothing".into(), |e| e.to_string()))
        .collect()
}

#[test]
fn what_does_not_fit_is_refused_at_once_in_the_cpus_words() {
    let device = Deferred::strict();
    let (here, there) = (mistakes(&Cpu), mistakes(&device));
    for (i, (here, there)) in here.iter().zip(&there).enumerate() {
        assert_eq!(here, there, "mistake {i}");
    }
    assert!(!here.iter().any(|said| said == "nothing"), "{here:#?}");
}
