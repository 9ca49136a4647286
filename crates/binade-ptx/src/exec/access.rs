//! A warp's access to memory: each lane's bytes found, checked and noted. The allocation is looked up once for all lanes in it.

use super::{
    block::{Block, Stop},
    shared::{Accessor, Shared},
    warp::{Lanes, Warp, each},
};
use crate::{
    isa::{Space, Values},
    memory::{Allocation, Global, Trouble, aligned},
    module::Instruction,
    report::{Access, ReportKind},
};

/// The widest access of a lane: a vector of four words.
pub(super) const WIDEST: usize = 16;

/// Access of a warp: an address for each lane, and the same width for all.
#[derive(Debug)]
pub(super) struct Touch {
    addresses: Values,
    lanes: Lanes,
    /// Width of each lane's access.
    bytes: usize,
    access: Access,
    /// Thread and line of lane 0's access.
    by: Accessor,
}

impl Touch {
    /// Creates an access whose addresses are the operand `index` of the instruction.
    pub(super) fn new(
        warp: &Warp,
        at: &Instruction,
        index: usize,
        lanes: Lanes,
        bytes: usize,
        access: Access,
    ) -> Self {
        let (addresses, by) = (warp.addresses(at, index), Accessor::new(warp, 0, at.line));
        Self { addresses, lanes, bytes, access, by }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a lane is below 32")]
    fn accessor(&self, lane: usize) -> Accessor {
        Accessor { thread: self.by.thread + lane as u32, ..self.by }
    }
}

impl Block<'_> {
    /// Calls `work` with each lane's number and bytes, lowest lane first.
    pub(super) fn each_piece(
        &mut self,
        touch: &Touch,
        space: Space,
        work: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), Stop> {
        match space {
            Space::Global => in_global(self.memory, touch, work),
            Space::Shared => in_shared(&mut self.shared, touch, work),
            Space::Param => in_params(&self.launch.params, touch, work),
        }
    }
}

fn in_global(
    memory: &mut Global,
    touch: &Touch,
    mut work: impl FnMut(usize, &mut [u8]),
) -> Result<(), Stop> {
    let mut left = touch.lanes;
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        if let Some((first, allocation)) = memory.around(touch.addresses[lane]) {
            for lane in each(left) {
                let Some(piece) = piece(allocation, first, touch.addresses[lane], touch) else {
                    break;
                };
                work(lane, piece);
                left &= left - 1;
            }
        }
        // The address lies in another allocation, or is faulty.
        if left >> lane & 1 == 1 {
            let bytes = touch.bytes as u64;
            let found = memory.access(touch.addresses[lane], bytes, touch.access);
            work(lane, found.map_err(|trouble| (lane, trouble))?);
            left &= left - 1;
        }
    }
    Ok(())
}

/// Returns the bytes at an address, if it is aligned, they lie in the allocation, and all bytes to be read were written.
fn piece<'a>(
    allocation: &'a mut Allocation,
    first: u64,
    address: u64,
    touch: &Touch,
) -> Option<&'a mut [u8]> {
    let from = usize::try_from(address.checked_sub(first)?).ok()?;
    let place = from..from.checked_add(touch.bytes)?;
    let is_aligned = address & (touch.bytes as u64 - 1) == 0;
    let is_good = is_aligned && place.end <= allocation.len();
    if is_good { allocation.access(place, touch.access) } else { None }
}

fn in_shared(
    shared: &mut Shared,
    touch: &Touch,
    mut work: impl FnMut(usize, &mut [u8]),
) -> Result<(), Stop> {
    for lane in each(touch.lanes) {
        let (address, by) = (touch.addresses[lane], touch.accessor(lane));
        let found = shared.touch(address, touch.bytes, touch.access, by);
        work(lane, found.map_err(|trouble| (lane, trouble))?);
    }
    Ok(())
}

/// Calls `work` with a copy of each lane's bytes of the parameters.
fn in_params(
    params: &[u8],
    touch: &Touch,
    mut work: impl FnMut(usize, &mut [u8]),
) -> Result<(), Stop> {
    let (mut copy, mut last) = ([0; WIDEST], None);
    let copy = &mut copy[..touch.bytes];
    for lane in each(touch.lanes) {
        let address = touch.addresses[lane];
        // Nearly always all lanes read the same address.
        if last.replace(address) != Some(address) {
            let found = param(params, address, touch.bytes, touch.access);
            copy.copy_from_slice(found.map_err(|trouble| (lane, trouble))?);
        }
        work(lane, copy);
    }
    Ok(())
}

fn param(params: &[u8], address: u64, bytes: usize, access: Access) -> Result<&[u8], Trouble> {
    let (space, width) = (Space::Param, bytes as u64);
    aligned(address, width, access, space)?;
    let kind = ReportKind::OutOfBounds { access, space, bytes: width };
    let from = usize::try_from(address).ok();
    let found = from.and_then(|from| params.get(from..from.checked_add(bytes)?));
    found.ok_or(Trouble { kind, address: Some(address) })
}

/// Returns an element's bits, zero-extended, from its bytes.
pub(super) fn element(bytes: &[u8]) -> u64 {
    if let Ok(bytes) = bytes.try_into() {
        return u64::from(u32::from_le_bytes(bytes));
    }
    if let Ok(bytes) = bytes.try_into() {
        return u64::from_le_bytes(bytes);
    }
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// Writes the low bytes of `value`.
pub(super) fn fill(bytes: &mut [u8], value: u64) {
    let from = value.to_le_bytes();
    // A length known to the compiler becomes one move.
    match bytes.len() {
        4 => bytes.copy_from_slice(&from[..4]),
        8 => bytes.copy_from_slice(&from),
        length => bytes.copy_from_slice(&from[..length]),
    }
}
