//! Shapes and windows from anywhere: every rule gives an answer, and a result that it lets pass fits into memory.

use binade_core::Op;
use binade_ops::shape::{self, ShapeError};
use binade_ops::{Conv2dConfig, MaxPool2dConfig};

/// Extents, two bytes each: small ones, powers of two, and those near the largest.
struct Extents<'b>(std::slice::Iter<'b, u8>);

impl Extents<'_> {
    fn next(&mut self) -> usize {
        let mut byte = || self.0.next().copied().unwrap_or_default();
        let (kind, value) = (byte(), byte());
        match kind % 4 {
            0 => usize::from(value),
            1 => 1 << (u32::from(value) % usize::BITS),
            2 => usize::MAX - usize::from(value),
            _ => usize::MAX / (usize::from(value) + 1),
        }
    }

    fn several(&mut self) -> Vec<usize> {
        let axes = self.next() % 6;
        (0..axes).map(|_| self.next()).collect()
    }

    fn two(&mut self) -> [usize; 2] {
        [self.next(), self.next()]
    }
}

pub(super) fn read(bytes: &[u8]) {
    let mut extents = Extents(bytes.iter());
    any(&extents.several(), &extents.several());
    fitting(&extents.several(), extents.two(), extents.two());
    windows(&[extents.two(), extents.two()].concat(), &mut extents);
}

/// Shapes that seldom fit.
fn any(a: &[usize], b: &[usize]) {
    for result in
        [shape::matmul(a, b), shape::bmm(a, b), shape::linear(a, b, None), shape::embedding(a, b)]
    {
        bounded(result);
    }
    bounded(shape::fill(a));
    let _ = (shape::batch_norm_samples(a), shape::bias_add(a, b), shape::reshape(a, b));
    let _ = (shape::layer_norm(a, b, b), shape::softmax(Op::SOFTMAX, a), shape::mse_loss(a, b));
    assert_eq!(
        shape::size(a, 1).unwrap_or(usize::MAX).min(shape::element_count(a)),
        shape::element_count(a)
    );
}

/// Shapes that fit, so that only their size is in the way.
fn fitting(lead: &[usize], [m, k]: [usize; 2], [n, rows]: [usize; 2]) {
    bounded(shape::matmul(&[m, k], &[k, n]));
    bounded(shape::bmm(&[lead, &[m, k]].concat(), &[lead, &[k, n]].concat()));
    bounded(shape::linear(&[lead, &[k]].concat(), &[n, k], Some(&[n])));
    bounded(shape::embedding(&[rows, n], lead));
}

fn windows(image: &[usize], extents: &mut Extents<'_>) {
    let (stride, padding, kernel) = (extents.two(), extents.two(), extents.two());
    let weight = [extents.next(), image[1], kernel[0], kernel[1]];
    bounded(shape::conv2d(image, &weight, None, Conv2dConfig { stride, padding }));
    bounded(shape::max_pool2d(image, MaxPool2dConfig { kernel, stride, padding }));
}

/// A result that passes has fewer bytes than an allocation may have; one that does not is told in words.
fn bounded(result: Result<Vec<usize>, ShapeError>) {
    match result {
        Ok(shape) => {
            let bytes = shape::size(&shape, 8).unwrap_or(usize::MAX);
            assert!(isize::try_from(bytes).is_ok(), "{shape:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
