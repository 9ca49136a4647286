//! Line coverage of a PTX entry.

use std::fmt;

/// Coverage of one entry by all launches on a device so far: its lines with an instruction, and those that never ran.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Coverage {
    /// Name of the entry.
    pub entry: String,
    /// Number of PTX lines that hold an instruction.
    pub lines: usize,
    /// PTX lines, from 1, whose instructions never ran.
    pub missed: Vec<u32>,
}

impl Coverage {
    /// Returns the share of lines that ran, from 0 to 1; 1 for an entry without instructions.
    #[expect(clippy::cast_precision_loss, reason = "a kernel has fewer lines than 2^52")]
    pub fn share(&self) -> f64 {
        match self.lines {
            0 => 1.0,
            lines => (lines - self.missed.len()) as f64 / lines as f64,
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ran = self.lines - self.missed.len();
        write!(f, "{}: {ran} of {} lines, {:.1} %", self.entry, self.lines, self.share() * 100.0)?;
        if self.missed.is_empty() { Ok(()) } else { write!(f, "; not {:?}", self.missed) }
    }
}
