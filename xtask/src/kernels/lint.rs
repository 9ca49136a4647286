//! Checks that the backend's PTX is free of arithmetic whose bits nobody can repeat, and of memory that spills.

use std::collections::BTreeSet;

use crate::{issue::Issue, kernels::places::Places};

/// Types whose sums and products round.
const FLOATS: [&str; 7] = ["bf16", "bf16x2", "f16", "f16x2", "f32", "f32x2", "f64"];

/// Advice where no other instruction will do.
const OR_LOWER: &str = "or say `// lowers: REASON` in the header of the source";

/// Every form that is not allowed, once an entry, at its first line.
pub(super) fn issues(path: &str, ptx: &str) -> Vec<Issue> {
    let (mut places, mut told, mut issues) = (Places::of(ptx), BTreeSet::new(), Vec::new());
    for (index, line) in ptx.lines().enumerate() {
        places.pass(line);
        for (form, instead) in statements(line).filter_map(refused) {
            if told.insert((places.entry.to_owned(), form.to_owned())) {
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

/// The form and what to write instead, if `statement` must not be there.
fn refused(statement: &str) -> Option<(&str, String)> {
    let form = statement.split_whitespace().find(|word| !word.starts_with('@'))?;
    let parts: Vec<_> = form.split('.').collect();
    let has = |names: &[&str]| parts.iter().any(|part| names.contains(part));
    let (operation, kind) = (*parts.first()?, *parts.last()?);
    // Without a rounding, ptxas may make one `fma` of a product and a sum, and it does.
    let is_unrounded = ["add", "sub", "mul", "mad"].contains(&operation)
        && FLOATS.contains(&kind)
        && !has(&["rn", "rz", "rm", "rp"]);
    let instead = if is_unrounded {
        match (operation, kind) {
            ("mad", _) => "write `__fmaf_rn`, or the product and the sum".to_owned(),
            (_, "f32" | "f32x2") => format!("write `__f{operation}_rn`, which nothing contracts"),
            (_, "f64") => format!("write `__d{operation}_rn`, which nothing contracts"),
            _ => format!(
                "go through f32 with `__f{operation}_rn`: sixteen bits hold, thirty-two compute"
            ),
        }
    } else if has(&["approx"]) || (operation == "div" && has(&["full"])) {
        // No host has the same bits.
        match operation {
            "div" | "rcp" | "sqrt" => format!("write `__f{operation}_rn`"),
            "rsqrt" => "write `__frcp_rn(__fsqrt_rn(x))`".to_owned(),
            _ => format!("its bits are the GPU's own: compute it from exact steps, {OR_LOWER}"),
        }
    } else if has(&["ftz"]) {
        // Subnormal gradients are what loss scaling is about.
        format!(
            "it flushes subnormals: leave out the fast or inline form that brings `.ftz`, {OR_LOWER}"
        )
    } else if has(&["local"]) {
        // Global memory in disguise, and a sign of an array that is indexed by something unknown to the compiler.
        format!(
            "it is local memory: index arrays by constants only (unroll the loop), or use shared memory, {OR_LOWER}"
        )
    } else {
        return None;
    };
    Some((form, instead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refused_form_comes_with_an_instruction_to_write_and_rounded_and_integer_forms_pass() {
        for (statement, instead) in [
            ("mul.f32 %f1, %f2, %f3", "`__fmul_rn`"),
            ("sub.sat.f32 %f1, %f2, %f3", "`__fsub_rn`"),
            ("add.f64 %fd1, %fd2, %fd3", "`__dadd_rn`"),
            ("mul.f16 %rs2,%rs1,%rs1", "`__fmul_rn`"),
            ("mad.f32 %f1, %f2, %f3, %f4", "`__fmaf_rn`"),
            ("add.rn.ftz.f32 %f1, %f2, %f3", "`.ftz`"),
            ("@%p1 div.approx.f32 %f1, %f2, %f3", "`__fdiv_rn`"),
            ("div.full.f32 %f1, %f2, %f3", "`__fdiv_rn`"),
            ("rsqrt.approx.f32 %f1, %f2", "__fsqrt_rn(x)"),
            ("ex2.approx.ftz.f32 %f48, %f46", "`// lowers: REASON`"),
            (".local .align 8 .b8 __local_depot0[32]", "shared memory"),
            ("ld.local.f32 %f30, [%rd9]", "shared memory"),
        ] {
            let (_, told) = refused(statement).expect(statement);
            assert!(told.contains(instead), "{statement}: {told}");
        }
        let forms =
            "mul.rn.f32 add.rz.f64 fma.rn.f32 sqrt.rn.f32 mad.lo.s32 cvt.rn.f16.f32 .reg ret";
        for form in forms.split(' ') {
            assert_eq!(refused(&format!("{form} %f1, %f2, %f3")), None, "{form}");
        }
    }

    #[test]
    fn a_form_is_told_once_an_entry_with_its_place_also_in_braces_and_comments_pass() {
        let told = |body: &str| {
            let head = ".version 7.0\n.target sm_75\n.visible .entry cast(\n\t.param .u64 p\n)\n{";
            let ptx = format!("{head}{body}\n}}\n\t.file\t1 \"cast.cu\"\n");
            issues("cast.ptx", &ptx).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let twice = "\n\t.loc\t1 12 7\n\tmul.f32 %f1, %f2, %f3;\n\tmul.f32 %f1, %f2, %f3;";
        let expected = "cast.ptx:8: `mul.f32` in `cast` (cast.cu:12): write `__fmul_rn`, which nothing contracts";
        assert_eq!(told(twice), [expected]);
        assert_eq!(told(&format!("{twice}\n}}\n.visible .entry next()\n{{{twice}")).len(), 2);
        assert_eq!(told("\n\t{ .reg .f32 t; @%p1 mul.f32 t, t, t; }").len(), 1);
        assert_eq!(told("\n\t// mul.f32 is not allowed\n\tret; // .local"), [""; 0]);
    }
}
