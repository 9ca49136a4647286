//! Which PTX lines of an entry ran.

use std::fmt;

/// The lines of one entry that hold an instruction, and those that any launch has executed so far.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Coverage {
    /// The entry's name.
    pub entry: String,
    /// Instructions in the entry.
    pub lines: usize,
    /// PTX lines of instructions that never ran.
    pub missed: Vec<u32>,
}

impl Coverage {
    /// The share of lines that ran, from 0 to 1; 1 for an entry without any.
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
