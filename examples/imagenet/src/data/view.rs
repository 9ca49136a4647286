//! View of an image that the model gets: a part of it, resized, as normalised pixels.

use super::random::generator;
use fastrand::Rng;
use image::imageops::FilterType;
use image::{DynamicImage, RgbImage};

/// Mean of `ImageNet`'s pixels in red, green and blue, of 0 to 1, and their deviation: those of `main_amp`'s `data_prefetcher`.
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

/// Pixels a side that an image is resized to before its centre is taken, over those of the centre: `main_amp`'s 256 and 224.
const RESIZED: [u32; 2] = [256, 224];

/// Parts that an image is seen in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Pixels a side.
    pub size: u32,
    /// Seed and epoch of random crops and flips; `None` for the centre.
    pub random: Option<[u64; 2]>,
}

impl View {
    /// Returns the pixels of an image by its number, which with seed and epoch fixes the crop: three planes of `size` rows each, red,
    /// green and blue.
    pub fn pixels(&self, image: &DynamicImage, number: usize) -> Vec<f32> {
        // Methods of `DynamicImage` are compiled in `image`, which is optimized where this crate is not.
        let seen = match self.random {
            Some([seed, epoch]) => {
                random(image, self.size, &mut generator([seed, epoch, number as u64]))
            }
            None => centre(image, self.size),
        };
        let plane = |channel: usize| {
            let (mean, deviation) = (MEAN[channel], DEVIATION[channel]);
            seen.pixels().map(move |pixel| (f32::from(pixel.0[channel]) / 255.0 - mean) / deviation)
        };
        [0, 1, 2].into_iter().flat_map(plane).collect()
    }
}

/// Returns a part of random area, proportions and place, flipped in one half of the cases: torchvision's `RandomResizedCrop` and
/// `RandomHorizontalFlip`.
fn random(image: &DynamicImage, size: u32, random: &mut Rng) -> RgbImage {
    let [x, y, width, height] = random_part([image.width(), image.height()], random);
    let part = image.crop_imm(x, y, width, height);
    let seen = part.resize_exact(size, size, FilterType::Triangle);
    let seen = if random.bool() { seen.fliph() } else { seen };
    seen.into_rgb8()
}

/// Returns left, top, width and height of a part of 8 % to 100 % of the area, 3:4 to 4:3 wide; the largest part in the centre of such
/// proportions if ten tries do not fit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels of an image")]
fn random_part([width, height]: [u32; 2], random: &mut Rng) -> [u32; 4] {
    let (wide, high) = (f64::from(width), f64::from(height));
    let proportions = [3.0_f64 / 4.0, 4.0 / 3.0];
    for _ in 0..10 {
        let area = wide * high * (0.08 + 0.92 * random.f64());
        let [least, most] = proportions.map(f64::ln);
        let proportion = (least + (most - least) * random.f64()).exp();
        let part =
            [area * proportion, area / proportion].map(|square| square.sqrt().round() as u32);
        if (1..=width).contains(&part[0]) && (1..=height).contains(&part[1]) {
            let left = random.u32(..=width - part[0]);
            return [left, random.u32(..=height - part[1]), part[0], part[1]];
        }
    }
    let [least, most] = proportions;
    let part_width = wide.min(high * most).round() as u32;
    let part_height = high.min(wide / least).round() as u32;
    [(width - part_width) / 2, (height - part_height) / 2, part_width, part_height]
}

/// Returns the centre of the image, resized so that a margin is left out. The square of its shorter side is cut out first: a long image
/// resized as a whole takes many times its memory.
fn centre(image: &DynamicImage, size: u32) -> RgbImage {
    let [numerator, denominator] = RESIZED;
    let shorter = (size * numerator + denominator / 2) / denominator;
    let [width, height] = [image.width(), image.height()];
    let square = width.min(height);
    let [left, top] = [width, height].map(|extent| (extent - square) / 2);
    let cut = image.crop_imm(left, top, square, square);
    let reduced = cut.resize_exact(shorter, shorter, FilterType::Triangle);
    let margin = (shorter - size) / 2;
    reduced.crop_imm(margin, margin, size, size).into_rgb8()
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;

    #[test]
    fn a_part_is_inside_the_image_and_of_the_area_and_proportions_asked_for() {
        let mut random = Rng::with_seed(1);
        for size in [[40, 30], [30, 40], [64, 64]] {
            for _ in 0..300 {
                let [x, y, width, height] = random_part(size, &mut random);
                assert!(x + width <= size[0] && y + height <= size[1]);
                let share = f64::from(width * height) / f64::from(size[0] * size[1]);
                assert!((0.06..=1.0).contains(&share), "{share}");
                let proportion = f64::from(width) / f64::from(height);
                assert!((0.65..=1.54).contains(&proportion), "{proportion}");
            }
        }
        assert_eq!(random_part([300, 3], &mut random), [148, 0, 4, 3], "no part of a third fits");
    }

    #[test]
    fn the_centre_leaves_a_margin_out_and_pixels_are_normalised_by_plane() {
        // White with a black margin of 2 of 32 pixels, red in the middle column.
        let image = RgbImage::from_fn(64, 32, |x, y| match (x, y) {
            (_, 0..2 | 30..) => Rgb([0; 3]),
            (31 | 32, _) => Rgb([255, 0, 0]),
            _ => Rgb([255; 3]),
        });
        let pixels = View { size: 28, random: None }.pixels(&DynamicImage::from(image), 0);
        let (planes, rest) = pixels.as_chunks::<{ 28 * 28 }>();
        assert_eq!((planes.len(), rest.len()), (3, 0));
        let at = |channel: usize, x: usize, y: usize| planes[channel][28 * y + x];
        for (channel, white) in [(0, 2.248_9), (1, 2.428_6), (2, 2.64)] {
            assert!((at(channel, 0, 14) - white).abs() < 1e-3, "{}", at(channel, 0, 14));
            assert_eq!(at(channel, 0, 0), at(channel, 27, 27));
        }
        assert!((at(0, 14, 14) - 2.248_9).abs() < 1e-3);
        assert!((at(1, 14, 14) - -2.035_7).abs() < 1e-3, "{}", at(1, 14, 14));
    }

    #[test]
    fn the_centre_of_a_long_image_is_cut_out_before_it_is_resized() {
        let image =
            RgbImage::from_fn(1, 60_001, |_, y| Rgb([if y == 30_000 { 255 } else { 0 }; 3]));
        let pixels = View { size: 8, random: None }.pixels(&DynamicImage::from(image), 0);
        assert_eq!(pixels.len(), 3 * 64);
        assert!(pixels.iter().all(|pixel| *pixel > 2.2), "{pixels:?}");
    }

    #[test]
    fn a_crop_hangs_on_seed_epoch_and_image_and_half_of_all_are_flipped() {
        let image = RgbImage::from_fn(40, 30, |x, y| {
            Rgb([x, y, 0].map(|place| u8::try_from(6 * place).unwrap()))
        });
        let image = DynamicImage::from(image);
        let pixels = |seed, epoch, number| {
            View { size: 8, random: Some([seed, epoch]) }.pixels(&image, number)
        };
        let first = pixels(1, 2, 3);
        assert_eq!((first.len(), &first), (3 * 64, &pixels(1, 2, 3)));
        for other in [pixels(0, 2, 3), pixels(1, 0, 3), pixels(1, 2, 0)] {
            assert!(other != first);
        }
        // Red grows to the right.
        let flipped = (0..200).filter(|&number| pixels(1, 1, number)[0] > pixels(1, 1, number)[7]);
        assert!((70..130).contains(&flipped.count()));
    }
}
