//! Normalisation over the batch, in training, inference and backward, against the CPU.

use crate::support::{
    Result, TYPES, assert_near, both, kind, narrow, noise, wgpu, wide, with_mass,
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{BatchNorm, BatchNormConfig, Download, Ops, RunningStats, Upload};
use binade_wgpu::{Tensor, Wgpu};

crate::tests![
    batches_and_their_gradients_are_near_the_cpus,
    slices_are_normalised_as_what_they_hold,
    the_same_batch_gives_the_same_bits,
    a_large_mean_leaves_the_variance_alone,
    the_running_statistics_that_are_passed_in_stay,
    what_is_not_finite_stays_in_its_channel,
    no_channels_or_no_samples_give_nothing,
    operands_that_do_not_fit_are_refused,
    what_is_too_large_for_a_binding_is_refused,
];

const CONFIG: BatchNormConfig = BatchNormConfig { momentum: 0.1, eps: EPS };
const EPS: f32 = 1e-5;

/// Additions on the longest way through a team, and what follows them.
const ROUNDINGS: f64 = 60.0;

/// One sample for a channel and more than a team has, an odd count of each, and no inner axes.
const SHAPES: [&[usize]; 7] =
    [&[2, 1], &[7, 3], &[2, 31], &[3, 4, 5, 7], &[1, 2, 16, 17], &[9, 33, 1, 2], &[2100, 1]];

/// An input, its gradient, parameters and running statistics.
struct Layer<T> {
    x: T,
    g: T,
    w: T,
    b: T,
    running: RunningStats<T>,
}

/// The same here and on the CPU, there in f32, so that results of it are rounded to f32 alone.
#[expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]
fn layers(
    wgpu: &Wgpu,
    shape: &[usize],
    [dtype, of_weight]: [DType; 2],
) -> (Layer<Tensor>, Layer<binade_cpu::Tensor>) {
    let len = shape.iter().product();
    let tensor = |seed, dtype| both(wgpu, &noise(seed, len), shape, dtype);
    let vector = |seed, dtype| both(wgpu, &noise(seed, shape[1]), &[shape[1]], dtype);
    let vars: Vec<f32> = noise(6, shape[1]).iter().map(|x| 1.5 + x).collect();
    let (x, p) = tensor(1, dtype);
    let (g, q) = tensor(2, dtype);
    let (w, r) = vector(3, of_weight);
    let (b, s) = vector(4, of_weight);
    let (mean, at_mean) = vector(5, DType::F32);
    let (var, at_var) = both(wgpu, &vars, &[shape[1]], DType::F32);
    let [p, q, r, s] = [p, q, r, s].map(|tensor| wide(&tensor));
    let on_cpu =
        Layer { x: p, g: q, w: r, b: s, running: RunningStats { mean: at_mean, var: at_var } };
    (Layer { x, g, w, b, running: RunningStats { mean, var } }, on_cpu)
}

fn batches_and_their_gradients_are_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for of_weight in [dtype, DType::F32] {
            for shape in SHAPES {
                let (here, there) = layers(&wgpu, shape, [dtype, of_weight]);
                assert_layers(&wgpu, &here, &there, &format!("{shape:?} {of_weight}"))?;
            }
        }
    }
    Ok(())
}

fn assert_layers(
    wgpu: &Wgpu,
    here: &Layer<Tensor>,
    there: &Layer<binade_cpu::Tensor>,
    what: &str,
) -> Result {
    let Layer { x, g, w, b, running } = here;
    let Layer { x: p, g: q, w: r, b: s, running: kept } = there;
    let (dtype, of_weight) = (x.dtype(), w.dtype());
    // How far the small deviations of few samples raise what the mean is off by: 1 / √(var + eps) of each channel.
    let samples = f64::from(u32::try_from(x.len() / w.len())?);
    let near = |got: &Tensor, want: &binade_cpu::Tensor, mass: f64, dtype| {
        assert_eq!(got.dtype(), dtype);
        let want = with_mass(want, |_, value| mass * (1.0 + value.abs()));
        assert_near(&wgpu.download(got)?, &want, dtype, what);
        Ok::<_, binade_wgpu::Error>(())
    };
    let raised = ROUNDINGS * largest_rstd(p)?;

    let got = wgpu.batch_norm(x, w, b, running, CONFIG)?;
    let want = Cpu.batch_norm(p, r, s, kept, CONFIG)?;
    assert_eq!(got.output.shape(), x.shape());
    near(&got.output, &want.output, raised, dtype)?;
    near(&got.running.mean, &want.running.mean, ROUNDINGS, DType::F32)?;
    near(&got.running.var, &want.running.var, ROUNDINGS, DType::F32)?;

    let got = wgpu.batch_norm_inference(x, w, b, running, EPS)?;
    let want = Cpu.batch_norm_inference(p, r, s, kept, EPS)?;
    near(&got, &want, 16.0, dtype)?;

    let got = wgpu.batch_norm_backward(g, x, w, EPS)?;
    let want = Cpu.batch_norm_backward(q, p, r, EPS)?;
    near(&got.input, &want.input, 4.0 * raised * largest_rstd(p)?, dtype)?;
    near(&got.weight, &want.weight, samples * raised, of_weight)?;
    near(&got.bias, &want.bias, samples * ROUNDINGS, of_weight)?;
    Ok(())
}

/// The largest `1 / √(var + eps)` of a channel: an input of a mean of 0 and a channel's own deviation is raised by it.
fn largest_rstd(x: &binade_cpu::Tensor) -> Result<f64> {
    let channels = x.shape()[1];
    let inner: usize = x.shape()[2..].iter().product();
    let values = Cpu.download(x)?;
    let of = |channel| {
        let all = values.iter().enumerate().filter(move |(i, _)| i / inner % channels == channel);
        let all: Vec<f64> = all.map(|(_, x)| f64::from(*x)).collect();
        let n = all.iter().fold(0.0, |n, _| n + 1.0);
        let mean = all.iter().sum::<f64>() / n;
        let var = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        (var + f64::from(EPS)).sqrt().recip()
    };
    Ok((0..channels).map(of).fold(1.0, f64::max))
}

fn slices_are_normalised_as_what_they_hold() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for start in 1..4 {
            let (here, _) = layers(&wgpu, &[5, 3, 3], [dtype; 2]);
            let slice = |tensor: &Tensor| -> Result<Tensor> {
                let mut values = vec![f32::NAN; start];
                values.extend(wgpu.download(tensor)?);
                let padded = wgpu.upload(&values, &[values.len()], tensor.dtype())?;
                Ok(padded.slice(start, tensor.len())?.reshape(tensor.shape())?)
            };
            let Layer { x, g, w, b, running } = &here;
            let moved = RunningStats { mean: slice(&running.mean)?, var: slice(&running.var)? };
            let (sx, sg, sw, sb) = (slice(x)?, slice(g)?, slice(w)?, slice(b)?);
            let want = wgpu.batch_norm(x, w, b, running, CONFIG)?;
            let got = wgpu.batch_norm(&sx, &sw, &sb, &moved, CONFIG)?;
            same(&wgpu, &got.output, &want.output)?;
            same(&wgpu, &got.running.mean, &want.running.mean)?;
            same(&wgpu, &got.running.var, &want.running.var)?;
            let want = wgpu.batch_norm_inference(x, w, b, running, EPS)?;
            same(&wgpu, &wgpu.batch_norm_inference(&sx, &sw, &sb, &moved, EPS)?, &want)?;
            let want = wgpu.batch_norm_backward(g, x, w, EPS)?;
            let got = wgpu.batch_norm_backward(&sg, &sx, &sw, EPS)?;
            same(&wgpu, &got.input, &want.input)?;
            same(&wgpu, &got.weight, &want.weight)?;
            same(&wgpu, &got.bias, &want.bias)?;
        }
    }
    Ok(())
}

fn same(wgpu: &Wgpu, got: &Tensor, want: &Tensor) -> Result {
    assert_eq!(wgpu.to_bits(got)?, wgpu.to_bits(want)?);
    Ok(())
}

fn the_same_batch_gives_the_same_bits() -> Result {
    let wgpu = wgpu();
    let (Layer { x, g, w, b, running }, _) = layers(&wgpu, &[50, 5, 7], [DType::F32; 2]);
    let [one, two] = [(); 2].map(|()| wgpu.batch_norm(&x, &w, &b, &running, CONFIG));
    same(&wgpu, &one?.output, &two?.output)?;
    let [one, two] = [(); 2].map(|()| wgpu.batch_norm_backward(&g, &x, &w, EPS));
    same(&wgpu, &one?.weight, &two?.weight)
}

fn a_large_mean_leaves_the_variance_alone() -> Result {
    let wgpu = wgpu();
    let values: Vec<f32> = (0..128_u8).map(|i| 16384.0 + f32::from(i % 2) - 0.5).collect();
    let x = wgpu.upload(&values, &[128, 1], DType::F32)?;
    let one = wgpu.upload(&[1.0], &[1], DType::F32)?;
    let zero = wgpu.upload(&[0.0], &[1], DType::F32)?;
    let running = RunningStats { mean: zero.clone(), var: zero.clone() };
    let config = BatchNormConfig { momentum: 1.0, eps: EPS };
    let got = wgpu.batch_norm(&x, &one, &zero, &running, config)?;
    let var = wgpu.download(&got.running.var)?[0];
    assert!((var - 0.25 * 128.0 / 127.0).abs() < 1e-5, "{var}");
    for (x, y) in values.iter().zip(wgpu.download(&got.output)?) {
        assert!((y - (x - 16384.0) * 2.0).abs() < 1e-2, "{x} {y}");
    }
    Ok(())
}

fn the_running_statistics_that_are_passed_in_stay() -> Result {
    let wgpu = wgpu();
    let (Layer { x, w, b, running, .. }, there) = layers(&wgpu, &[6, 5], [DType::F16; 2]);
    wgpu.batch_norm(&x, &w, &b, &running, CONFIG)?;
    assert_eq!(wgpu.download(&running.mean)?, Cpu.download(&there.running.mean)?);
    assert_eq!(wgpu.download(&running.var)?, Cpu.download(&there.running.var)?);
    Ok(())
}

fn what_is_not_finite_stays_in_its_channel() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for odd in [f32::NAN, f32::INFINITY] {
            let x = wgpu.upload(&[1.0, odd, 3.0, 4.0, 5.0, 7.0], &[3, 2], dtype)?;
            let w = wgpu.upload(&[1.0; 2], &[2], DType::F32)?;
            let running = RunningStats { mean: w.clone(), var: w.clone() };
            let got = wgpu.batch_norm(&x, &w, &w, &running, CONFIG)?;
            let is_nan = |tensor| -> Result<Vec<bool>> {
                Ok(wgpu.download(tensor)?.into_iter().map(f32::is_nan).collect())
            };
            assert_eq!(is_nan(&got.output)?, [false, true, false, true, false, true]);
            assert_eq!(is_nan(&got.running.var)?, [false, true]);
            let got = wgpu.batch_norm_backward(&x, &x, &w, EPS)?;
            assert_eq!(is_nan(&got.input)?, [false, true, false, true, false, true]);
            assert_eq!(is_nan(&got.weight)?, [false, true]);
        }
    }
    Ok(())
}

fn no_channels_or_no_samples_give_nothing() -> Result {
    let wgpu = wgpu();
    let (Layer { x, g, w, b, running }, _) = layers(&wgpu, &[3, 0, 2], [DType::F16; 2]);
    let got = wgpu.batch_norm(&x, &w, &b, &running, CONFIG)?;
    assert_eq!((got.output.shape(), got.running.mean.shape()), (&[3, 0, 2][..], &[0][..]));
    assert_eq!(wgpu.batch_norm_backward(&g, &x, &w, EPS)?.weight.shape(), [0]);
    let (Layer { x, g, w, b, running }, _) = layers(&wgpu, &[3, 2, 0], [DType::F16; 2]);
    assert_eq!(wgpu.batch_norm_inference(&x, &w, &b, &running, EPS)?.shape(), [3, 2, 0]);
    let refused = wgpu.batch_norm(&x, &w, &b, &running, CONFIG);
    assert_eq!(kind(refused), ErrorKind::InvalidArgument);
    assert_eq!(kind(wgpu.batch_norm_backward(&g, &x, &w, EPS)), ErrorKind::InvalidArgument);
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let (Layer { x, w, b, running, .. }, _) = layers(&wgpu, &[4, 3], [DType::F32; 2]);
    let short = b.slice(0, 2)?;
    assert_eq!(kind(wgpu.batch_norm(&x, &w, &short, &running, CONFIG)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.batch_norm_backward(&short, &x, &w, EPS)), ErrorKind::Mismatch);
    let half = wgpu.upload(&[1.0; 3], &[3], DType::F16)?;
    let narrow = RunningStats { mean: half, var: running.var.clone() };
    let refused = wgpu.batch_norm_inference(&x, &w, &b, &narrow, EPS);
    assert_eq!(kind(refused), ErrorKind::Mismatch);
    Ok(())
}

fn what_is_too_large_for_a_binding_is_refused() -> Result {
    let narrow = narrow();
    let (Layer { x, g, w, b, running }, _) = layers(&narrow, &[600, 2], [DType::F32; 2]);
    let refused = narrow.batch_norm(&x, &w, &b, &running, CONFIG);
    assert_eq!(kind(refused), ErrorKind::Unsupported);
    assert_eq!(kind(narrow.batch_norm_backward(&g, &x, &w, EPS)), ErrorKind::Unsupported);
    Ok(())
}

/// Whatever is generic over all operations takes this backend.
const _: fn() = || {
    fn has_all<D: Ops>() {}
    has_all::<Wgpu>();
};
