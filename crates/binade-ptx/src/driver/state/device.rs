//! The one device: its name, its limits, and the environment variable that chooses its compute capability.

use super::Driver;
use crate::{
    Capability,
    driver::code::{Code, Result},
};

/// What the environment says about the device.
#[derive(Debug)]
pub(in crate::driver) struct Configuration;

impl Configuration {
    /// The device's capability from the value of `BINADE_PTX_CC`.
    pub(in crate::driver) fn capability(
        value: Option<&str>,
    ) -> std::result::Result<Capability, String> {
        match value {
            None | Some("8.0") => Ok(Capability::SM_80),
            Some("7.5") => Ok(Capability::SM_75),
            Some(other) => Err(format!("BINADE_PTX_CC is `{other}`; it may be 7.5 or 8.0")),
        }
    }
}

/// What the device's memory comes to, in bytes: what a test may take of the host's.
pub(super) const TOTAL_MEMORY: u64 = 4 << 30;

/// Streaming multiprocessors: few, so that grids sized by their number stay small.
pub(super) const MULTIPROCESSORS: u32 = 4;

/// Limits that differ between capabilities (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads: u32,
    pub(super) blocks: u32,
    pub(super) shared: u32,
    /// What a block may have that opts in.
    pub(super) most_shared: u32,
}

impl Driver {
    pub(in crate::driver) fn name() -> &'static std::ffi::CStr {
        c"Binade PTX interpreter"
    }

    pub(in crate::driver) fn device(ordinal: i32) -> Result<i32> {
        if ordinal == 0 { Ok(0) } else { Err(Code::InvalidDevice) }
    }

    pub(in crate::driver) fn total_memory() -> u64 {
        TOTAL_MEMORY
    }

    pub(super) fn limits(&self) -> Limits {
        if self.capability >= Capability::SM_80 {
            Limits { threads: 2048, blocks: 32, shared: 164 << 10, most_shared: 163 << 10 }
        } else {
            Limits { threads: 1024, blocks: 16, shared: 64 << 10, most_shared: 64 << 10 }
        }
    }

    /// `CU_DEVICE_ATTRIBUTE_…`, by the numbers of `cuda.h`; what the device does not have is 0.
    #[expect(clippy::cast_possible_wrap, reason = "limits far below 2^31")]
    pub(in crate::driver) fn attribute(&self, attribute: i32) -> Result<i32> {
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
    fn a_capability_that_is_not_simulated_is_refused_by_its_value() {
        assert_eq!(Configuration::capability(Some("7.5")), Ok(Capability::SM_75));
        assert!(Configuration::capability(Some("9.0")).unwrap_err().contains("`9.0`"));
    }
}
