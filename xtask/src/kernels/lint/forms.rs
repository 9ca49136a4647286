//! Which instructions are refused, and what to write instead.

/// Types whose sums and products round.
const FLOATS: [&str; 7] = ["bf16", "bf16x2", "f16", "f16x2", "f32", "f32x2", "f64"];

const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// What to do where no other instruction will do.
const OR_LOWER: &str = "or say `// lowers: REASON` in the header of the source";

/// The form and what to write instead, if `statement` must not be there.
pub(super) fn refused(statement: &str) -> Option<(&str, String)> {
    let form = statement.split_whitespace().find(|word| !word.starts_with('@'))?;
    let parts: Vec<_> = form.split('.').collect();
    let instead = unrounded(&parts)
        .or_else(|| approximate(&parts))
        .or_else(|| flushing(&parts))
        .or_else(|| local(&parts))?;
    Some((form, instead))
}

/// Without a rounding, ptxas may make one `fma` of a product and a sum, and it does.
fn unrounded(parts: &[&str]) -> Option<String> {
    let (operation, kind) = (*parts.first()?, *parts.last()?);
    let is_open = ["add", "sub", "mul", "mad"].contains(&operation)
        && FLOATS.contains(&kind)
        && !parts.iter().any(|part| ROUNDINGS.contains(part));
    is_open.then(|| match (operation, kind) {
        ("mad", _) => "write `__fmaf_rn`, or the product and the sum".to_owned(),
        (_, "f32" | "f32x2") => format!("write `__f{operation}_rn`, which nothing contracts"),
        (_, "f64") => format!("write `__d{operation}_rn`, which nothing contracts"),
        _ => format!(
            "go through f32 with `__f{operation}_rn`: sixteen bits hold, thirty-two compute"
        ),
    })
}

/// No host has the same bits.
fn approximate(parts: &[&str]) -> Option<String> {
    let is_open = parts.contains(&"approx") || (parts[0] == "div" && parts.contains(&"full"));
    is_open.then(|| match parts[0] {
        "div" => "write `__fdiv_rn`".to_owned(),
        "rcp" => "write `__frcp_rn`".to_owned(),
        "sqrt" => "write `__fsqrt_rn`".to_owned(),
        "rsqrt" => "write `__frcp_rn(__fsqrt_rn(x))`".to_owned(),
        _ => format!("its bits are the GPU's own: compute it from exact steps, {OR_LOWER}"),
    })
}

/// Subnormal gradients are what loss scaling is about.
fn flushing(parts: &[&str]) -> Option<String> {
    parts.contains(&"ftz").then(|| {
        format!("it flushes subnormals: leave out the fast or inline form that brings `.ftz`, {OR_LOWER}")
    })
}

/// It is global memory in disguise, and a sign of an array that is indexed by something unknown to the compiler.
fn local(parts: &[&str]) -> Option<String> {
    let reason = "it is local memory: index arrays by constants only (unroll the loop), or use shared memory";
    parts.contains(&"local").then(|| format!("{reason}, {OR_LOWER}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refused_form_comes_with_what_to_write() {
        let cases = [
            ("mul.f32 %f1, %f2, %f3", "`__fmul_rn`"),
            ("add.f32 %f1, %f2, %f3", "`__fadd_rn`"),
            ("sub.sat.f32 %f1, %f2, %f3", "`__fsub_rn`"),
            ("add.f64 %fd1, %fd2, %fd3", "`__dadd_rn`"),
            ("mul.f16 %rs2,%rs1,%rs1", "`__fmul_rn`"),
            ("mad.f32 %f1, %f2, %f3, %f4", "`__fmaf_rn`"),
            ("add.rn.ftz.f32 %f1, %f2, %f3", "`.ftz`"),
            ("@%p1 div.approx.f32 %f1, %f2, %f3", "`__fdiv_rn`"),
            ("div.full.f32 %f1, %f2, %f3", "`__fdiv_rn`"),
            ("rsqrt.approx.f32 %f1, %f2", "__fsqrt_rn(x)"),
            ("ex2.approx.ftz.f32 %f48, %f46", "`// lowers: REASON`"),
            ("tanh.approx.f32 %f1, %f2", "`// lowers: REASON`"),
            (".local .align 8 .b8 __local_depot0[32]", "shared memory"),
            ("ld.local.f32 %f30, [%rd9]", "shared memory"),
        ];
        for (statement, instead) in cases {
            let (_, told) = refused(statement).expect(statement);
            assert!(told.contains(instead), "{statement}: {told}");
        }
    }

    #[test]
    fn rounded_and_integer_forms_pass() {
        let fine = [
            "mul.rn.f32 %f1, %f2, %f3",
            "add.rz.f64 %fd1, %fd2, %fd3",
            "fma.rn.f32 %f1, %f2, %f3, %f4",
            "div.rn.f32 %f1, %f2, %f3",
            "sqrt.rn.f32 %f1, %f2",
            "mul.wide.u32 %rd4, %r1, 4",
            "mad.lo.s32 %r1, %r3, %r4, %r5",
            "add.s64 %rd7, %rd6, %rd4",
            "cvt.rn.f16.f32 %rs1, %f1",
            "ld.global.nc.f32 %f2, [%rd5]",
            ".reg .f32 %f<4>",
            "ret",
        ];
        for statement in fine {
            assert_eq!(refused(statement), None, "{statement}");
        }
    }
}
