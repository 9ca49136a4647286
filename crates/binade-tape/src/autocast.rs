//! Recorded casts.

use crate::{
    Device,
    record::{Origin, Value},
};
use binade_autocast::{Autocast, CacheKey};
use binade_core::{DType, Handle};
use std::{borrow::Cow, marker::PhantomData};

/// Handle that a tape's scope casts on. Values carry their record, so the handle is empty and `'static`.
pub(crate) struct Recorder<D>(PhantomData<fn() -> D>);

impl<D: Device> Recorder<D> {
    pub(crate) const fn forever() -> &'static Self {
        const { &Self(PhantomData) }
    }
}

impl<D: Device> Handle for Recorder<D> {
    type Tensor = Value<D>;
    type Error = D::Error;
}

impl<D: Device> Autocast for Recorder<D> {
    fn dtype(&self, value: &Value<D>) -> DType {
        value.dtype()
    }

    fn cast(&self, value: &Value<D>, to: DType) -> Result<Value<D>, D::Error> {
        let record = &value.record;
        let mut cast = record.value(record.device.cast(&value.tensor, to)?);
        cast.node = value.node.map(|node| record.push(to, Origin::Cast(node)));
        Ok(cast)
    }

    /// Returns the key of a parameter, whose elements change only where the device writes into memory that tensors share.
    fn cache_key(&self, value: &Value<D>) -> Option<CacheKey> {
        let version = if value.parameter { self.version(value)? } else { return None };
        Some(CacheKey { id: value.storage, version, grad: value.node.is_some() })
    }

    fn version(&self, value: &Value<D>) -> Option<u64> {
        value.record.device.version(&value.tensor)
    }

    fn extents<'t>(&self, value: &'t Value<D>) -> Option<Cow<'t, [usize]>> {
        Some(value.record.device.shape(&value.tensor).into())
    }

    fn elements(&self, value: &Value<D>) -> Option<u64> {
        value.record.device.elements(&value.tensor)
    }
}
