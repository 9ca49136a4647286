//! Line coverage of a PTX entry.

/// Coverage of one entry by all launches on a device so far: its lines with instructions, and the lines that never ran.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Coverage {
    /// Number of PTX lines that hold an instruction.
    pub lines: usize,
    /// PTX lines, from 1, whose instructions never ran.
    pub missed: Vec<u32>,
}
