//! Newton–Schulz iterations: the orthogonal matrix that is nearest to a direction, by products alone.

use super::{Muon, round};
use binade_autocast::{Autocast, CastError, Scope};
use binade_cast_policy::OpCall;
use binade_core::ops::Ops;
use binade_core::{DType, MatchError, MultiTensor, Named, Op, TrainError};
use std::{slice::from_ref, sync::Arc};

impl Muon {
    /// Returns the direction with its singular values brought to about 1. `norm` is its norm, a scalar of the device.
    ///
    /// A matrix with more rows than columns is transposed meanwhile, so that products `X Xᵀ` are of the shorter side.
    pub(super) fn orthogonal<D: Ops + Autocast + MultiTensor>(
        &self,
        scope: &Scope<'_, D>,
        direction: &Named<D::Tensor>,
        norm: &D::Tensor,
        shape: [usize; 2],
    ) -> Result<Named<D::Tensor>, D::Error> {
        let device = scope.device;
        let is_tall = shape[0] > shape[1];
        let turned = |x: D::Tensor| if is_tall { device.permute(&x, &[1, 0]) } else { Ok(x) };
        let divisor = self.divisor(device, norm, shape)?;
        let products = Products { scope, name: &direction.name };
        let identity = identity(device, shape[0].min(shape[1]))?;
        let mut x = turned(device.div(&direction.value, &divisor)?)?;
        for _ in 0..self.ns_steps {
            x = self.iteration(&products, &x, &identity)?;
        }
        Ok(Named::new(direction.name.clone(), turned(x)?))
    }

    /// Returns `max(norm, eps)` at every element of this shape, as `relu(norm - eps) + eps`.
    fn divisor<D: Ops>(
        &self,
        device: &D,
        norm: &D::Tensor,
        shape: [usize; 2],
    ) -> Result<D::Tensor, D::Error> {
        let eps = device.fill(round(self.eps), &[], DType::F32)?;
        let beyond = device.relu(&device.sub(norm, &eps)?)?;
        device.sum_backward(&device.add(&beyond, &eps)?, &shape, DType::F32)
    }

    /// Returns `(a I + b A + c A A) X` with `A = X Xᵀ`: products as the region has them, sums in `f32`.
    ///
    /// `a I` is added before the last product, since `(b A + c A A) X` alone is three times as large as the result, and so is what its
    /// rounding loses.
    fn iteration<D: Ops + Autocast + MultiTensor>(
        &self,
        products: &Products<'_, '_, D>,
        x: &D::Tensor,
        identity: &D::Tensor,
    ) -> Result<D::Tensor, D::Error> {
        let [a, b, c] = self.ns_coefficients.map(round);
        let gram = products.gram(x)?;
        // It is symmetric, so that it is its own transpose.
        let square = products.gram(&gram)?;
        let polynomial = products.sum((a, identity), (b, &gram))?;
        products.plain(&products.sum((1.0, &polynomial), (c, &square))?, x)
    }
}

/// Returns the identity of this extent, made on the device: rows of a 1 and `extent` zeros, read on in rows that are shorter by one.
fn identity<D: Ops>(device: &D, extent: usize) -> Result<D::Tensor, D::Error> {
    let ones = device.fill(1.0, &[extent, 1], DType::F32)?;
    let zeros = device.fill(0.0, &[extent, extent], DType::F32)?;
    let flat = device.reshape(&device.cat(&[&ones, &zeros], 1)?, &[extent * (extent + 1)])?;
    device.reshape(&device.narrow(&flat, 0, 0, extent * extent)?, &[extent, extent])
}

/// Products of matrices for the parameter of this name, whose operands are cast by the scope.
struct Products<'p, 'd, D: Autocast> {
    scope: &'p Scope<'d, D>,
    name: &'p Arc<str>,
}

impl<D: Ops + Autocast + MultiTensor> Products<'_, '_, D> {
    /// Returns `x xᵀ`.
    fn gram(&self, x: &D::Tensor) -> Result<D::Tensor, D::Error> {
        // One tensor is both operands: it is cast once, and the policy is told the sizes of both.
        let shape = Some(self.scope.device.shape(x));
        let call = OpCall { path: self.name, ..Op::LINEAR.into() };
        let call = call.with_shapes(&[shape.clone(), shape]);
        let cast = self.scope.cast_all(&call, &[x]).map_err(|error| self.told(error))?;
        let x = cast.first().map_or(x, AsRef::as_ref);
        self.scope.device.linear(x, x, None)
    }

    /// Returns `x y`.
    fn plain(&self, x: &D::Tensor, y: &D::Tensor) -> Result<D::Tensor, D::Error> {
        let cast = self.scope.cast(Op::MATMUL, self.name, [x, y]);
        let [x, y] = cast.map_err(|error| self.told(error))?;
        self.scope.device.matmul(&x, &y)
    }

    /// Returns `p x + q y` in `f32`.
    fn sum(
        &self,
        (p, x): (f32, &D::Tensor),
        (q, y): (f32, &D::Tensor),
    ) -> Result<D::Tensor, D::Error> {
        let [x, y] = [x, y].map(|term| Named::new(self.name.clone(), term.clone()));
        let (mut sum, _) = self.scope.device.axpby((p, from_ref(&x)), (q, from_ref(&y)))?;
        let missing = || self.refused("the device returned no sum of two tensors");
        sum.pop().map(|sum| sum.value).ok_or_else(missing)
    }

    fn told(&self, error: CastError<D::Error>) -> D::Error {
        match error {
            CastError::Device { source, .. } => source,
            CastError::Refused(_) => self.refused(
                "the region's policy refuses a product of Muon's step: open a region whose policy takes `linear` and `matmul`",
            ),
        }
    }

    fn refused(&self, why: &'static str) -> D::Error {
        let parameter = self.name.clone();
        self.scope.device.train_error(TrainError::Match(MatchError { parameter, why }))
    }
}
