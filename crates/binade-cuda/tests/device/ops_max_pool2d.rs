//! `max_pool2d`, forward and backward, against the CPU.

use crate::{
    agree::{Within, mixed, stranger},
    on_both,
    support::{Result, cuda, kind, noise},
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{MaxPool2d, MaxPool2dConfig, Upload, shape};

crate::tests![
    windows_of_every_kind_are_the_cpus_bit_for_bit,
    ties_and_nans_go_where_the_cpus_go,
    no_images_are_no_images,
    operands_that_do_not_fit_are_refused_with_the_cpus_words,
];

/// Windows side by side, overlapping, with gaps, with padding, not square, and as large as the image.
fn configs() -> [MaxPool2dConfig; 6] {
    let config = |kernel, stride, padding| MaxPool2dConfig { kernel, stride, padding };
    [
        MaxPool2dConfig::square(2),
        config([3, 3], [2, 2], [1, 1]),
        config([3, 2], [1, 1], [1, 0]),
        config([1, 2], [3, 4], [0, 1]),
        config([7, 6], [1, 1], [0, 0]),
        config([2, 5], [usize::MAX, 2], [1, 2]),
    ]
}

/// Of these pixels, both ways.
fn both_ways(pixels: &[f32]) -> Result {
    const IMAGES: [usize; 4] = [2, 3, 7, 6];
    for config in configs() {
        let shape = shape::max_pool2d(&IMAGES, config)?;
        let grad = noise(5, shape::element_count(&shape));
        let operands = vec![(pixels.to_vec(), IMAGES.to_vec()), (grad, shape)];
        on_both!(
            operands,
            |device, x| [
                device.max_pool2d(&x[0], config)?,
                device.max_pool2d_backward(&x[1], &x[0], config)?
            ],
            Within::Bits
        );
    }
    Ok(())
}

fn windows_of_every_kind_are_the_cpus_bit_for_bit() -> Result {
    both_ways(&noise(4, 252))
}

fn ties_and_nans_go_where_the_cpus_go() -> Result {
    let ties: Vec<f32> = noise(4, 252).iter().map(|x| x.signum()).collect();
    both_ways(&ties)?;
    both_ways(&[f32::NEG_INFINITY; 252])?;
    both_ways(&mixed(0, 252))
}

fn no_images_are_no_images() -> Result {
    let none = vec![(vec![], vec![0, 3, 4, 4]), (vec![], vec![0, 3, 2, 2])];
    let config = MaxPool2dConfig::square(2);
    on_both!(
        none,
        |device, x| [
            device.max_pool2d(&x[0], config)?,
            device.max_pool2d_backward(&x[1], &x[0], config)?
        ],
        Within::Bits
    );
    Ok(())
}

fn operands_that_do_not_fit_are_refused_with_the_cpus_words() -> Result {
    fn words<D: Upload + MaxPool2d>(device: &D) -> Result<Vec<String>> {
        let text = |error: D::Error| error.to_string();
        let images = device.upload(&[1.0; 16], &[1, 1, 4, 4], DType::F32).map_err(text)?;
        let halves = device.upload(&[1.0; 4], &[1, 1, 2, 2], DType::F16).map_err(text)?;
        let whole = device.upload_i64(&[1; 16], &[1, 1, 4, 4]).map_err(text)?;
        let two = MaxPool2dConfig::square(2);
        let said = [
            device.max_pool2d(&whole, two).err(),
            device.max_pool2d(&images, MaxPool2dConfig::square(5)).err(),
            device.max_pool2d(&images, MaxPool2dConfig::square(0)).err(),
            device.max_pool2d(&images, MaxPool2dConfig { padding: [2, 0], ..two }).err(),
            device.max_pool2d_backward(&images, &images, two).err(),
            device.max_pool2d_backward(&halves, &images, two).err(),
        ];
        Ok(said.into_iter().map(|error| error.map(text).unwrap_or_default()).collect())
    }
    let want = words(&Cpu)?;
    assert!(want.iter().all(|words| !words.is_empty()), "{want:?}");
    assert_eq!(words(&cuda())?, want);
    let (device, there) = stranger()?;
    let there = there.reshape(&[1, 1, 1, 2])?;
    assert_eq!(kind(device.max_pool2d(&there, MaxPool2dConfig::square(1))), ErrorKind::Mismatch);
    Ok(())
}
