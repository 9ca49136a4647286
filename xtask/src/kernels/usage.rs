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
        if line.contains(": Used ") {
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

/// What ptxas warns of, a line each.
pub(super) fn warnings(told: &str) -> impl Iterator<Item = &str> {
    told.lines().filter(|line| line.contains("warning"))
}

/// The number that stands before `words`, or 0.
fn number(line: &str, words: &str) -> u32 {
    let before = line.split_once(words).map_or("", |(before, _)| before);
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by ptxas 13.0.88, one number changed so that stores and loads differ.
    const TOLD: &str = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'plain' for 'sm_90'\n\
        ptxas info    : Function properties for plain\n    \
        0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 10 registers, used 0 barriers\n\
        ptxas info    : Compile time = 7.408 ms\n\
        ptxas info    : Compiling entry function 'spill' for 'sm_90'\n\
        ptxas info    : Function properties for spill\n    \
        80 bytes stack frame, 84 bytes spill stores, 88 bytes spill loads\n\
        ptxas info    : Used 32 registers, used 1 barriers, 80 bytes cumulative stack size, 512 bytes smem\n\
        ptxas info    : Compile time = 121.371 ms\n";

    #[test]
    fn each_entry_has_its_own_numbers() {
        let plain = Usage { entry: "plain".into(), registers: 10, ..Usage::default() };
        let spill =
            Usage { entry: "spill".into(), registers: 32, shared: 512, stores: 84, loads: 88 };
        assert_eq!(parse(TOLD), [plain, spill]);
        assert_eq!(parse(TOLD).iter().map(Usage::spills).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn warnings_are_kept_and_what_is_usual_is_not() {
        let warning = "ptxas warning : Value of threads per SM for entry spill is out of range.";
        assert_eq!(warnings(&format!("{warning}\n{TOLD}")).collect::<Vec<_>>(), [warning]);
    }

    #[test]
    fn text_without_entries_holds_none() {
        assert!(parse("ptxas info    : 3 bytes gmem\n").is_empty());
    }
}
