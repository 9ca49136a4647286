//! Loader: threads that read images ahead of the training.

use super::{Sample, View};
use image::{DynamicImage, ImageReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Batches that each thread has ready beside the one that it holds: 256 images of 224 by 224 pixels are 154 MB.
const AHEAD: usize = 1;

/// Images of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Normalised pixels, image after image: [N, 3, size, size].
    pub pixels: Vec<f32>,
    /// Labels, one an image.
    pub labels: Vec<i64>,
}

/// Batches in their order, each read by one of several threads.
///
/// Thread `i` of `n` has the batches `i`, `i + n` and so on, and reads at most two more than were taken. The number of threads changes no
/// batch. Threads end with the loader.
#[derive(Debug)]
pub struct Loader {
    ready: Vec<Receiver<Result<Batch, String>>>,
    next: usize,
    count: usize,
}

impl Loader {
    /// Starts to load batches of these images by their numbers.
    pub fn new(
        images: &Arc<[Sample]>,
        batches: Vec<Vec<usize>>,
        view: View,
        workers: usize,
    ) -> Self {
        let batches = Arc::new(batches);
        let start = |worker| {
            let (images, batches) = (images.clone(), batches.clone());
            let (sender, receiver) = sync_channel(AHEAD);
            let own =
                move || work(&images, batches.iter().skip(worker).step_by(workers), view, &sender);
            thread::spawn(own);
            receiver
        };
        Self { ready: (0..workers).map(start).collect(), next: 0, count: batches.len() }
    }
}

impl Iterator for Loader {
    type Item = Result<Batch, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.count {
            return None;
        }
        let place = self.next % self.ready.len();
        self.next += 1;
        let gone = "a thread that loads images has panicked, with the reason above".to_owned();
        Some(self.ready[place].recv().unwrap_or(Err(gone)))
    }
}

/// Loads batches until the loader is gone.
fn work<'b>(
    images: &[Sample],
    batches: impl Iterator<Item = &'b Vec<usize>>,
    view: View,
    ready: &SyncSender<Result<Batch, String>>,
) {
    for batch in batches {
        if ready.send(load(images, batch, view)).is_err() {
            return;
        }
    }
}

fn load(images: &[Sample], batch: &[usize], view: View) -> Result<Batch, String> {
    let mut loaded = Batch { pixels: Vec::new(), labels: Vec::new() };
    for &number in batch {
        let Sample { path, label } = &images[number];
        loaded.pixels.extend(view.pixels(&read(path)?, number));
        loaded.labels.push(*label);
    }
    Ok(loaded)
}

/// Reads an image, whose contents tell its format: some of `ImageNet` have another than their name says.
fn read(path: &Path) -> Result<DynamicImage, String> {
    let told = |error: &dyn std::fmt::Display| {
        format!(
            "{}: {error}; replace it with a JPEG or PNG that can be read, or remove it",
            path.display()
        )
    };
    let reader = ImageReader::open(path).map_err(|error| told(&error))?;
    let reader = reader.with_guessed_format().map_err(|error| told(&error))?;
    // An image on which a decoder panics is named too.
    let image = catch_unwind(AssertUnwindSafe(|| reader.decode().map(DynamicImage::into_rgb8)));
    let image = image.map_err(|_| told(&"its decoder has panicked, with the reason above"))?;
    Ok(DynamicImage::from(image.map_err(|error| told(&error))?))
}
