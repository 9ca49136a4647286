//! One operation, one name: what one folder defines, another answers in a file of the same name, or a hole says why not.

use crate::tidy::{Issue, code, tree::Tree};

/// Files of `from` that define something must have a namesake in `to`.
struct Column {
    from: &'static str,
    defines: fn(&str) -> bool,
    to: &'static str,
    what: &'static str,
}

/// Kernels and shaders join with their backends. The kit needs no row: the compiler asks each operation for its file of cases.
const COLUMNS: [Column; 1] = [Column {
    from: "crates/binade-ops/src",
    defines: has_public_trait,
    to: "crates/binade-cpu/src/ops",
    what: "the CPU reference implements every operation",
}];

/// An empty place of the grid that is meant to be empty.
struct Hole {
    /// The folder that lacks the file.
    folder: &'static str,
    operation: &'static str,
    reason: &'static str,
}

const HOLES: [Hole; 1] = [Hole {
    folder: "crates/binade-cpu/src/ops",
    operation: "all",
    reason: "one bound over all operations, which nobody implements",
}];

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let mut issues: Vec<_> =
        COLUMNS.iter().flat_map(|column| unanswered(tree, column, &HOLES)).collect();
    issues.extend(filled(tree, &HOLES));
    issues
}

fn unanswered(tree: &Tree, column: &Column, holes: &[Hole]) -> Vec<Issue> {
    let Column { from, to, what, .. } = column;
    let is_hole =
        |name: &str| holes.iter().any(|hole| (hole.folder, hole.operation) == (*to, name));
    let missing = operations(tree, column).filter(|name| !exists(tree, to, name) && !is_hole(name));
    missing
        .map(|name| Issue::new(format!("{from}/{name}.rs"), 0, message(to, name, what)))
        .collect()
}

fn message(to: &str, name: &str, what: &str) -> String {
    format!(
        "{what}: write {to}/{name}.rs, or list the hole with its reason in xtask/src/tidy/grid.rs"
    )
}

/// Holes that are holes no longer.
fn filled(tree: &Tree, holes: &[Hole]) -> Vec<Issue> {
    let filled = holes.iter().filter(|hole| exists(tree, hole.folder, hole.operation));
    filled
        .map(|Hole { folder, operation, reason }| {
            Issue::new(
                format!("{folder}/{operation}.rs"),
                0,
                format!("the hole is filled: remove its row ({reason})"),
            )
        })
        .collect()
}

/// Names of the files directly in the column's folder that define something.
fn operations<'a>(tree: &'a Tree, column: &'a Column) -> impl Iterator<Item = &'a str> {
    tree.rust().filter_map(|(path, text)| {
        let name = path.strip_prefix(column.from)?.strip_prefix('/')?.strip_suffix(".rs")?;
        let is_operation =
            !name.contains('/') && !["lib", "mod"].contains(&name) && (column.defines)(text);
        is_operation.then_some(name)
    })
}

fn exists(tree: &Tree, folder: &str, name: &str) -> bool {
    tree.text(&format!("{folder}/{name}.rs")).is_some()
}

fn has_public_trait(text: &str) -> bool {
    code::only(text).lines().any(|line| line.starts_with("pub trait "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPS: &str = "crates/binade-ops/src";
    const TRAIT: &str = "//! Doc.\npub trait MatMul {}\n";
    const HOLE: Hole =
        Hole { folder: "crates/binade-cpu/src/ops", operation: "matmul", reason: "not yet" };

    #[test]
    fn an_operation_that_the_cpu_lacks_is_found() {
        let tree = Tree::of(&[
            ("crates/binade-ops/src/matmul.rs", TRAIT),
            ("crates/binade-cpu/src/ops/relu.rs", ""),
        ]);
        assert!(
            matches!(&check(&tree)[..], [issue] if issue.message.contains("write crates/binade-cpu/src/ops/matmul.rs"))
        );
    }

    #[test]
    fn an_operation_that_the_cpu_has_passes() {
        let tree = Tree::of(&[
            ("crates/binade-ops/src/matmul.rs", TRAIT),
            ("crates/binade-cpu/src/ops/matmul.rs", ""),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_file_that_defines_no_trait_is_no_operation() {
        let helper = "//! pub trait in a comment\n/// pub trait\npub(crate) fn shape() {}\n";
        assert_eq!(
            check(&Tree::of(&[
                ("crates/binade-ops/src/shape.rs", helper),
                ("crates/binade-ops/src/lib.rs", TRAIT)
            ])),
            []
        );
    }

    #[test]
    fn a_listed_hole_passes_until_it_is_filled() {
        let empty = Tree::of(&[("crates/binade-ops/src/matmul.rs", TRAIT)]);
        assert_eq!(COLUMNS[0].from, OPS);
        assert_eq!(unanswered(&empty, &COLUMNS[0], &[HOLE]), []);
        assert_eq!(filled(&empty, &[HOLE]), []);
        assert_eq!(
            filled(&Tree::of(&[("crates/binade-cpu/src/ops/matmul.rs", "")]), &[HOLE]).len(),
            1
        );
    }
}
