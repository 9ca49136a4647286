//! Devices, all alike: limits, and the environment variables that choose their number and compute capability.

use std::time::Duration;

use super::{Driver, Handle};
use crate::{
    Capability,
    driver::code::{Code, Result},
    exec::MmaSums,
    memory::{Devices, MOST_DEVICES},
};

/// The devices as the environment sets them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) capability: Capability,
    pub(crate) devices: usize,
    pub(crate) sums: MmaSums,
    /// Number of events by which the devices are behind the host.
    pub(crate) lag: u64,
    /// Time that a rank of NCCL waits for the others.
    pub(crate) patience: Duration,
}

impl Configuration {
    /// Reads the variables through `value`, which returns the value of a variable.
    pub(crate) fn new(value: impl Fn(&str) -> Option<String>) -> std::result::Result<Self, String> {
        Ok(Self {
            capability: Self::capability(value("BINADE_PTX_CC").as_deref())?,
            devices: Self::devices(value("BINADE_PTX_DEVICES").as_deref())?,
            sums: Self::sums(value("BINADE_PTX_MMA").as_deref())?,
            lag: Self::lag(value("BINADE_PTX_LAG").as_deref())?,
            patience: Self::patience(value("BINADE_PTX_PATIENCE").as_deref())?,
        })
    }

    fn patience(value: Option<&str>) -> std::result::Result<Duration, String> {
        let Some(value) = value else { return Ok(Duration::from_mins(1)) };
        let wrong = |_| format!("BINADE_PTX_PATIENCE is `{value}`; it may be a number of seconds");
        value.parse().map(Duration::from_secs).map_err(wrong)
    }

    fn lag(value: Option<&str>) -> std::result::Result<u64, String> {
        let Some(value) = value else { return Ok(0) };
        let wrong = |_| format!("BINADE_PTX_LAG is `{value}`; it may be a number of events");
        value.parse::<u32>().map(u64::from).map_err(wrong)
    }

    fn sums(value: Option<&str>) -> std::result::Result<MmaSums, String> {
        match value {
            None | Some("exact") => Ok(MmaSums::Exact),
            Some("truncating") => Ok(MmaSums::Truncating),
            Some(other) => {
                Err(format!("BINADE_PTX_MMA is `{other}`; it may be exact or truncating"))
            }
        }
    }

    fn devices(value: Option<&str>) -> std::result::Result<usize, String> {
        let Some(value) = value else { return Ok(1) };
        let number = value.parse().ok().filter(|number| (1..=MOST_DEVICES).contains(number));
        number.ok_or_else(|| {
            format!("BINADE_PTX_DEVICES is `{value}`; it may be 1 to {MOST_DEVICES}")
        })
    }

    fn capability(value: Option<&str>) -> std::result::Result<Capability, String> {
        match value {
            None | Some("8.0") => Ok(Capability::SM_80),
            Some("7.5") => Ok(Capability::SM_75),
            Some(other) => Err(format!("BINADE_PTX_CC is `{other}`; it may be 7.5 or 8.0")),
        }
    }
}

/// Memory of a device in bytes: the limit of a test's host memory.
pub(crate) const TOTAL_MEMORY: u64 = 4 << 30;

/// Number of streaming multiprocessors: few, so that grids sized by it stay small.
pub(crate) const MULTIPROCESSORS: u32 = 4;

/// Limits that differ between compute capabilities (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) threads: u32,
    pub(crate) blocks: u32,
    pub(crate) shared: u32,
    /// Shared memory in bytes of a block that opts in to more.
    pub(crate) most_shared: u32,
}

impl Driver {
    #[expect(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "a few")]
    pub(crate) fn device_count(&self) -> i32 {
        self.devices as i32
    }

    pub(crate) fn device(&self, ordinal: i32) -> Result<usize> {
        let device = usize::try_from(ordinal).ok().filter(|device| *device < self.devices);
        device.ok_or(Code::InvalidDevice)
    }

    /// Returns the device of a context.
    pub(crate) fn device_of(&self, context: Handle) -> Result<usize> {
        Ok(self.contexts.get(context).map_err(|_| Code::InvalidContext)?.device)
    }

    /// Returns the devices whose memory work in a context may touch: its own.
    pub(crate) fn seen_from(&self, context: Handle) -> Result<Devices> {
        Ok(1 << self.device_of(context)?)
    }

    pub(crate) fn limits(&self) -> Limits {
        if self.capability >= Capability::SM_80 {
            Limits { threads: 2048, blocks: 32, shared: 164 << 10, most_shared: 163 << 10 }
        } else {
            Limits { threads: 1024, blocks: 16, shared: 64 << 10, most_shared: 64 << 10 }
        }
    }

    /// Returns an attribute by its number in `cuda.h` (`CU_DEVICE_ATTRIBUTE_…`). A feature that the device does not have is 0.
    #[expect(clippy::cast_possible_wrap, reason = "limits far below 2^31")]
    pub(crate) fn attribute(&self, attribute: i32) -> Result<i32> {
        let limits = self.limits();
        Ok(match attribute {
            1..=3 => 1024,                     // threads of a block, its x and y
            4 => 64,                           // a block's z
            5 | 11 => i32::MAX,                // a grid's x; pitch
            6 | 7 => 65_535,                   // a grid's y and z
            8 => 48 << 10,                     // shared memory of a block
            10 => 32,                          // lanes of a warp
            9 | 12 | 82 => 64 << 10, // constant memory; registers of a block, of a multiprocessor
            13 | 36 => 1_000_000,    // clocks, in kHz
            14 => 512,               // alignment of textures
            15 | 31 | 40 | 41 | 78 | 115 => 1, // overlap, streams, unified addresses, priorities, pools
            16 => MULTIPROCESSORS as i32,
            37 => 256,     // bits of the memory's bus
            38 => 4 << 20, // level-2 cache
            39 => limits.threads as i32,
            75 => i32::from(self.capability.major),
            76 => i32::from(self.capability.minor),
            81 => limits.shared as i32,
            97 => limits.most_shared as i32,
            106 => limits.blocks as i32,
            17..=200 => 0,
            _ => return Err(Code::InvalidValue),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_devices_that_is_none_is_refused_by_its_value() {
        assert_eq!([None, Some("2"), Some("8")].map(Configuration::devices), [Ok(1), Ok(2), Ok(8)]);
        for wrong in ["0", "9", "-1", "two", ""] {
            let refused = Configuration::devices(Some(wrong)).unwrap_err();
            assert!(refused.contains(&format!("`{wrong}`")), "{refused}");
        }
    }
}
