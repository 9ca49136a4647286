//! Benchmark of square matrix products, in the forms of a linear layer.

use super::{
    row::{Kind, What},
    work::Turns,
};
use binade_core::DType;
use binade_core::ops::{Linear, MatMul};
use binade_cuda::{Cuda, Tensor};

/// Sizes, as PyTorch's baseline has them.
pub(crate) const SIZES: [usize; 6] = [512, 1024, 2048, 4096, 8192, 16384];

/// Sizes of a dry run; the second is a layer's.
pub(crate) const TINY: [usize; 2] = [8, 16];

/// Size at which a layer's forms are measured.
pub(crate) const LAYER: usize = 4096;

/// Name suffix of f32 products by TF32.
pub(crate) const TF32: &str = " tf32";

/// Products computed of matrices *A*, *B*, *C*.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// Product *A·B*.
    Plain,
    /// Product *A·Bᵀ*, a layer's forward pass.
    Forward,
    /// Products *A·C* and *Aᵀ·B*, the gradients of a layer's input and its weight.
    Backward,
}

impl Form {
    pub(crate) const ALL: [Self; 3] = [Self::Plain, Self::Forward, Self::Backward];

    /// Returns the number of products.
    fn products(self) -> u64 {
        match self {
            Self::Plain | Self::Forward => 1,
            Self::Backward => 2,
        }
    }

    /// Returns the number of matrices that it reads.
    pub(crate) fn operands(self) -> usize {
        if self == Self::Backward { 3 } else { 2 }
    }

    /// Returns a name suffix for the operands' transposition, in BLAS's letters; empty for a plain product, as in PyTorch's
    /// baseline.
    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Forward => " NT",
            Self::Backward => " NN and TN",
        }
    }
}

/// Returns the multiplications and additions of a product of two `size` by `size` matrices.
pub(crate) fn flops(size: usize) -> u64 {
    2 * (size as u64).pow(3)
}

/// Returns the number of inputs that take turns, as in PyTorch's baseline, which needs no more. Small ones stay in the L2 cache.
pub(crate) fn turns(size: usize) -> usize {
    if size <= 4096 { 4 } else { 2 }
}

/// Returns the products of one form at one size, over sets of as many matrices as the form reads. `by` is the name suffix of the
/// code that computes them; empty for the default.
pub(crate) fn product<'w>(
    device: &'w Cuda,
    form: Form,
    (dtype, size, by): (DType, usize, &str),
    sets: Vec<Vec<Tensor>>,
) -> Turns<'w, Vec<Tensor>, Vec<Tensor>> {
    let (elements, read) = (size * size, form.operands());
    let matrices = read + usize::try_from(form.products()).unwrap_or(1);
    let (name, of) = (format!("{size}^3{}{by}", form.suffix()), (dtype, elements, read));
    let bytes = [matrices * elements * dtype.bytes(), 0];
    let what = What::moving("matmul", &name, Kind::Computed, of, bytes);
    let what = What { flops: form.products() * flops(size), ..what };
    Turns::new(what, sets, move |set| {
        Ok(match (form, set.as_slice()) {
            (Form::Plain, [a, b, ..]) => vec![device.matmul(a, b)?],
            (Form::Forward, [a, b, ..]) => vec![device.linear(a, b, None)?],
            (Form::Backward, [a, b, c]) => {
                let grads = device.linear_backward(a, b, c, false)?;
                vec![grads.input, grads.weight]
            }
            _ => return Err("too few matrices".into()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_product_takes_two_operations_for_each_of_its_inner_products_terms() {
        assert_eq!([2, 512, 16384].map(flops), [16, 268_435_456, 8_796_093_022_208]);
    }
}
