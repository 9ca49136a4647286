//! Groups of elements that are stored one by one, where the compiler was told to store 16 bytes.

use std::collections::BTreeMap;

use crate::{kernels::lint::places::Places, tidy::Issue};

/// The headers that move groups of eight elements between memory and registers.
const HEADERS: [&str; 3] = ["compact.cuh", "elements.cuh", "pointwise.cuh"];

/// The header of kernels that go through the tensors of a set, a group at a time.
const SETS: &str = "set.cuh";

const SPLIT: &str = "a group goes out by scalar stores, each at the cost of 16 bytes";

const NEVER: &str = "its groups go out by scalar stores alone, each at the cost of 16 bytes";

/// How to mend it.
const INSTEAD: &str = "write `store_16` of elements.cuh";

/// A scalar store: its base register, the byte from there, and its width in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Store<'a> {
    base: &'a str,
    from: i64,
    width: i64,
}

/// The entries of `ptx` that store a group one element after the other within a basic block, and those over sets that never store 16
/// bytes of one.
///
/// Elements of a last, incomplete group are stored one by one as well, but each behind a branch of its own.
pub(in crate::kernels) fn issues(path: &str, ptx: &str) -> Vec<Issue> {
    let mut places = Places::of(ptx);
    let mut entry = Entry::default();
    let mut issues = Vec::new();
    for (index, line) in ptx.lines().enumerate() {
        let before = places.entry.clone();
        places.pass(line);
        if places.entry != before {
            issues.extend(entry.issue(path));
            entry = Entry { name: places.entry.clone(), line: index + 1, ..Entry::default() };
        }
        let file = places.file().unwrap_or_default();
        entry.is_over_sets |= file == SETS;
        if ends_block(line) {
            entry.block.clear();
        } else if HEADERS.contains(&file) && entry.splits(line) {
            issues.push(Issue::new(path, index + 1, format!("{places}: {SPLIT}: {INSTEAD}")));
        }
    }
    issues.extend(entry.issue(path));
    issues
}

/// Stores of groups in one entry.
#[derive(Default)]
struct Entry<'a> {
    name: String,
    line: usize,
    is_over_sets: bool,
    /// Scalar stores, and those of 16 bytes.
    scalar: usize,
    whole: usize,
    is_split: bool,
    /// The byte behind the last scalar store of this basic block, by base register.
    block: BTreeMap<&'a str, i64>,
}

impl<'a> Entry<'a> {
    /// Takes a line from a header of groups. True for the first scalar store of the entry that goes on where another one of the
    /// same basic block ended.
    fn splits(&mut self, line: &'a str) -> bool {
        self.whole += usize::from(is_whole(line));
        let Some(Store { base, from, width }) = scalar(line) else { return false };
        self.scalar += 1;
        let goes_on = self.block.insert(base, from + width) == Some(from);
        goes_on && !std::mem::replace(&mut self.is_split, true)
    }

    /// Operations of one tensor may well store single elements.
    fn issue(&self, path: &str) -> Option<Issue> {
        let never = self.is_over_sets && self.scalar > 0 && self.whole == 0 && !self.is_split;
        never
            .then(|| Issue::new(path, self.line, format!("in `{}`: {NEVER}: {INSTEAD}", self.name)))
    }
}

/// A label may be come to from elsewhere, and behind a branch not everybody goes on.
fn ends_block(line: &str) -> bool {
    let code = line.trim();
    code.ends_with(':')
        || code.split_whitespace().any(|word| word.starts_with("bra") || word == "ret;")
}

/// The opcode of a store, split at its points, and its operands.
fn store(line: &str) -> Option<(Vec<&str>, &str)> {
    let code = line.trim_start();
    let (opcode, operands) = code.split_once(char::is_whitespace)?;
    let parts: Vec<_> = opcode.split('.').collect();
    (parts[0] == "st" && !parts.contains(&"shared")).then_some((parts, operands))
}

fn width(parts: &[&str]) -> Option<i64> {
    let bits: i64 = parts.last()?.get(1..)?.parse().ok()?;
    Some(bits / 8)
}

fn is_whole(line: &str) -> bool {
    let bytes = store(line).and_then(|(parts, _)| {
        let count = if parts.contains(&"v4") { 4 } else { 1 + i64::from(parts.contains(&"v2")) };
        Some(count * width(&parts)?)
    });
    bytes == Some(16)
}

fn scalar(line: &str) -> Option<Store<'_>> {
    let (parts, operands) = store(line)?;
    if parts.iter().any(|part| ["v2", "v4"].contains(part)) {
        return None;
    }
    let address = operands.trim_start().strip_prefix('[')?.split(']').next()?;
    let (base, from) = address.split_once('+').unwrap_or((address, "0"));
    Some(Store { base, from: from.parse().ok()?, width: width(&parts)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages about a kernel with this body, whose line 1 stands in the header of groups and line 2 in the kernel.
    fn told(body: &[&str]) -> Vec<String> {
        let head = ".visible .entry scale(\n)\n{\n\t.loc\t2 110 5\n";
        let tail =
            "\n}\n\t.file\t1 \"scale.cu\"\n\t.file\t2 \"elements.cuh\"\n\t.file\t3 \"set.cuh\"\n";
        let ptx = format!("{head}{}{tail}", body.join("\n"));
        issues("scale.ptx", &ptx).iter().map(ToString::to_string).collect()
    }

    const WHOLE: &str = "\tst.global.v4.b32 [%rd5], {%r1, %r2, %r3, %r4};";

    #[test]
    fn a_group_that_the_compiler_splits_is_told_once_an_entry() {
        let split =
            ["\tst.f32 \t[%rd2], %f1;", "\tst.f32 \t[%rd2+4], %f2;", "\tst.f32 \t[%rd2+8], %f3;"];
        let expected = format!("scale.ptx:6: in `scale` (elements.cuh:110): {SPLIT}: {INSTEAD}");
        assert_eq!(told(&split), [expected]);
    }

    #[test]
    fn halves_of_eight_bytes_are_split_too() {
        let split = [WHOLE, "\tst.u32 \t[%rd2+-8], %r1;", "\tst.u32 \t[%rd2+-4], %r2;"];
        assert_eq!(told(&split).len(), 1);
    }

    #[test]
    fn the_elements_of_an_incomplete_group_pass_each_behind_its_branch() {
        let tail = [
            WHOLE,
            "\tst.f32 \t[%rd2], %f1;",
            "\t@%p4 bra \t$L__BB0_7;",
            "\tst.f32 \t[%rd2+4], %f2;",
            "$L__BB0_7:",
            "\tst.f32 \t[%rd2+8], %f3;",
        ];
        assert_eq!(told(&tail), [""; 0]);
    }

    #[test]
    fn an_entry_over_a_set_that_stores_single_elements_alone_is_told() {
        let single = "\tst.u16 \t[%rd2], %rs1;";
        assert_eq!(told(&[single]), [""; 0]);
        let told = told(&["\t.loc\t3 35 5", "\t.loc\t2 56 3", single]);
        assert_eq!(told, [format!("scale.ptx:1: in `scale`: {NEVER}: {INSTEAD}")]);
    }

    #[test]
    fn records_that_a_kernel_writes_itself_pass() {
        let record = ["\t.loc\t1 30 3", "\tst.f32 \t[%rd2], %f1;", "\tst.f32 \t[%rd2+4], %f2;"];
        assert_eq!(told(&record), [""; 0]);
    }
}
