//! Arithmetic of the tensor. Sums run in `f32` for every stored type; each result is rounded once to its operand's type.

use crate::tensor::Mine;

impl Mine {
    /// Computes `x` times the transpose of `weight`, plus `bias` on each row, in the type of `x`.
    pub fn linear(x: &Self, weight: &Self, bias: &Self) -> Self {
        let sums = products(&x.rows(), &weight.rows());
        let bias = bias.to_f32();
        let sums = sums.iter().zip(bias.iter().cycle()).map(|(sum, bias)| sum + bias);
        x.stored(sums, &[x.shape[0], weight.shape[0]])
    }

    /// Computes the product of two matrices, in the type of the first.
    pub fn matmul(&self, other: &Self) -> Self {
        let sums = products(&self.rows(), &other.columns());
        self.stored(sums.into_iter(), &[self.shape[0], other.shape[1]])
    }

    /// Computes the transpose of a matrix times another, in the type of the first.
    pub fn transposed_matmul(&self, other: &Self) -> Self {
        let sums = products(&self.columns(), &other.columns());
        self.stored(sums.into_iter(), &[self.shape[1], other.shape[1]])
    }

    /// Computes the sum of a matrix's rows.
    pub fn sum_rows(&self) -> Self {
        let sums = self.columns().into_iter().map(|column| column.iter().sum());
        self.stored(sums, &[self.shape[1]])
    }

    /// Applies `f` to each element and the element of `other` in its place.
    pub fn with(&self, other: &Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let pairs = self.to_f32().into_iter().zip(other.to_f32());
        self.stored(pairs.map(|(x, y)| f(x, y)), &self.shape)
    }

    /// Applies `f` to each element.
    pub fn map(&self, f: impl Fn(f32) -> f32) -> Self {
        self.stored(self.to_f32().into_iter().map(f), &self.shape)
    }

    fn stored(&self, values: impl Iterator<Item = f32>, shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), elements: self.elements.like(values) }
    }

    /// Returns the rows of a matrix, in `f32`.
    pub fn rows(&self) -> Vec<Vec<f32>> {
        self.to_f32().chunks(self.shape[1]).map(<[f32]>::to_vec).collect()
    }

    fn columns(&self) -> Vec<Vec<f32>> {
        let rows = self.rows();
        (0..self.shape[1]).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
    }
}

/// Computes every row of `a` times every row of `b`.
fn products(a: &[Vec<f32>], b: &[Vec<f32>]) -> Vec<f32> {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    a.iter().flat_map(|a| b.iter().map(move |b| product(a, b))).collect()
}
