//! Matrices of a warp, with a part in each lane: "Matrix Fragments" of the ISA's chapter on `mma`.

use super::{
    access::element,
    block::{Block, Stop},
    shared::Accessor,
    sums::{COLUMNS, DEPTH, MmaSums},
    warp::{Lanes, Warp},
};
use crate::{
    isa::{LANES, Pairs},
    module::{Capability, Instruction},
    report::Access,
};

/// Bytes of a row of an 8 by 8 matrix of 16 bits.
const ROW: u64 = 16;

/// Rows of A.
const ROWS: usize = 16;

/// Computes `D = A·B + C`. The ISA leaves the order of the sum and its roundings open but for "at least single precision".
pub(super) fn multiply(warp: &mut Warp, at: &Instruction, pairs: Pairs, sums: MmaSums) {
    let (a, b) = (left(warp, at, pairs), right(warp, at, pairs));
    let add = sums.of_row();
    let mut result = [[0; LANES]; 4];
    for (row, a) in a.iter().enumerate() {
        // Registers 0 and 1 of a lane hold two neighbours of a row, 2 and 3 those of the row eight below.
        let place = |column: usize| (row / 8 * 2 + column % 2, row % 8 * 4 + column / 2);
        let c = std::array::from_fn(|column| {
            let (part, lane) = place(column);
            of_f32(warp.of(at.registers(3)[part])[lane])
        });
        for (column, sum) in add(a, &b, &c).into_iter().enumerate() {
            let (part, lane) = place(column);
            result[part][lane] = of_sum(sum);
        }
    }
    for (part, values) in result.iter().enumerate() {
        warp.put(at.registers(0)[part], values, Lanes::MAX);
    }
}

/// A's elements by row. Registers hold, in this order, rows 0 to 7 and rows 8 to 15 of the first eight columns, then of the
/// others; in each, a lane has two neighbours of row `lane / 4`.
fn left(warp: &Warp, at: &Instruction, pairs: Pairs) -> [[f64; DEPTH]; ROWS] {
    let mut elements = [[0.0; DEPTH]; ROWS];
    for (part, register) in at.registers(1).iter().enumerate() {
        for (lane, [low, high]) in pairs(warp.of(*register)).into_iter().enumerate() {
            let (row, column) = (lane / 4 + part % 2 * 8, lane % 4 * 2 + part / 2 * 8);
            elements[row][column] = low;
            elements[row][column + 1] = high;
        }
    }
    elements
}

/// B's elements by row. Registers hold the first eight rows, then the others; in each, a lane has two neighbours of column
/// `lane / 4`.
fn right(warp: &Warp, at: &Instruction, pairs: Pairs) -> [[f64; COLUMNS]; DEPTH] {
    let mut elements = [[0.0; COLUMNS]; DEPTH];
    for (part, register) in at.registers(2).iter().enumerate() {
        for (lane, [low, high]) in pairs(warp.of(*register)).into_iter().enumerate() {
            let (column, row) = (lane / 4, lane % 4 * 2 + part * 8);
            elements[row][column] = low;
            elements[row + 1][column] = high;
        }
    }
    elements
}

#[expect(clippy::cast_possible_truncation, reason = "a 32-bit register's bits")]
fn of_f32(register: u64) -> f64 {
    f32::from_bits(register as u32).into()
}

/// Returns the bits of a sum; a NaN becomes the ISA's canonical NaN.
fn of_sum(sum: f32) -> u64 {
    if sum.is_nan() { 0x7fff_ffff } else { u64::from(sum.to_bits()) }
}

impl Block<'_> {
    /// Loads matrices one after another; lanes `8·i` to `8·i + 7` give the row addresses of matrix `i`. The read is recorded for the lane that gets
    /// the bytes, whichever lane gave the address, so that a race with their writer is found.
    pub(super) fn load_matrix(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        transposed: bool,
    ) -> Result<(), Stop> {
        let (addresses, registers) = (warp.addresses(at, 1), at.registers(0));
        // Before 8.0 the lanes whose addresses are not used must have valid ones as well.
        let all = self.launch.module.target < Capability::SM_80;
        let used = if all { LANES } else { 8 * registers.len() };
        for (lane, address) in addresses[..used].iter().enumerate() {
            self.shared.holds(*address, ROW).map_err(|trouble| (lane, trouble))?;
        }
        for (register, rows) in registers.iter().zip(addresses.chunks_exact(8)) {
            for lane in 0..LANES {
                let by = Accessor::new(warp, lane, at.line);
                let value = self.fragment(rows, lane, transposed, by)?;
                warp.set(*register, lane, value);
            }
        }
        Ok(())
    }

    /// Returns a lane's two elements: neighbours in a row, or in a column if transposed.
    fn fragment(
        &mut self,
        rows: &[u64],
        lane: usize,
        transposed: bool,
        by: Accessor,
    ) -> Result<u64, Stop> {
        let (index, place) = (lane / 4, lane % 4 * 2);
        let mut read = |row: usize, column: usize, bytes: usize| {
            let address = rows[row] + 2 * column as u64;
            let found = self.shared.touch(address, bytes, Access::Read, by);
            found.map(|bytes| element(bytes)).map_err(|trouble| (lane, trouble))
        };
        if transposed {
            return Ok(read(place, index, 2)? | read(place + 1, index, 2)? << 16);
        }
        read(index, place, 4)
    }
}
