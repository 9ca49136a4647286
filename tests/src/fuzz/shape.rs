//! Shapes and windows from anywhere: every rule gives an answer, and a result that it lets pass fits into memory.

use binade_core::DType::{F16, F32, I64};
use binade_core::ops::{
    AttentionConfig, AvgPool2dConfig, BatchNormConfig, Conv2dConfig, ImageLayout, MaxPool2dConfig,
    OpInvocation as Call, OperandError, shape,
};

/// Extents, two bytes each: small ones, powers of two, and those near the largest.
#[derive(Clone)]
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

/// Returns the shape of the result of f16 operands.
fn result(call: &Call, shapes: &[&[usize]]) -> Result<Vec<usize>, OperandError> {
    let operands: Vec<_> = shapes.iter().map(|shape| (F16, *shape)).collect();
    call.check(&operands).map(|result| result.shape)
}

/// Returns the shape of an embedding.
fn embedding(table: &[usize], indices: &[usize]) -> Result<Vec<usize>, OperandError> {
    Call::Embedding.check(&[(F16, table), (I64, indices)]).map(|result| result.shape)
}

/// Shapes that seldom fit.
fn any(a: &[usize], b: &[usize]) {
    for call in [Call::MatMul, Call::Bmm, Call::Linear] {
        bounded(result(&call, &[a, b]));
    }
    bounded(embedding(a, b));
    bounded(result(&Call::Fill { value: 0.0, shape: a.to_vec(), dtype: F16 }, &[]));
    let batch_norm = Call::BatchNorm { config: BatchNormConfig::default() };
    let _ = result(&batch_norm, &[a, b, b, b, b]);
    let _ = result(&Call::BatchNormBackward { eps: 0.0 }, &[a, a, b]);
    let _ = result(&Call::BatchNormStats, &[a]);
    let _ = result(&Call::BatchNormGradSums { eps: 0.0 }, &[a, a, b, b]);
    let _ = result(&Call::BatchNormInputGrad { eps: 0.0 }, &[a, a, b, b, b, a]);
    let _ = (result(&Call::BiasAdd, &[a, b]), result(&Call::Reshape { shape: b.to_vec() }, &[a]));
    let _ = result(&Call::LayerNorm { eps: 0.0 }, &[a, b, b]);
    let _ = result(&Call::RmsNorm { eps: 0.0 }, &[a, b]);
    let groups = b.first().copied().unwrap_or_default();
    let _ = result(&Call::GroupNorm { groups, eps: 0.0 }, &[a, b, b]);
    let tables = [(F32, b), (F32, b)];
    let _ = Call::RotaryEmbedding.check(&[&[(F16, a)][..], &tables].concat());
    let config = AttentionConfig::default();
    let _ = result(&Call::ScaledDotProductAttention { config }, &[a, a, a, b]);
    let [axis, start, len] = [0, 1, 2].map(|at| b.get(at).copied().unwrap_or_default());
    let _ = result(&Call::Narrow { axis, start, len }, &[a]);
    bounded(result(&Call::NarrowBackward { shape: a.to_vec(), axis, start }, &[b]));
    bounded(result(&Call::Cat { axis: axis % 3 }, &[a, a, b]));
    let _ = result(&Call::MaskedFill { value: 0.0 }, &[a, b]);
    let _ = result(&Call::Permute { axes: b.to_vec() }, &[a]);
    let _ = (result(&Call::Softmax, &[a]), result(&Call::MseLoss, &[a, b]));
    assert_eq!(
        shape::size(a, 1).unwrap_or(usize::MAX).min(shape::element_count(a)),
        shape::element_count(a)
    );
}

/// Shapes that fit, so that only their size is in the way.
fn fitting(lead: &[usize], [m, k]: [usize; 2], [n, rows]: [usize; 2]) {
    bounded(result(&Call::MatMul, &[&[m, k], &[k, n]]));
    bounded(result(&Call::Bmm, &[&[lead, &[m, k]].concat(), &[lead, &[k, n]].concat()]));
    bounded(result(&Call::Linear, &[&[lead, &[k]].concat(), &[n, k], &[n]]));
    bounded(embedding(&[rows, n], lead));
    let [query, key] = [[lead, &[m, k]].concat(), [lead, &[n, k]].concat()];
    let attention = Call::ScaledDotProductAttention { config: AttentionConfig::default() };
    bounded(result(&attention, &[&query, &key, &[lead, &[n, rows]].concat()]));
    bounded(result(&attention, &[&query, &key, &key, &[lead, &[m, n]].concat()]));
}

fn windows(image: &[usize], extents: &mut Extents<'_>) {
    for layout in [ImageLayout::ChannelsFirst, ImageLayout::ChannelsLast] {
        windows_in(layout, image, &mut extents.clone());
    }
}

fn windows_in(layout: ImageLayout, image: &[usize], extents: &mut Extents<'_>) {
    let (stride, padding, kernel) = (extents.two(), extents.two(), extents.two());
    let (dilation, groups) = (extents.two(), extents.next());
    let [_, images, ..] = layout.extents(image).unwrap_or_default();
    let channels = images.checked_div(groups).unwrap_or_default();
    let weight = [extents.next(), channels, kernel[0], kernel[1]];
    let config = Conv2dConfig { stride, padding, dilation, groups, layout };
    bounded(result(&Call::Conv2d { config }, &[image, &weight]));
    let config = MaxPool2dConfig { kernel, stride, padding, layout };
    bounded(result(&Call::MaxPool2d { config }, &[image]));
    let config = AvgPool2dConfig { kernel, stride, padding, count_include_pad: true, layout };
    bounded(result(&Call::AvgPool2d { config }, &[image]));
    bounded(result(&Call::AvgPool2dBackward { shape: image.to_vec(), config }, &[image]));
    bounded(result(&Call::AdaptiveAvgPool2d { output: kernel }, &[image]));
    bounded(result(&Call::AdaptiveAvgPool2dBackward { shape: image.to_vec() }, &[image]));
}

/// A result that passes has fewer bytes than an allocation may have; one that does not is told in words.
fn bounded(result: Result<Vec<usize>, OperandError>) {
    match result {
        Ok(shape) => {
            let bytes = shape::size(&shape, 8).unwrap_or(usize::MAX);
            assert!(isize::try_from(bytes).is_ok(), "{shape:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
