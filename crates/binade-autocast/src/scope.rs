//! Region opened on a device: casts are made, kept and counted here.

use crate::cache::Cache;
use crate::cast_stats::{CastStats, Posting};
use crate::{Autocast, CastError, Region};
use binade_cast_policy::{Decision, OpCall, Uneven};
use binade_core::{DType, Op};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Region opened on a device. It casts operands, and keeps casts of parameters until it is dropped.
///
/// * A parameter is cast once in a region, to each type it is used in.
/// * A kept cast is never stale: it is found only while the parameter's version is the one it was made of.
/// * A cast made without gradients is not found by a use that needs them.
/// * A tensor that reports no key is cast at each use.
/// * `f64`, integers and booleans pass untouched.
/// * Everything kept is freed with the last scope of the region.
pub struct Scope<'d, D: Autocast> {
    /// Device on which the scope casts.
    pub device: &'d D,
    /// Region whose rules the scope follows.
    pub region: Region,
    cache: Option<Arc<Cache<D::Tensor>>>,
    stats: Option<Arc<CastStats>>,
}

impl Region {
    /// Opens the region on `device`, with nothing kept yet and no statistics.
    pub fn open<'d, D: Autocast>(&self, device: &'d D) -> Scope<'d, D> {
        Scope { device, region: self.clone(), cache: Some(Arc::default()), stats: None }
    }
}

impl<D: Autocast> Scope<'_, D> {
    /// Returns the scope with casts counted in `stats`.
    #[must_use]
    pub fn with_stats(self, stats: Arc<CastStats>) -> Self {
        Self { stats: Some(stats), ..self }
    }

    /// Returns the scope without a cache: the same numbers, more casts.
    #[must_use]
    pub fn without_cache(self) -> Self {
        Self { cache: None, ..self }
    }

    /// Returns a scope inside this one, with another region; both find casts that either keeps.
    #[must_use]
    pub fn within(&self, region: Region) -> Self {
        Self { region, ..self.clone() }
    }

    /// Returns the number of casts kept now.
    pub fn kept(&self) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.len())
    }

    /// Returns the operands of `op`, at `path` in the model, as it should see them; those that need no cast are borrowed.
    ///
    /// It is for operations whose result has the type of their operands. If the policy asks for an `f32` result, the operands are
    /// cast to `f32`, which gives the same numbers as widening inside.
    ///
    /// # Errors
    ///
    /// If the policy refuses the operation, or the device cannot cast.
    pub fn cast<'t, const N: usize>(
        &self,
        op: Op,
        path: &str,
        operands: [&'t D::Tensor; N],
    ) -> Result<[Cow<'t, D::Tensor>; N], CastError<D::Error>> {
        let call = OpCall { path, ..op.into() };
        let dtypes = operands.map(|tensor| self.device.dtype(tensor));
        let elements = operands.map(|tensor| self.elements(tensor));
        let shapes = operands.map(|tensor| self.device.extents(tensor));
        let call = with_operands(&call, &dtypes, &elements, &shapes);
        let decision = through_operands(self.decide(&call)?);
        let mut cast = operands.map(Cow::Borrowed);
        for (operand, tensor) in operands.into_iter().enumerate() {
            cast[operand] = self.operand(&call, decision, operand, tensor)?;
        }
        Ok(cast)
    }

    /// Returns the operands of a call as [`cast`](Self::cast) does: any number of them, and with sizes that do not follow from
    /// their shapes. The operands' types and elements are filled in here, and the sizes that `call` does not state: see
    /// [`OpCall::with_shapes`].
    ///
    /// # Errors
    ///
    /// If the policy refuses the operation, or the device cannot cast.
    pub fn cast_all<'t>(
        &self,
        call: &OpCall<'_>,
        operands: &[&'t D::Tensor],
    ) -> Result<Vec<Cow<'t, D::Tensor>>, CastError<D::Error>> {
        self.list(call, operands, through_operands).map(|(operands, _)| operands)
    }

    /// Returns operands, cast as by [`cast_all`](Self::cast_all), for operations that take a type of result, and the type to ask
    /// for; `None` if it follows from the operands.
    ///
    /// # Errors
    ///
    /// If the policy refuses the operation, or the device cannot cast.
    pub fn prepare<'t>(
        &self,
        call: &OpCall<'_>,
        operands: &[&'t D::Tensor],
    ) -> Result<Operands<'t, D::Tensor>, CastError<D::Error>> {
        self.list(call, operands, |decision| decision)
    }

    fn list<'t>(
        &self,
        call: &OpCall<'_>,
        operands: &[&'t D::Tensor],
        meant: impl FnOnce(Decision) -> Decision,
    ) -> Result<Operands<'t, D::Tensor>, CastError<D::Error>> {
        let each = || operands.iter().copied();
        let dtypes: Vec<_> = each().map(|tensor| self.device.dtype(tensor)).collect();
        let elements: Vec<_> = each().map(|tensor| self.elements(tensor)).collect();
        let shapes: Vec<_> = each().map(|tensor| self.device.extents(tensor)).collect();
        let call = with_operands(call, &dtypes, &elements, &shapes);
        let decision = meant(self.decide(&call)?);
        let cast = |(operand, tensor)| self.operand(&call, decision, operand, tensor);
        let operands = each().enumerate().map(cast).collect::<Result<_, _>>()?;
        Ok((operands, decision.output))
    }

    /// Asks the policy, and counts a product that it leaves uneven.
    fn decide(&self, call: &OpCall<'_>) -> Result<Decision, CastError<D::Error>> {
        let decision = self.region.decide(call)?;
        if let Some(stats) = self.stats.as_ref().filter(|_| Uneven::of(call, decision).is_some()) {
            stats.post_uneven(call.op.name());
        }
        Ok(decision)
    }

    fn elements(&self, tensor: &D::Tensor) -> u64 {
        self.device.elements(tensor).unwrap_or(UNKNOWN)
    }

    /// Returns one operand, cast if the decision says so.
    fn operand<'t>(
        &self,
        call: &OpCall<'_>,
        decision: Decision,
        operand: usize,
        tensor: &'t D::Tensor,
    ) -> Result<Cow<'t, D::Tensor>, CastError<D::Error>> {
        let from = call.operands[operand];
        let Some(to) = decision.cast(from) else { return Ok(Cow::Borrowed(tensor)) };
        let (cast, made) = self.kept_or_made(tensor, to).map_err(|source| CastError::Device {
            site: call.into(),
            operand,
            from_dtype: from,
            to_dtype: to,
            source,
        })?;
        if let Some(stats) = &self.stats {
            let (op, promoted) = (call.op.name(), decision.promoted);
            let elements = self.device.elements(tensor);
            stats.post(&Posting { op, to, promoted, made, elements });
        }
        Ok(Cow::Owned(cast))
    }

    fn kept_or_made(&self, tensor: &D::Tensor, to: DType) -> Result<(D::Tensor, bool), D::Error> {
        let make = || self.device.cast(tensor, to);
        match (&self.cache, self.device.cache_key(tensor)) {
            (Some(cache), Some(key)) => cache.get_or_make(key, to, make),
            _ => Ok((make()?, true)),
        }
    }
}

/// Operands in order, of which those that need no cast are borrowed, and the type of result to ask for.
type Operands<'t, T> = (Vec<Cow<'t, T>>, Option<DType>);

/// Number of elements if the device does not know it; no memory has so many.
const UNKNOWN: u64 = u64::MAX;

/// Returns `call` with the types and sizes of its operands.
fn with_operands<'a>(
    call: &OpCall<'a>,
    dtypes: &'a [DType],
    elements: &'a [u64],
    shapes: &[Option<Cow<'_, [usize]>>],
) -> OpCall<'a> {
    let elements = if elements.contains(&UNKNOWN) { &[] } else { elements };
    OpCall { operands: dtypes, elements, ..*call }.with_shapes(shapes)
}

/// Returns the decision with the result's type asked of the operands.
fn through_operands(decision: Decision) -> Decision {
    let mut decision = decision;
    decision.operands = decision.operands.or(decision.output);
    decision
}

impl<D: Autocast> Clone for Scope<'_, D> {
    fn clone(&self) -> Self {
        let Self { device, region, cache, stats } = self;
        Self { device, region: region.clone(), cache: cache.clone(), stats: stats.clone() }
    }
}

impl<D: Autocast> fmt::Debug for Scope<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("region", &self.region)
            .field("kept", &self.kept())
            .finish_non_exhaustive()
    }
}
