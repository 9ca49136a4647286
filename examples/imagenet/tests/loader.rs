//! Batches are the same whatever loads them.

use crate::common::{PICTURES, file};
use binade_example_imagenet::data::{Batch, Data, Loader, View, order};
use image::{DynamicImage, GrayImage, ImageBuffer, Luma, Rgb, Rgba, RgbaImage};
use std::fs;

fn batches(random: Option<[u64; 2]>, workers: usize) -> Vec<Batch> {
    let data = Data::open(&PICTURES).unwrap();
    let order = order(1, 2, data.train.len());
    let batches = order.chunks(5).map(<[usize]>::to_vec).collect();
    let loader = Loader::new(&data.train, batches, View { size: 12, random }, workers);
    loader.collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_number_of_workers_changes_no_batch() {
    let one = batches(Some([1, 2]), 1);
    let sizes: Vec<_> = one.iter().map(|batch| batch.labels.len()).collect();
    assert_eq!(sizes, [5, 5, 5, 5, 5, 5, 2]);
    assert!(one.iter().all(|batch| batch.pixels.len() == 3 * 144 * batch.labels.len()));
    for workers in [2, 3, 9] {
        assert!(batches(Some([1, 2]), workers) == one, "{workers} workers");
    }
}

#[test]
fn an_epoch_and_the_centre_are_other_pixels_of_the_same_images() {
    let [first, second, centre] = [Some([1, 2]), Some([1, 3]), None].map(|view| batches(view, 2));
    for other in [&second, &centre] {
        for (a, b) in first.iter().zip(other) {
            assert!(a.labels == b.labels && a.pixels != b.pixels);
        }
    }
}

#[test]
fn the_contents_of_an_image_tell_its_format() {
    let png = PICTURES.join("val/cool-dots/001.png");
    let folder = file("renamed");
    for path in ["train/a", "val/a"].map(|path| folder.join(path)) {
        fs::create_dir_all(&path).unwrap();
        fs::copy(&png, path.join("1.jpg")).unwrap();
    }
    let data = Data::open(&folder).unwrap();
    let view = View { size: 8, random: None };
    let batch = Loader::new(&data.val, vec![vec![0]], view, 1).next().unwrap().unwrap();
    assert_eq!(batch.labels, [0]);
}

#[test]
fn images_of_other_channels_and_depths_are_read_as_rgb() {
    let folder = file("depths");
    let pictures = [
        DynamicImage::ImageLuma8(GrayImage::from_pixel(9, 9, Luma([200]))),
        DynamicImage::ImageRgba8(RgbaImage::from_pixel(9, 9, Rgba([200, 200, 200, 100]))),
        DynamicImage::ImageRgb16(ImageBuffer::from_pixel(9, 9, Rgb([257 * 200; 3]))),
    ];
    for path in ["train/a", "val/a"].map(|path| folder.join(path)) {
        fs::create_dir_all(&path).unwrap();
        for (number, picture) in pictures.iter().enumerate() {
            picture.save(path.join(format!("{number}.png"))).unwrap();
        }
    }
    let data = Data::open(&folder).unwrap();
    let view = View { size: 8, random: None };
    let batch = Loader::new(&data.val, vec![vec![0, 1, 2]], view, 1).next().unwrap().unwrap();
    let (images, rest) = batch.pixels.as_chunks::<{ 3 * 64 }>();
    assert_eq!((images.len(), rest.len()), (3, 0));
    // A level of 255 is 0.02.
    let red = (200.0 / 255.0 - 0.485) / 0.229;
    for image in images {
        assert!(image[..64].iter().all(|pixel| (pixel - red).abs() < 0.02), "{image:?}");
    }
}

#[test]
fn a_thread_that_panicked_is_an_error_and_no_end() {
    let data = Data::open(&PICTURES).unwrap();
    let view = View { size: 8, random: None };
    // No image has this number.
    let mut loader = Loader::new(&data.val, vec![vec![0], vec![9999], vec![1]], view, 1);
    assert!(loader.next().unwrap().is_ok());
    for _ in 0..2 {
        let told = loader.next().unwrap().unwrap_err();
        assert!(told.starts_with("a thread that loads images has panicked"), "{told}");
    }
    assert!(loader.next().is_none());
}
