//! Generated pictures: textures in warm and cool colours, so that the program runs anywhere.

use super::Data;
use super::random::generator;
use crate::Result;
use fastrand::Rng;
use image::{Rgb, RgbImage};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

const TEXTURES: [(&str, Texture); 4] = [
    ("checks", |x, y| if (x < 0.5) == (y < 0.5) { 1.0 } else { 0.0 }),
    ("dots", |x, y| if (x - 0.5).hypot(y - 0.5) < 0.35 { 1.0 } else { 0.0 }),
    ("slopes", |x, y| (x + y) % 1.0),
    ("stripes", |_, y| if y < 0.5 { 1.0 } else { 0.0 }),
];

/// Share of the second colour at a place of a tile, each of 0 to 1.
type Texture = fn(f32, f32) -> f32;

/// Names of the colours, and the light of red, green and blue that they centre on.
const COLOURS: [(&str, [f32; 3]); 2] =
    [("cool", [60.0, 120.0, 190.0]), ("warm", [190.0, 120.0, 60.0])];

/// Pictures of each class in `train` and in `val`.
pub const COUNTS: [u64; 2] = [48, 16];

/// Returns the folder of the pictures, which are generated if they are not all there.
///
/// # Errors
///
/// If the folder for temporary files cannot be written.
pub fn default_folder() -> Result<PathBuf> {
    // A version that makes other pictures has another name.
    let folder = env::temp_dir().join("binade-imagenet-1");
    fill(&folder, COUNTS)?;
    Ok(folder)
}

/// Generates a folder anew unless it has all pictures: a system that clears temporary files removes old ones.
fn fill(folder: &Path, counts: [u64; 2]) -> Result<()> {
    if is_whole(folder, counts) {
        return Ok(());
    }
    // Two programs at once make one each, and one of them stays. An earlier one of this number may have been ended.
    let own = folder.with_extension(process::id().to_string());
    if own.is_dir() {
        fs::remove_dir_all(&own)?;
    }
    generate(&own, counts)?;
    if folder.is_dir() && !is_whole(folder, counts) {
        fs::remove_dir_all(folder)?;
    }
    let moved = fs::rename(&own, folder);
    if moved.is_err() {
        fs::remove_dir_all(&own)?;
    }
    if !is_whole(folder, counts) {
        moved.map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(())
}

/// Returns true if the folder has `counts` pictures of each class.
fn is_whole(folder: &Path, counts: [u64; 2]) -> bool {
    let classes = (COLOURS.len() * TEXTURES.len()) as u64;
    let is_of = |data: Data| {
        [data.train.len() as u64, data.val.len() as u64] == counts.map(|count| count * classes)
    };
    Data::open(folder).is_ok_and(is_of)
}

/// Writes `counts` pictures of each of 8 classes as a folder with `train` and `val`: every other as JPEG, the others as PNG.
///
/// # Errors
///
/// If the folder is there and not empty, or cannot be written.
pub fn generate(folder: &Path, counts: [u64; 2]) -> Result<()> {
    let told = |why: &dyn std::fmt::Display| {
        format!("--generate {}: {why}; name a folder that is not there, or empty", folder.display())
    };
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(told(&"it has files already").into());
    }
    let classes = COLOURS.iter().flat_map(|colour| TEXTURES.map(|texture| (colour, texture)));
    for (class, (&(colour, light), (name, texture))) in (0..).zip(classes) {
        for (split, (part, count)) in (0..).zip(["train", "val"].into_iter().zip(counts)) {
            let folder = folder.join(part).join(format!("{colour}-{name}"));
            fs::create_dir_all(&folder).map_err(|error| told(&error))?;
            for number in 0..count {
                let mut random = generator([class, split, number]);
                let extension = if number % 2 == 0 { "jpg" } else { "png" };
                let path = folder.join(format!("{number:03}.{extension}"));
                picture(light, texture, &mut random).save(path).map_err(|error| told(&error))?;
            }
        }
    }
    Ok(())
}

/// Returns a picture whose size, scale, phase, colours and noise are random.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pixels of a small picture"
)]
fn picture(light: [f32; 3], texture: Texture, random: &mut Rng) -> RgbImage {
    let [width, height] = [random.u32(40..=64), random.u32(40..=64)];
    let tile = 8.0 + 6.0 * random.f32();
    let [left, top] = [random.f32(), random.f32()];
    let mut near = |level: f32| light.map(|it| level * it + 40.0 * (random.f32() - 0.5));
    let (dark, bright) = (near(0.5), near(1.2));
    RgbImage::from_fn(width, height, |x, y| {
        let share = texture((x as f32 / tile + left) % 1.0, (y as f32 / tile + top) % 1.0);
        let noise = 50.0 * (random.f32() - 0.5);
        let mix = |channel: usize| {
            let mixed = dark[channel] + share * (bright[channel] - dark[channel]) + noise;
            mixed.clamp(0.0, 255.0) as u8
        };
        Rgb([mix(0), mix(1), mix(2)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_lacks_a_picture_is_generated_anew_and_a_whole_one_is_kept() {
        let name = format!("binade-imagenet-test-{}", process::id());
        let folder = env::temp_dir().join(name);
        let (lost, mark) = (folder.join("val/warm-dots/000.jpg"), folder.join("mark"));
        fill(&folder, [1, 1]).unwrap();
        fs::write(&mark, "").unwrap();
        fill(&folder, [1, 1]).unwrap();
        assert!(mark.exists() && lost.exists());
        fs::remove_file(&lost).unwrap();
        // A program that ended may have had the same number, and have left its folder.
        fs::create_dir_all(folder.with_extension(process::id().to_string()).join("train")).unwrap();
        fill(&folder, [1, 1]).unwrap();
        assert!(!mark.exists() && lost.exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
