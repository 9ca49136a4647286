//! Tiny files in MNIST's format, plain or compressed, in a folder of their own.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::PathBuf;

pub(crate) const NAMES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// Folder that a test fills.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Creates an empty folder, in the one that cargo keeps for tests.
    pub(crate) fn empty(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path).unwrap();
        }
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Creates a folder of 20 training and 10 test images of this height and width.
    pub(crate) fn of(name: &str, size: [u32; 2]) -> Self {
        let folder = Self::empty(name);
        for (pair, count) in NAMES.chunks(2).zip([20, 10]) {
            folder.put(pair[0], &images(count, size));
            folder.put(pair[1], &labels(count));
        }
        folder
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) -> Vec<u8> {
        let bytes = std::fs::read(self.0.join(name)).unwrap();
        std::fs::remove_file(self.0.join(name)).unwrap();
        bytes
    }

    /// Compresses the file, under the name of a compressed one.
    pub(crate) fn pack(&self, name: &str) {
        let bytes = gzip(&self.remove(name));
        self.put(&format!("{name}.gz"), &bytes);
    }

    /// Returns the file's path, as errors print it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// Returns a file of a header and elements.
pub(crate) fn idx(sizes: &[u32], elements: &[u8]) -> Vec<u8> {
    let magic = 0x0800 + u32::try_from(sizes.len()).unwrap();
    let words = std::iter::once(&magic).chain(sizes);
    words.flat_map(|word| word.to_be_bytes()).chain(elements.iter().copied()).collect()
}

/// Returns images that are lit in a place of their class, and dark elsewhere.
pub(crate) fn images(count: u32, [height, width]: [u32; 2]) -> Vec<u8> {
    let area = height * width;
    let image =
        |index| (0..area).map(move |pixel| if pixel * 10 / area == index % 10 { 255 } else { 0 });
    idx(&[count, height, width], &(0..count).flat_map(image).collect::<Vec<u8>>())
}

/// Returns labels 0 to 9 in turn.
pub(crate) fn labels(count: u32) -> Vec<u8> {
    let label = |index| u8::try_from(index % 10).unwrap();
    idx(&[count], &(0..count).map(label).collect::<Vec<u8>>())
}
