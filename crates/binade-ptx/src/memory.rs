//! Device memory: allocations separated by unmapped space, so that an access beyond one does not hit the next.
//!
//! Devices share one address space, and each has its own part of it. A launch sees the parts of some devices.

mod allocation;

use std::{collections::BTreeMap, ops::Range};

pub(crate) use self::allocation::Allocation;
use crate::report::{Access, ReportKind, Space};

/// First address of device 0. It is far from zero, so that small integers taken for addresses are in no allocation.
const FIRST: u64 = 0x7000_0000_0000;

/// Alignment of allocations in bytes, as `cudaMalloc` aligns.
const ALIGN: u64 = 256;

/// Bits of an address within a device's part.
const PART: u32 = 40;

/// Greatest number of devices: their parts stay below the host's addresses.
pub(crate) const MOST_DEVICES: usize = 8;

/// Set of devices, one bit each.
pub(crate) type Devices = u32;

/// Unmapped bytes behind each allocation, before rounding up to the alignment.
const GAP: u64 = 1 << 16;

/// Faulty access: its kind, and its address if one is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: ReportKind,
    pub(crate) address: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Global {
    /// Allocations by first address.
    allocations: BTreeMap<u64, Allocation>,
    /// Next free address by device.
    next: [u64; MOST_DEVICES],
    /// Devices whose memory the running kernel may touch.
    seen: Devices,
}

impl Default for Global {
    fn default() -> Self {
        let next = std::array::from_fn(|device| FIRST + ((device as u64) << PART));
        Self { allocations: BTreeMap::new(), next, seen: Devices::MAX }
    }
}

impl Global {
    /// Allocates unwritten memory of a device, and returns its address, which is never reused.
    pub(crate) fn alloc(&mut self, device: usize, bytes: usize) -> u64 {
        let next = &mut self.next[device];
        let address = *next;
        *next = (address + bytes as u64 + GAP).next_multiple_of(ALIGN);
        self.allocations.insert(address, Allocation::new(bytes));
        address
    }

    /// Sets the devices whose memory later kernels may touch.
    pub(crate) fn show(&mut self, devices: Devices) {
        self.seen = devices;
    }

    /// Returns true if the running kernel may touch the device that `address` belongs to.
    fn is_seen(&self, address: u64) -> bool {
        device_of(address).is_some_and(|device| self.seen >> device & 1 == 1)
    }

    pub(crate) fn free(&mut self, address: u64) -> bool {
        self.allocations.remove(&address).is_some()
    }

    /// Returns the allocation that holds these bytes, if one holds them all, and their place in it.
    pub(crate) fn holder(
        &mut self,
        address: u64,
        bytes: usize,
    ) -> Option<(&mut Allocation, Range<usize>)> {
        let (first, allocation) = self.allocations.range_mut(..=address).next_back()?;
        let from = usize::try_from(address - first).ok()?;
        let place = from..from.checked_add(bytes)?;
        (place.end <= allocation.len()).then_some((allocation, place))
    }

    /// Returns the last allocation that begins at or below `address`, with its first address. `address` may lie behind its end.
    /// Returns `None` for a device that the kernel may not touch.
    pub(crate) fn around(&mut self, address: u64) -> Option<(u64, &mut Allocation)> {
        if !self.is_seen(address) {
            return None;
        }
        let (first, memory) = self.allocations.range_mut(..=address).next_back()?;
        Some((*first, memory))
    }

    /// Returns the bytes of a thread's access. The address must be a multiple of the width, and bytes to be read must have been written.
    pub(crate) fn access(
        &mut self,
        address: u64,
        bytes: u64,
        access: Access,
    ) -> Result<&mut [u8], Trouble> {
        aligned(address, bytes, access, Space::Global)?;
        self.held(address, bytes, access)
    }

    /// Returns the bytes of an access whose alignment does not matter.
    fn held(&mut self, address: u64, bytes: u64, access: Access) -> Result<&mut [u8], Trouble> {
        let space = Space::Global;
        let trouble = |kind| Trouble { kind, address: Some(address) };
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        let is_seen = self.is_seen(address);
        let found = self.holder(address, length).filter(|_| is_seen);
        let (allocation, place) =
            found.ok_or(trouble(ReportKind::OutOfBounds { access, space, bytes }))?;
        let found = allocation.access(place, access);
        found.ok_or(trouble(ReportKind::Uninitialised { space, bytes }))
    }

    /// Returns `whole` bytes: `read` bytes of memory, then zeros. Only the bytes that are read need an allocation. A `read` above
    /// `whole` is out of bounds.
    pub(crate) fn part(&mut self, address: u64, whole: u64, read: u64) -> Result<Vec<u8>, Trouble> {
        let (access, space) = (Access::Read, Space::Global);
        aligned(address, whole, access, space)?;
        if read > whole {
            let kind = ReportKind::OutOfBounds { access, space, bytes: read };
            return Err(Trouble { kind, address: Some(address) });
        }
        let mut bytes = match read {
            0 => Vec::new(),
            _ => self.held(address, read, access)?.to_vec(),
        };
        bytes.resize(usize::try_from(whole).unwrap_or(usize::MAX), 0);
        Ok(bytes)
    }
}

/// Returns the device that an address belongs to, mapped or not.
pub(crate) fn device_of(address: u64) -> Option<usize> {
    let device = usize::try_from(address.checked_sub(FIRST)? >> PART).ok()?;
    (device < MOST_DEVICES).then_some(device)
}

/// Checks natural alignment, which the ISA requires of every access, of vectors as wholes.
pub(crate) fn aligned(
    address: u64,
    bytes: u64,
    access: Access,
    space: Space,
) -> Result<(), Trouble> {
    if address.is_multiple_of(bytes) {
        return Ok(());
    }
    Err(Trouble { kind: ReportKind::Misaligned { access, space, bytes }, address: Some(address) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_touches_what_it_is_shown_and_nothing_else() {
        let mut memory = Global::default();
        let at = [0, 1].map(|device| memory.alloc(device, 16));
        for at in at {
            memory.access(at, 16, Access::Write).unwrap();
        }
        assert_eq!(at.map(device_of), [Some(0), Some(1)]);
        memory.show(1 << 1);
        let touched = at.map(|at| {
            [
                memory.access(at, 4, Access::Read).is_ok(),
                memory.part(at, 16, 16).is_ok(),
                memory.around(at).is_some(),
            ]
        });
        assert_eq!(touched, [[false; 3], [true; 3]]);
    }
}
