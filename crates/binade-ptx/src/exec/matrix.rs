//! Matrices held by a warp, a part in each lane: "Matrix Fragments" of the ISA's chapter on `mma`.

use super::{
    access::element,
    block::{Block, Stop},
    shared::Accessor,
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

/// Greatest number of terms of a sum; missing terms are 0.
const DEPTH: usize = 16;

/// Columns of B.
const COLUMNS: usize = 8;

/// `D = A·B + C`. The ISA leaves the order of the sum and its roundings open but for "at least single precision". Here the
/// products are exact and added up in f64, the first term first and C last, and rounded once to f32, to nearest even; hardware
/// drops low bits of the terms, so that its results differ in the last places.
pub(super) fn multiply(warp: &mut Warp, at: &Instruction, pairs: Pairs) {
    let (a, b) = (left(warp, at, pairs), right(warp, at, pairs));
    let sums = a.map(|row| sums(&row, &b));
    let mut result = [[0; LANES]; 4];
    for (part, to) in result.iter_mut().enumerate() {
        let c = warp.of(at.registers(3)[part]);
        for (lane, to) in to.iter_mut().enumerate() {
            let (row, column) = (lane / 4 + part / 2 * 8, lane % 4 * 2 + part % 2);
            *to = rounded(sums[row][column] + of_f32(c[lane]));
        }
    }
    for (part, values) in result.iter().enumerate() {
        warp.put(at.registers(0)[part], values, Lanes::MAX);
    }
}

/// Returns a row of `A·B`. The inner loop runs over columns, so that they are added at once.
fn sums(a: &[f64; DEPTH], b: &[[f64; COLUMNS]; DEPTH]) -> [f64; COLUMNS] {
    let mut sums = [0.0; COLUMNS];
    for (a, b) in a.iter().zip(b) {
        for (sum, b) in sums.iter_mut().zip(b) {
            *sum += a * b;
        }
    }
    sums
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

/// Returns the sum's f32 bits; a NaN becomes the one that the ISA names.
#[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
fn rounded(sum: f64) -> u64 {
    if sum.is_nan() { 0x7fff_ffff } else { u64::from((sum as f32).to_bits()) }
}

impl Block<'_> {
    /// Loads matrices one after another; lanes `8·i` to `8·i + 7` give the row addresses of matrix `i`. Each lane's read is noted
    /// as its own, so that it races with the thread that wrote those bytes, whichever lane gave the address.
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
