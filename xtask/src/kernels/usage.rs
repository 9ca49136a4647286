//! What `ptxas -v` says of each entry: registers, shared memory, spills.

/// What one entry takes on one GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) entry: String,
    pub(super) registers: u32,
    /// Bytes a block, without what the launch adds.
    pub(super) shared: u32,
    /// Bytes a thread writes out because registers do not suffice, functions that it calls included.
    pub(super) stores: u32,
    /// Bytes a thread reads back.
    pub(super) loads: u32,
}

impl Usage {
    pub(super) fn spills(&self) -> bool {
        self.stores + self.loads > 0
    }

    fn add(&mut self, line: &str) {
        self.stores += number(line, " bytes spill stores");
        self.loads += number(line, " bytes spill loads");
        if line.contains(" registers,") {
            self.registers = number(line, " registers");
            self.shared = number(line, " bytes smem");
        }
    }
}

/// Reads what ptxas printed, in its order.
pub(super) fn parse(told: &str) -> Vec<Usage> {
    let mut found: Vec<Usage> = Vec::new();
    for line in told.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let entry = rest.split('\'').next().unwrap_or_default().to_owned();
            found.push(Usage { entry, ..Usage::default() });
        } else if let Some(usage) = found.last_mut() {
            usage.add(line);
        }
    }
    found
}

/// The number that stands before `words`, or 0.
fn number(line: &str, words: &str) -> u32 {
    let before = line.split_once(words).map_or("", |(before, _)| before);
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by ptxas 13.0.88 for two entries of which the first spills and has shared memory.
    const TOLD: &str = "ptxas info    : 3 bytes gmem\n\
        ptxas info    : Compiling entry function 'block_sum' for 'sm_75'\n\
        ptxas info    : Function properties for block_sum\n    \
        40 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n\
        ptxas info    : Used 10 registers, used 1 barriers, 40 bytes cumulative stack size, 512 bytes smem, 372 bytes cmem[0]\n\
        ptxas info    : Compile time = 6.221 ms\n\
        ptxas info    : Compiling entry function 'cast' for 'sm_75'\n\
        ptxas info    : Function properties for cast\n    \
        0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 14 registers, used 0 barriers, 372 bytes cmem[0]\n";

    #[test]
    fn each_entry_has_its_own_numbers() {
        let sum =
            Usage { entry: "block_sum".into(), registers: 10, shared: 512, stores: 16, loads: 24 };
        let cast = Usage { entry: "cast".into(), registers: 14, ..Usage::default() };
        assert_eq!(parse(TOLD), [sum, cast]);
        assert_eq!(parse(TOLD).iter().map(Usage::spills).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn text_without_entries_holds_none() {
        assert!(parse("ptxas info    : 3 bytes gmem\n").is_empty());
    }
}
