//! Checks that the backend's PTX is free of arithmetic whose bits nobody can repeat, memory that spills, and groups of elements that are
//! stored one by one.

mod forms;
mod groups;
mod places;

use std::collections::BTreeSet;

pub(in crate::kernels) use groups::issues as split_groups;

use crate::{kernels::lint::places::Places, tidy::Issue};

/// Every form that is not allowed, once an entry, at its first line.
pub(super) fn issues(path: &str, ptx: &str) -> Vec<Issue> {
    let mut places = Places::of(ptx);
    let mut told = BTreeSet::new();
    let mut issues = Vec::new();
    for (index, line) in ptx.lines().enumerate() {
        places.pass(line);
        for (form, instead) in statements(line).filter_map(forms::refused) {
            if told.insert((places.entry.clone(), form.to_owned())) {
                let message = format!("`{form}` {places}: {instead}");
                issues.push(Issue::new(path, index + 1, message));
            }
        }
    }
    issues
}

/// The statements on a line without its comment: inline assembly puts several on one, in braces.
fn statements(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split(['{', '}', ';']).map(str::trim).filter(|statement| !statement.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel whose body begins on line 6.
    fn found(body: &str) -> Vec<Issue> {
        let head = ".version 7.0\n.target sm_75\n.visible .entry cast(\n\t.param .u64 p\n)\n{";
        issues("cast.ptx", &format!("{head}{body}\n}}\n\t.file\t1 \"cast.cu\"\n"))
    }

    #[test]
    fn an_unrounded_product_is_told_with_file_line_entry_and_what_to_write() {
        let issues = found("\n\t.loc\t1 12 7\n\tmul.f32 \t%f1, %f2, %f3;");
        let expected = "cast.ptx:8: `mul.f32` in `cast` (cast.cu:12): write `__fmul_rn`, which nothing contracts";
        assert_eq!(issues.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn a_form_is_told_once_an_entry() {
        let twice = "\n\tadd.f32 %f1, %f2, %f3;\n\tadd.f32 %f1, %f2, %f3;";
        assert_eq!(found(twice).len(), 1);
        assert_eq!(found(&format!("{twice}\n}}\n.visible .entry next()\n{{{twice}")).len(), 2);
    }

    #[test]
    fn inline_assembly_in_braces_is_looked_into() {
        assert_eq!(found("\n\t{mul.f16 %rs2,%rs1,%rs1;\n}").len(), 1);
        assert_eq!(found("\n\t{ .reg .f32 t; @%p1 mul.f32 t, t, t; }").len(), 1);
    }

    #[test]
    fn comments_pass() {
        assert_eq!(found("\n\t// mul.f32 is not allowed\n\tret; // .local"), []);
    }

    #[test]
    fn local_memory_is_told_where_it_is_declared_and_used() {
        let body = "\n\t.local .align 16 .b8 \t__local_depot0[32];\n\tst.local.v4.f32 \t[%rd5], {%f1, %f2, %f3, %f4};";
        assert_eq!(found(body).len(), 2);
    }
}
