//! Groups of elements that are stored one by one, where the compiler was told to store 16 bytes.

use std::collections::BTreeMap;

use regex_lite::Regex;

use crate::{
    issue::{Issue, regex},
    kernels::places::Places,
};

/// The headers that move groups of eight elements between memory and registers.
const HEADERS: [&str; 3] = ["compact.cuh", "elements.cuh", "pointwise.cuh"];

/// The header of kernels that go through the tensors of a set, a group at a time.
const SETS: &str = "set.cuh";

const SPLIT: &str = "a group goes out by scalar stores, each at the cost of 16 bytes";

const NEVER: &str = "its groups go out by scalar stores alone, each at the cost of 16 bytes";

/// How to mend it.
const INSTEAD: &str = "write `store_16` of elements.cuh";

/// A store: where it goes, how many elements, the bits of each, the base register, and the byte from there.
const STORE: &str = r"^\s*st((?:\.[a-z_]+)*)(?:\.v(\d))?\.[a-z]+(\d+)\s+\[([^+\]]+)(?:\+(-?\d+))?";

/// The end of a basic block: a label may be come to from elsewhere, and behind a branch not everybody goes on.
const END: &str = r":\s*$|(^|\s)(bra|ret;)";

/// The entries of `ptx` that store a group one element after the other within a basic block, and those over sets that never store 16
/// bytes of one.
///
/// Elements of a last, incomplete group are stored one by one as well, but each behind a branch of its own.
pub(super) fn issues(path: &str, ptx: &str) -> Vec<Issue> {
    let [store, end] = [STORE, END].map(regex);
    let (mut places, mut entry, mut issues) = (Places::of(ptx), Entry::default(), Vec::new());
    for (index, line) in ptx.lines().enumerate() {
        places.pass(line);
        if places.entry != entry.name {
            issues.extend(entry.issue(path));
            entry = Entry { name: places.entry, line: index + 1, ..Entry::default() };
        }
        entry.is_over_sets |= places.file == SETS;
        if end.is_match(line) {
            entry.block.clear();
        } else if HEADERS.contains(&places.file) && entry.splits(&store, line) {
            issues.push(Issue::new(path, index + 1, format!("{places}: {SPLIT}: {INSTEAD}")));
        }
    }
    issues.extend(entry.issue(path));
    issues
}

/// Stores of groups in one entry.
#[derive(Default)]
struct Entry<'a> {
    name: &'a str,
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
    fn splits(&mut self, store: &Regex, line: &'a str) -> bool {
        let stores = Some(line).filter(|line| line.contains("st."));
        let parts = stores.and_then(|line| store.captures(line));
        let Some(parts) = parts.filter(|it| !it[1].contains("shared")) else {
            return false;
        };
        let number = |at| parts.get(at).map_or(Ok(0), |it| it.as_str().parse()).unwrap_or(0_i64);
        let (count, width, from) = (number(2).max(1), number(3) / 8, number(5));
        self.whole += usize::from(count * width == 16);
        if count > 1 {
            return false;
        }
        self.scalar += 1;
        let base = parts.get(4).map_or("", |it| it.as_str());
        let goes_on = self.block.insert(base, from + width) == Some(from);
        goes_on && !std::mem::replace(&mut self.is_split, true)
    }

    /// Operations of one tensor may well store single elements.
    fn issue(&self, path: &str) -> Option<Issue> {
        let never = self.is_over_sets && self.scalar > 0 && self.whole == 0 && !self.is_split;
        let message = format!("in `{}`: {NEVER}: {INSTEAD}", self.name);
        never.then(|| Issue::new(path, self.line, message))
    }
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
        let split = "\tst.f32 \t[%rd2], %f1;\n\tst.f32 \t[%rd2+4], %f2;\n\tst.f32 \t[%rd2+8], %f3;";
        let expected = format!("scale.ptx:6: in `scale` (elements.cuh:110): {SPLIT}: {INSTEAD}");
        assert_eq!(told(&[split]), [expected]);
        let halves = [WHOLE, "\tst.u32 \t[%rd2+-8], %r1;", "\tst.u32 \t[%rd2+-4], %r2;"];
        assert_eq!(told(&halves).len(), 1);
        // The elements of an incomplete group, each behind its branch, and records that a kernel writes itself.
        let tail = "\tst.f32 \t[%rd2], %f1;\n\t@%p4 bra \t$L__BB0_7;\n\tst.f32 \t[%rd2+4], %f2;\n\
                    $L__BB0_7:\n\tst.f32 \t[%rd2+8], %f3;";
        assert_eq!(told(&[WHOLE, tail]), [""; 0]);
        assert_eq!(told(&["\t.loc\t1 30 3", split]), [""; 0]);
    }

    #[test]
    fn an_entry_over_a_set_that_stores_single_elements_alone_is_told() {
        let single = "\tst.u16 \t[%rd2], %rs1;";
        assert_eq!(told(&[single]), [""; 0]);
        let never = told(&["\t.loc\t3 35 5", "\t.loc\t2 56 3", single]);
        assert_eq!(never, [format!("scale.ptx:1: in `scale`: {NEVER}: {INSTEAD}")]);
        assert_eq!(told(&["\t.loc\t3 35 5", "\t.loc\t2 56 3", single, WHOLE]), [""; 0]);
    }
}
