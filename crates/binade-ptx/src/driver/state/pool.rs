//! Memory pools. Memory is given back when freed, so that of a pool's settings only its counters have an effect.

use std::collections::BTreeMap;

use super::{Driver, Handle};
use crate::driver::code::{Code, Result};

/// Attribute `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, the last that can be set freely; the first three are switches.
const RELEASE_THRESHOLD: u32 = 4;
/// Attributes `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT` to `CU_MEMPOOL_ATTR_USED_MEM_HIGH`.
const COUNTERS: std::ops::RangeInclusive<u32> = 5..=8;

#[derive(Debug)]
pub(super) struct Pool {
    /// Device whose memory the pool hands out.
    pub(super) device: usize,
    set: BTreeMap<u32, u64>,
}

impl Pool {
    pub(super) fn of(device: usize) -> Self {
        Self { device, set: BTreeMap::new() }
    }
}

impl Driver {
    pub(in crate::driver) fn create_pool(&mut self, device: usize) -> Handle {
        self.pools.insert(Pool::of(device))
    }

    pub(in crate::driver) fn destroy_pool(&mut self, pool: Handle) -> Result {
        if self.default_pools.contains(&pool) {
            return Err(Code::InvalidValue);
        }
        let Pool { device, .. } = self.pools.remove(pool)?;
        if self.device_pools[device] == pool {
            self.device_pools[device] = self.default_pools[device];
        }
        Ok(())
    }

    pub(in crate::driver) fn default_pool(&self, device: usize) -> Handle {
        self.default_pools[device]
    }

    pub(in crate::driver) fn device_pool(&self, device: usize) -> Handle {
        self.device_pools[device]
    }

    pub(in crate::driver) fn set_device_pool(&mut self, device: usize, pool: Handle) -> Result {
        if self.pools.get(pool)?.device != device {
            return Err(Code::InvalidValue);
        }
        self.device_pools[device] = pool;
        Ok(())
    }

    pub(in crate::driver) fn trim_pool(&self, pool: Handle) -> Result {
        self.pools.get(pool).map(|_| ())
    }

    pub(in crate::driver) fn pool_attribute(&self, pool: Handle, attribute: u32) -> Result<u64> {
        let settings = &self.pools.get(pool)?.set;
        match attribute {
            1..=RELEASE_THRESHOLD => {
                Ok(settings.get(&attribute).copied().unwrap_or(u64::from(attribute < 4)))
            }
            // A high-water mark equals the present use: a pool keeps no memory beyond it.
            _ if COUNTERS.contains(&attribute) => Ok(self.memory.used_of(pool)),
            _ => Err(Code::InvalidValue),
        }
    }

    pub(in crate::driver) fn set_pool_attribute(
        &mut self,
        pool: Handle,
        attribute: u32,
        value: u64,
    ) -> Result {
        let settings = &mut self.pools.get_mut(pool)?.set;
        match attribute {
            1..=RELEASE_THRESHOLD => {
                settings.insert(attribute, value);
                Ok(())
            }
            // A high-water mark can be reset; no other counter can be set.
            6 | 8 if value == 0 => Ok(()),
            _ => Err(Code::InvalidValue),
        }
    }
}
