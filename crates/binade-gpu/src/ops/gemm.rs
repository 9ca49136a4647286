//! Matrix products of all operations.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]
#![expect(clippy::expl_impl_clone_on_copy, reason = "a derived one would ask it of the driver")]

use super::channels::{ChannelKernels, column_sums};
use super::check;
use crate::{Driver, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{OpInvocation, WeightGrads};

/// Tensor as a batch of matrices.
#[derive(Debug)]
pub struct Matrices<'a, D: Driver> {
    /// Memory of the matrices.
    pub tensor: &'a Tensor<D>,
    /// Elements from one row to the next in memory.
    pub row: usize,
    /// Elements from one matrix to the next; 0 if all products share one.
    pub step: usize,
    /// True if rows in memory are the operand's columns.
    pub transposed: bool,
}

/// Batch of products `C = op(A)·op(B) + bias`, optionally with a rectified linear unit, accumulated in f32 and rounded once.
#[derive(Debug)]
pub struct Gemm<'a, D: Driver> {
    /// Matrices `[m, k]`, or `[k, m]` if transposed.
    pub a: Matrices<'a, D>,
    /// Matrices `[k, n]`, or `[n, k]` if transposed, with A's type.
    pub b: Matrices<'a, D>,
    /// Vector `[n]` of A's type, added to every row.
    pub bias: Option<&'a Tensor<D>>,
    /// True if results that are not positive become +0; NaN stays NaN.
    pub relu: bool,
    /// Results `[m, n]` of A's type or f32, not transposed. Their memory is new and not shared.
    pub c: Matrices<'a, D>,
    /// Rows of a result.
    pub m: usize,
    /// Columns of a result.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Number of products of a group.
    pub batch: usize,
    /// Number of groups, each with its own batch. Several groups have no bias.
    pub groups: usize,
    /// Elements of A, B and C from one group to the next.
    pub group_steps: [usize; 3],
    /// True if the bits of each product must not depend on the batch, as [`Bmm`](binade_core::ops::Bmm) promises.
    pub by_pair: bool,
}

impl<D: Driver> Clone for Matrices<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Driver> Copy for Matrices<'_, D> {}

impl<D: Driver> Clone for Gemm<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Driver> Copy for Gemm<'_, D> {}

impl<'a, D: Driver> Gemm<'a, D> {
    /// Describes one product `C = op(A)·op(B)` of `[m, k]` and `[k, n]`, without a bias.
    pub fn of(
        a: Matrices<'a, D>,
        b: Matrices<'a, D>,
        c: Matrices<'a, D>,
        [m, n, k]: [usize; 3],
    ) -> Self {
        let (groups, group_steps) = (1, [0; 3]);
        Self {
            a,
            b,
            bias: None,
            c,
            m,
            n,
            k,
            batch: 1,
            groups,
            group_steps,
            relu: false,
            by_pair: false,
        }
    }
}

impl<'a, D: Driver> Matrices<'a, D> {
    /// Describes contiguous matrices of `rows` by `columns`.
    pub fn dense(tensor: &'a Tensor<D>, rows: usize, columns: usize) -> Self {
        Self { tensor, row: columns, step: rows * columns, transposed: false }
    }

    /// Describes the transposed matrices.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Describes operands whose first matrix is used in every product.
    #[must_use]
    pub(super) fn shared(self) -> Self {
        Self { step: 0, ..self }
    }

    /// Returns true if the tensor holds `batch` matrices of `rows` by `columns`, transposed or not.
    pub fn holds(&self, rows: usize, columns: usize, batch: usize) -> bool {
        let (lines, line) = if self.transposed { (columns, rows) } else { (rows, columns) };
        if batch * lines * line == 0 {
            return true;
        }
        let last = (batch - 1) * self.step + (lines - 1) * self.row + line;
        line <= self.row.max(line * usize::from(lines == 1)) && last <= self.tensor.len()
    }
}

/// Driver with kernels of matrix products.
pub trait GemmKernels: ChannelKernels {
    /// Computes the products.
    ///
    /// # Errors
    ///
    /// Returns an error for dimensions beyond the range that kernels count, and if the device fails.
    fn launch_gemm(&self, gemm: &Gemm<'_, Self>) -> Result<(), Self>;

    /// Returns true if [`Gemm::relu`] is fused with the product. Otherwise it is a separate kernel.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn fuses_relu(&self) -> Result<bool, Self> {
        Ok(false)
    }
}

/// Returns `x·Wᵀ + b`, with a rectified linear unit if `call` is `LinearRelu`.
pub(super) fn affine<D: GemmKernels>(
    device: &D,
    call: &OpInvocation,
    [input, weight]: [&Tensor<D>; 2],
    bias: Option<&Tensor<D>>,
) -> Result<Tensor<D>, D> {
    let operands = [&[input, weight][..], bias.as_slice()].concat();
    let TensorSpec { dtype, shape } = check(device, call, &operands)?;
    let relu = *call == OpInvocation::LinearRelu;
    let [m, k, n] = affine_extents(input, weight);
    let result = device.unset(dtype, &shape)?;
    let (a, b) = (Matrices::dense(input, m, k), Matrices::dense(weight, n, k).transposed());
    let c = Matrices::dense(&result, m, n);
    device.launch_gemm(&Gemm { bias, relu, ..Gemm::of(a, b, c, [m, n, k]) })?;
    Ok(result)
}

/// Returns the gradients of weight and bias.
pub(super) fn affine_weight_grads<D: GemmKernels>(
    device: &D,
    [grad, input, weight]: [&Tensor<D>; 3],
    bias: bool,
) -> Result<WeightGrads<Tensor<D>>, D> {
    let call = OpInvocation::LinearBackwardOfWeight { bias };
    let dtype = check(device, &call, &[grad, input, weight])?.dtype;
    let [rows, k, n] = affine_extents(input, weight);
    let of_weight = device.unset(dtype, weight.shape())?;
    let (g, x) = (Matrices::dense(grad, rows, n).transposed(), Matrices::dense(input, rows, k));
    device.launch_gemm(&Gemm::of(g, x, Matrices::dense(&of_weight, n, k), [n, k, rows]))?;
    let bias = bias.then(|| column_sums(device, grad, [rows, n])).transpose()?;
    Ok(WeightGrads { weight: of_weight, bias })
}

/// Returns the gradient of the input of operands that have been checked.
pub(super) fn affine_input_grad<D: GemmKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
    weight: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    let [rows, k, n] = affine_extents(input, weight);
    let result = device.unset(input.dtype(), input.shape())?;
    let (g, w) = (Matrices::dense(grad, rows, n), Matrices::dense(weight, n, k));
    device.launch_gemm(&Gemm::of(g, w, Matrices::dense(&result, rows, k), [rows, k, n]))?;
    Ok(result)
}

/// Returns the input's rows, its width and the output's width, of operands that have been checked.
fn affine_extents<D: Driver>(input: &Tensor<D>, weight: &Tensor<D>) -> [usize; 3] {
    match (input.shape(), weight.shape()) {
        ([lead @ .., k], [n, _]) => [lead.iter().product(), *k, *n],
        _ => [0; 3],
    }
}

/// Computes `A·B` for each pair of matrices.
pub(super) fn products<D: GemmKernels>(
    device: &D,
    call: &OpInvocation,
    a: &Tensor<D>,
    b: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    let TensorSpec { dtype, shape } = check(device, call, &[a, b])?;
    let [batch, m, k, n] = extents(a, b);
    let result = device.unset(dtype, &shape)?;
    let c = Matrices::dense(&result, m, n);
    let (a, b) = (Matrices::dense(a, m, k), Matrices::dense(b, k, n));
    device.launch_gemm(&Gemm { batch, by_pair: true, ..Gemm::of(a, b, c, [m, n, k]) })?;
    Ok(result)
}

/// Computes `grad·Bᵀ` and `Aᵀ·grad` for each pair.
pub(super) fn product_grads<D: GemmKernels>(
    device: &D,
    call: &OpInvocation,
    [grad, a, b]: [&Tensor<D>; 3],
) -> Result<[Tensor<D>; 2], D> {
    let dtype = check(device, call, &[grad, a, b])?.dtype;
    let [batch, m, k, n] = extents(a, b);
    let (of_a, of_b) = (device.unset(dtype, a.shape())?, device.unset(dtype, b.shape())?);
    let g = Matrices::dense(grad, m, n);
    let (x, y) = (Matrices::dense(a, m, k), Matrices::dense(b, k, n));
    let (dx, dy) = (Matrices::dense(&of_a, m, k), Matrices::dense(&of_b, k, n));
    device.launch_gemm(&Gemm { batch, ..Gemm::of(g, y.transposed(), dx, [m, k, n]) })?;
    device.launch_gemm(&Gemm { batch, ..Gemm::of(x.transposed(), g, dy, [k, n, m]) })?;
    Ok([of_a, of_b])
}

/// Returns the number of pairs of matrices, and M, K and N of each, of operands that have been checked.
fn extents<D: Driver>(a: &Tensor<D>, b: &Tensor<D>) -> [usize; 4] {
    match (a.shape(), b.shape()) {
        ([lead @ .., m, k], [.., n]) => [lead.iter().product(), *m, *k, *n],
        _ => [0; 4],
    }
}
