//! List of the rows in order, and their sizes.

use super::row::Spec;
use super::tensors::Size;
use super::{embedding, gradients, overheads, products, steps, train};
use crate::mlp::Mlp;
use crate::training::SETTINGS;
use binade_core::DType::{self, BF16, E4M3, F16, F32};

const TYPES: [DType; 3] = [F32, F16, BF16];
const CASTS: [[DType; 2]; 6] =
    [[F32, F16], [F16, F32], [F32, BF16], [BF16, F32], [F32, E4M3], [E4M3, F32]];
/// Parameters of the points of a plot, in a hundred tensors each.
const PARAMETERS: [usize; 5] = [1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28];
/// Tensors of the points of a plot, of 2^24 parameters together.
const TENSORS: [usize; 5] = [1, 10, 100, 1000, 10_000];

/// Returns every row; tiny ones for a dry run.
pub(crate) fn specs(is_dry: bool) -> Vec<Spec> {
    let large = if is_dry { 1 << 12 } else { 1 << 26 };
    let hundred = Size { elements: large, tensors: if is_dry { 3 } else { 100 } };
    let many = Size { elements: large, tensors: if is_dry { 30 } else { 10_000 } };
    let mut specs = Vec::new();
    specs.extend(TYPES.map(|dtype| gradients::unscale(hundred, dtype)));
    specs.extend(TYPES.map(|dtype| gradients::clip_norm(hundred, dtype)));
    specs.extend(CASTS.map(|pair| gradients::cast(hundred, pair)));
    specs.extend(CASTS.map(|pair| gradients::cast_into(hundred, pair)));
    specs.extend(
        [hundred, many].into_iter().flat_map(|size| TYPES.map(|dtype| steps::adamw(size, dtype))),
    );
    let table = if is_dry { [1000, 8, 10] } else { [1 << 20, 64, 1000] };
    specs.extend([false, true].map(|is_sparse| embedding::step(table, is_sparse)));
    specs.extend([steps::tiny(), overheads::update()]);
    specs.extend([
        overheads::decision(),
        overheads::region(),
        overheads::bare_linear(),
        overheads::linear_on_tape(DType::BF16),
        overheads::linear_on_tape(DType::F32),
    ]);
    specs.extend(computed(is_dry));
    specs.extend(growth(is_dry));
    specs
}

/// Returns the rows that compute: products, attention, and training.
fn computed(is_dry: bool) -> Vec<Spec> {
    let sizes: &[usize] = if is_dry { &[8, 16] } else { &[256, 512, 1024, 2048] };
    let heads: &[[usize; 2]] = if is_dry { &[[2, 16]] } else { &[[8, 1024], [1, 4096]] };
    let (mlp, steps) = if is_dry { (Mlp::TINY, 1) } else { (train::MLP, 40) };
    let mut specs: Vec<_> = TYPES
        .into_iter()
        .flat_map(|dtype| sizes.iter().map(move |it| products::matmul(*it, dtype)))
        .collect();
    for heads in heads {
        let passes = |dtype| {
            [false, true].map(|is_backward| products::attention(*heads, dtype, is_backward))
        };
        specs.extend([F32, BF16].into_iter().flat_map(passes));
    }
    specs.extend(
        SETTINGS.map(|setting| Spec { measures_memory: true, ..train::mlp("mlp", mlp, setting) }),
    );
    specs.extend(train::EXAMPLES.map(|setting| train::digits(setting, "mlp")));
    specs.extend(train::EXAMPLES.map(|setting| train::digits(setting, "cnn")));
    specs.extend(train::EXAMPLES.map(|setting| train::gpt(setting, steps)));
    specs
}

/// Returns the points of the plots.
fn growth(is_dry: bool) -> Vec<Spec> {
    let by_parameters = PARAMETERS.map(|elements| {
        let elements = if is_dry { elements >> 14 } else { elements };
        steps::growth(
            "parameters",
            Size { elements, tensors: if is_dry { 3 } else { 100 } },
            elements,
        )
    });
    let by_tensors = TENSORS.map(|tensors| {
        let elements = if is_dry { 1 << 14 } else { 1 << 24 };
        steps::growth("tensors", Size { elements, tensors }, tensors)
    });
    by_parameters.into_iter().chain(by_tensors).collect()
}
