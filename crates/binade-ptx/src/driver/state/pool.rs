//! Memory pools. Memory is given back when freed, so of a pool's settings only what it counts has an effect.

use std::collections::BTreeMap;

use super::{Driver, Handle};
use crate::driver::code::{Code, Result};

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, the last that can be set freely; the first three are switches.
const RELEASE_THRESHOLD: u32 = 4;
/// `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT` to `CU_MEMPOOL_ATTR_USED_MEM_HIGH`.
const COUNTERS: std::ops::RangeInclusive<u32> = 5..=8;

#[derive(Debug, Default)]
pub(super) struct Pool {
    set: BTreeMap<u32, u64>,
}

impl Driver {
    pub(in crate::driver) fn create_pool(&mut self) -> Handle {
        self.pools.insert(Pool::default())
    }

    pub(in crate::driver) fn destroy_pool(&mut self, pool: Handle) -> Result {
        if pool == self.default_pool {
            return Err(Code::InvalidValue);
        }
        self.pools.remove(pool)?;
        if self.pool == pool {
            self.pool = self.default_pool;
        }
        Ok(())
    }

    pub(in crate::driver) fn default_pool(&self) -> Handle {
        self.default_pool
    }

    pub(in crate::driver) fn device_pool(&self) -> Handle {
        self.pool
    }

    pub(in crate::driver) fn set_device_pool(&mut self, pool: Handle) -> Result {
        self.pools.get(pool)?;
        self.pool = pool;
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
            // High-water marks are the present use: nothing here keeps memory beyond it.
            _ if COUNTERS.contains(&attribute) => Ok(self.memory.used(Some(pool))),
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
            // A high-water mark can be reset, and nothing else.
            6 | 8 if value == 0 => Ok(()),
            _ => Err(Code::InvalidValue),
        }
    }
}
