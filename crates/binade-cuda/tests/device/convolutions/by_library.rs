//! Convolutions on a device with cuDNN.

use crate::{
    captures::why,
    products::{is_old, types},
    support::{Result, captured, is_stand_in, noise, own, shifted, warmed},
};
use binade_core::DType;
use binade_core::ops::{Conv2d, Conv2dConfig, Download, ImageLayout, Upload};
use binade_cpu::Cpu;
use binade_cuda::{CaptureError, Cuda, Error, F32Products, Products, Tensor};

crate::tests![
    the_library_and_products_stay_within_one_bound,
    what_the_library_has_no_algorithm_for_is_multiplied,
    what_lies_at_odd_places_is_multiplied,
    the_library_is_asked_once_a_shape_and_pass,
    captured_convolutions_replay_with_what_their_tensors_hold,
    full_and_tf32_are_asked_for_apart_and_are_no_one_captured_step,
];

/// Input, weight and configuration.
type Case = ([usize; 4], [usize; 4], Conv2dConfig);

/// Stride and padding of a convolution without dilation and groups.
const fn moves(stride: [usize; 2], padding: [usize; 2]) -> Conv2dConfig {
    let layout = ImageLayout::ChannelsFirst;
    Conv2dConfig { stride, padding, dilation: [1, 1], groups: 1, layout }
}

/// Returns a convolution of images with the channels last.
const fn last(config: Conv2dConfig) -> Conv2dConfig {
    Conv2dConfig { layout: ImageLayout::ChannelsLast, ..config }
}

/// Kernels of one pixel and of the whole image, steps longer than the kernel, pixels that no step reaches, groups down to one channel
/// each, kernels whose elements lie apart, and images with the channels last.
const CASES: [Case; 12] = [
    ([1, 1, 1, 1], [1, 1, 1, 1], moves([1, 1], [0, 0])),
    ([2, 3, 5, 7], [4, 3, 3, 3], moves([1, 1], [1, 1])),
    ([3, 2, 6, 5], [5, 2, 2, 3], moves([2, 1], [0, 2])),
    ([1, 2, 4, 9], [3, 2, 1, 2], moves([3, 4], [0, 0])),
    ([2, 8, 4, 4], [9, 8, 4, 4], moves([1, 1], [0, 0])),
    ([3, 5, 4, 6], [7, 5, 1, 1], moves([2, 2], [0, 0])),
    ([2, 6, 5, 7], [4, 3, 3, 3], Conv2dConfig { groups: 2, ..moves([1, 2], [1, 1]) }),
    ([3, 5, 6, 4], [10, 1, 3, 2], Conv2dConfig { groups: 5, ..moves([1, 1], [1, 0]) }),
    ([2, 3, 8, 9], [4, 3, 3, 2], Conv2dConfig { dilation: [2, 3], ..moves([1, 1], [2, 1]) }),
    ([2, 5, 7, 6], [4, 6, 3, 3], last(moves([2, 1], [1, 1]))),
    ([3, 4, 6, 5], [7, 5, 1, 1], last(moves([1, 1], [0, 0]))),
    ([2, 5, 7, 6], [4, 3, 3, 2], Conv2dConfig { groups: 2, ..last(moves([1, 2], [1, 1])) }),
];

fn noisy<H: Upload>(device: &H, seed: u64, shape: &[usize], dtype: DType) -> Result<H::Tensor> {
    let values = noise(seed, shape.iter().product());
    Ok(device.upload(&values, shape, dtype).map_err(|error| error.to_string())?)
}

/// Holds a result to the CPU's: within so many units of f32 of the value, or of `least` where the value is smaller, and a narrower
/// one within a unit of its own as well.
fn agrees(
    cuda: &Cuda,
    got: &Tensor,
    want: &binade_cpu::Tensor,
    [units, least]: [f32; 2],
    what: &str,
) -> Result {
    assert_eq!((got.dtype(), got.shape()), (want.dtype(), want.shape()), "{what}");
    let own = |want: f32| match got.dtype() {
        DType::BF16 => want.abs() * 2.0_f32.powi(-7),
        DType::F16 => (want.abs() * 2.0_f32.powi(-10)).max(2.0_f32.powi(-24)),
        _ => 0.0,
    };
    let pairs = cuda.download(got)?.into_iter().zip(Cpu.download(want)?);
    for (index, (got, want)) in pairs.enumerate() {
        let bound = units * f32::EPSILON * want.abs().max(least) + own(want);
        assert!((got - want).abs() <= bound, "{what}: {got:e} for {want:e} at {index}");
    }
    Ok(())
}

/// Checks all passes of a layer, and the number of its convolutions that the library was given.
fn assert_layer(cuda: &Cuda, case: &Case, dtype: DType, given: [u64; 4]) -> Result {
    let ((x, w, config), what) = (*case, format!("{case:?} {dtype}"));
    let both = |seed, shape: &[usize]| -> Result<_> {
        Ok((noisy(cuda, seed, shape, dtype)?, noisy(&Cpu, seed, shape, dtype)?))
    };
    let ((x, of_x), (w, of_w), (b, of_b)) = (both(1, &x)?, both(2, &w)?, both(3, &w[..1])?);
    let mut before = 0;
    let mut found = Vec::new();
    let mut count = || {
        let now = cuda.counters().convolutions;
        found.push(now - std::mem::replace(&mut before, now));
    };
    let near = [64.0, 2.0];
    let want = Cpu.conv2d(&of_x, &of_w, None, config)?;
    agrees(cuda, &cuda.conv2d(&x, &w, None, config)?, &want, near, &what)?;
    count();
    let want = Cpu.conv2d(&of_x, &of_w, Some(&of_b), config)?;
    let got = cuda.conv2d(&x, &w, Some(&b), config)?;
    agrees(cuda, &got, &want, near, &format!("{what} with a bias"))?;
    count();
    let (g, of_g) = both(4, got.shape())?;
    let want = Cpu.conv2d_backward(&of_g, &of_x, &of_w, true, config)?;
    let got = cuda.conv2d_backward(&g, &x, &w, true, config)?;
    count();
    agrees(cuda, &got.input, &want.input, near, &format!("{what} input"))?;
    let many = [64.0, 50.0];
    agrees(cuda, &got.weight, &want.weight, many, &format!("{what} weight"))?;
    let alone = cuda.conv2d_backward_of_weight(&g, &x, &w, true, config)?;
    count();
    assert_eq!(cuda.to_bits(&alone.weight)?, cuda.to_bits(&got.weight)?, "{what} weight alone");
    assert_eq!(found, given, "{what}: forward, with a bias, backward, of the weight alone");
    Ok(())
}

fn the_library_and_products_stay_within_one_bound() -> Result {
    let is_sure = is_stand_in();
    for dtype in types() {
        for case in &CASES {
            assert_layer(&own().with_products(Products::Own), case, dtype, [0; 4])?;
            // In sixteen bits a bias must be added before the one rounding, which the library has done by then.
            let with_bias = u64::from(dtype == DType::F32);
            if is_sure {
                assert_layer(&own(), case, dtype, [1, with_bias, 2, 1])?;
            }
        }
    }
    Ok(())
}

/// The stand-in has no algorithm if a window may lie in padding as a whole; a real library may have others.
fn what_the_library_has_no_algorithm_for_is_multiplied() -> Result {
    if !is_stand_in() {
        return Ok(());
    }
    for dtype in types() {
        let case = ([2, 1, 3, 3], [2, 1, 3, 3], moves([1, 1], [4, 0]));
        let cuda = own();
        assert_layer(&cuda, &case, dtype, [0; 4])?;
        let searches = cuda.counters().searches;
        let (x, w) = (noisy(&cuda, 1, &case.0, dtype)?, noisy(&cuda, 2, &case.1, dtype)?);
        cuda.conv2d(&x, &w, None, case.2)?;
        assert_eq!(cuda.counters().searches, searches, "a refusal is kept as well");
    }
    Ok(())
}

/// One operand is misaligned, the others are at their buffers' starts. Each of the three passes is the library's if it can be.
fn what_lies_at_odd_places_is_multiplied() -> Result {
    let (config, dtype) = (Conv2dConfig::default(), DType::F16);
    let shapes = [vec![2, 4, 5, 4], vec![3, 4, 2, 2], vec![2, 3, 4, 3]];
    for (odd, given) in [(0, [0, 1]), (1, [0, 1]), (2, [1, 0])] {
        let (cuda, what) = (own(), format!("odd {odd}"));
        let mut twins = Vec::new();
        for (place, shape) in shapes.iter().enumerate() {
            let values = noise(place as u64, shape.iter().product());
            let here = shifted(&cuda, &values, dtype, usize::from(place == odd)).reshape(shape)?;
            twins.push((here, Cpu.upload(&values, shape, dtype)?));
        }
        let [(x, of_x), (w, of_w), (g, of_g)] = &twins[..] else { panic!("three operands") };
        let near = [64.0, 50.0];
        let want = Cpu.conv2d(of_x, of_w, None, config)?;
        agrees(&cuda, &cuda.conv2d(x, w, None, config)?, &want, near, &what)?;
        let forward = cuda.counters().convolutions;
        let want = Cpu.conv2d_backward(of_g, of_x, of_w, false, config)?;
        let got = cuda.conv2d_backward(g, x, w, false, config)?;
        agrees(&cuda, &got.input, &want.input, near, &format!("{what} input"))?;
        agrees(&cuda, &got.weight, &want.weight, near, &format!("{what} weight"))?;
        let found = [forward, cuda.counters().convolutions - forward];
        assert!(!is_stand_in() || found == given, "{what}: {found:?}");
    }
    Ok(())
}

/// Computes a layer without a bias, and its gradients.
fn layer(cuda: &Cuda, [x, w]: [&Tensor; 2]) -> Result<[Tensor; 3], Error> {
    let config = moves([1, 2], [1, 1]);
    let y = cuda.conv2d(x, w, None, config)?;
    let grads = cuda.conv2d_backward(&y, x, w, false, config)?;
    Ok([y, grads.input, grads.weight])
}

const X: [usize; 4] = [2, 3, 6, 8];
const W: [usize; 4] = [4, 3, 3, 3];

fn the_library_is_asked_once_a_shape_and_pass() -> Result {
    let cuda = own().with_products(Products::Library);
    let dtype = DType::F16;
    let (x, w) = (noisy(&cuda, 1, &X, dtype)?, noisy(&cuda, 2, &W, dtype)?);
    let other = noisy(&cuda, 3, &X, dtype)?;
    let given = || cuda.counters().searches;
    for _ in 0..2 {
        layer(&cuda, [&x, &w])?;
        layer(&cuda, [&other, &w])?;
        assert_eq!(given(), 3, "other tensors of the same shape are the same question");
    }
    let part = noisy(&cuda, 4, &[1, 3, 6, 8], dtype)?;
    for _ in 0..2 {
        layer(&cuda, [&part, &w])?;
        assert_eq!(given(), 6, "another shape");
    }
    let wide = [noisy(&cuda, 5, &X, DType::F32)?, noisy(&cuda, 6, &W, DType::F32)?];
    for _ in 0..2 {
        layer(&cuda, wide.each_ref())?;
        assert_eq!(given(), 9, "another type");
    }
    Ok(())
}

fn bits(cuda: &Cuda, tensors: &[Tensor; 3]) -> Result<Vec<Vec<u8>>> {
    tensors.iter().map(|tensor| Ok(cuda.to_bits(tensor)?)).collect()
}

fn captured_convolutions_replay_with_what_their_tensors_hold() -> Result {
    for dtype in types() {
        let cuda = own();
        let (x, w) = (noisy(&cuda, 1, &X, dtype)?, noisy(&cuda, 2, &W, dtype)?);
        let write = |number: u64| -> Result {
            cuda.write(&x, &noise(10 * number, x.len()))?;
            Ok(cuda.write(&w, &noise(10 * number + 1, w.len()))?)
        };
        let mut want = Vec::new();
        for number in 0..4 {
            write(number)?;
            want.push(bits(&cuda, &layer(&cuda, [&x, &w])?)?);
        }
        let searches = cuda.counters().searches;
        assert_eq!(cuda.counters().convolutions, 4 * 3);
        let step = || layer(&cuda, [&x, &w]);
        let captured = captured(&cuda, step)?;
        for (number, want) in want.iter().enumerate() {
            write(number as u64)?;
            // Work between replays takes other memory than the graph's and its workspace's.
            step()?;
            let got = bits(&cuda, &captured.replay()?)?;
            assert!(got == *want, "{dtype}, replay {number}");
        }
        assert_eq!(cuda.counters().searches, searches, "nothing is asked twice");
    }
    Ok(())
}

fn full_and_tf32_are_asked_for_apart_and_are_no_one_captured_step() -> Result {
    if is_old() {
        return Ok(());
    }
    let cuda = own();
    let (x, w) = (noisy(&cuda, 1, &X, DType::F32)?, noisy(&cuda, 2, &W, DType::F32)?);
    let step = || layer(&cuda, [&x, &w]);
    let full = bits(&cuda, &step()?)?;
    let _ = cuda.clone().with_f32_products(F32Products::Tf32)?;
    let tf32 = bits(&cuda, &step()?)?;
    assert!(!is_stand_in() || full != tf32);
    assert_eq!((cuda.counters().searches, cuda.counters().tf32), (6, 3));
    assert!(cuda.convolutions()?.to_string().ends_with(", f32 by TF32"));
    let capture = warmed(&cuda, step)?;
    let _ = cuda.clone().with_f32_products(F32Products::Full)?;
    let refused = why(capture.capture(|| step().map(drop)));
    assert_eq!(refused, ("cudnnConvolutionForward", CaptureError::Changed { number: 0 }));
    assert!(bits(&cuda, &step()?)? == full, "and the handle goes on in full");
    assert_eq!(cuda.counters().searches, 6, "both are kept");
    Ok(())
}
