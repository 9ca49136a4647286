//! Refusals: unknown text by name and line, and launches that are wrong, which do not run.

use crate::support::{fixture, gpu, kernel, numbers, report, upload};
use binade_ptx::{Arg, Capability, Dim3, Fault, Gpu, LaunchError, Module, ParseError, ReportKind};

fn error(body: &str) -> ParseError {
    Module::parse(&kernel(body)).unwrap_err()
}

#[test]
fn an_unknown_form_is_named_with_its_line() {
    let form = "add.sat.s32".to_owned();
    let found = error("add.sat.s32 %r1, %r2, %r3;");
    assert_eq!(found, ParseError::Form { line: 6, form });
    assert!(found.to_string().starts_with("PTX line 6: unknown instruction form `add.sat.s32`"));
}

#[test]
fn operands_of_another_width_count_or_kind_are_refused() {
    for body in [
        "add.s32 %r1, %r2, %rd1;",
        "ld.global.f32 %f1, [%r1];",
        "not.pred %p1, %r1;",
        "mov.u32 %r1, 0x100000000;",
        "ld.shared.u16 %r1, [%rs1];",
        "ld.global.f32 %rd1, [%rd1];",
        "mov.b64 {%r1, %rd1}, %rd2;",
        "mov.u32 %r1, x;",
    ] {
        assert!(
            matches!(error(body), ParseError::Operand { line: 6, .. }),
            "{body}: {}",
            error(body)
        );
    }
    assert!(matches!(
        error("add.s32 %r1, %r2;"),
        ParseError::Operands { expected: 3, found: 2, .. }
    ));
}

#[test]
fn what_is_not_declared_is_refused() {
    for body in
        ["add.s32 %r1, %r2, %r9;", "add.s32 %r1, %r2, %tid.x;", "bra nowhere;", "@%q bra L; L:"]
    {
        assert!(
            matches!(error(body), ParseError::Undeclared { line: 6, .. }),
            "{body}: {}",
            error(body)
        );
    }
}

#[test]
fn a_register_ends_with_its_scope() {
    let body = "{ .reg .b32 inner; mov.u32 inner, 1; }\nmov.u32 inner, 2;";
    assert_eq!(error(body), ParseError::Undeclared { line: 7, name: "inner".to_owned() });
}

#[test]
fn unknown_directives_are_named() {
    let text = kernel("").replace(".visible", ".global .b32 counter;\n.visible");
    let expected = ParseError::Directive { line: 4, name: ".global".to_owned() };
    assert_eq!(Module::parse(&text).unwrap_err(), expected);
}

#[test]
fn an_entry_must_not_run_off_its_end() {
    let text = kernel("").replace("ret;", "");
    assert!(matches!(Module::parse(&text), Err(ParseError::Syntax { .. })));
}

#[test]
fn arithmetic_that_may_be_contracted_or_flushed_is_refused() {
    for form in ["add.f32", "sub.f32", "mul.f32", "add.ftz.f32", "mul.rn.ftz.f32"] {
        let found = error(&format!("{form} %f1, %f2, %f3;"));
        assert_eq!(found, ParseError::NotReproducible { line: 6, form: form.to_owned() });
    }
    for form in ["add.f64", "sub.f64", "mul.f64"] {
        let found = error(&format!("{form} %rd1, %rd2, %rd3;"));
        assert_eq!(found, ParseError::NotReproducible { line: 6, form: form.to_owned() });
    }
}

#[test]
fn an_instruction_that_the_target_lacks_is_refused() {
    let needs = Capability::SM_80;
    assert!(
        matches!(error("cvt.rn.bf16.f32 %rs1, %f1;"), ParseError::Target { needs: n, .. } if n == needs)
    );
}

#[test]
fn a_module_for_a_newer_gpu_does_not_run() {
    let (target, device) = (Capability::SM_80, Capability::SM_75);
    let outcome = Gpu::new(device).launch(&fixture("stage"), "stage", 1, 64, 0, &[]);
    assert!(
        matches!(outcome, Err(Fault::Launch(e)) if e == LaunchError::TooNew { target, device })
    );
}

#[test]
fn wrong_launches_are_refused() {
    let (module, mut gpu) = (Module::parse(&kernel("")).unwrap(), gpu());
    let x = gpu.alloc(4);
    let args = [Arg::Ptr(x), Arg::U32(1)];
    let mut launch = |entry: &str, block: u32, shared: u64, args: &[Arg]| {
        let Err(Fault::Launch(error)) = gpu.launch(&module, entry, 1, block, shared, args) else {
            return None;
        };
        Some(error)
    };
    assert_eq!(launch("k", 1, 0, &args), None);
    assert!(matches!(launch("j", 1, 0, &args), Some(LaunchError::NoEntry { .. })));
    assert!(matches!(
        launch("k", 0, 0, &args),
        Some(LaunchError::Dimension { what: "block.x", .. })
    ));
    assert!(matches!(launch("k", 1025, 0, &args), Some(LaunchError::Dimension { most: 1024, .. })));
    assert!(matches!(launch("k", 1, 49153, &args), Some(LaunchError::SharedBytes { .. })));
    assert!(matches!(
        launch("k", 1, 0, &args[..1]),
        Some(LaunchError::ArgumentCount { expected: 2, .. })
    ));
    let swapped = [Arg::Ptr(x), Arg::F32(1.0)];
    assert!(matches!(launch("k", 1, 0, &swapped), Some(LaunchError::Argument { index: 1, .. })));
}

#[test]
fn barriers_other_than_the_first_are_refused() {
    assert!(matches!(error("bar.sync 1;"), ParseError::Operand { line: 6, index: 1, .. }));
}

#[test]
fn a_label_or_an_entry_must_not_be_there_twice() {
    assert_eq!(error("L:\nL:"), ParseError::Twice { line: 7, name: "L".to_owned() });
    let second =
        kernel("").split_once(".visible").map(|(_, entry)| format!(".visible{entry}")).unwrap();
    let twice = Module::parse(&(kernel("") + &second)).unwrap_err();
    assert_eq!(twice, ParseError::Twice { line: 9, name: "k".to_owned() });
}

#[test]
fn a_block_of_absurd_extents_is_refused_and_does_not_overflow() {
    let (module, x) = (Module::parse(&kernel("")).unwrap(), gpu().alloc(4));
    let args = [Arg::Ptr(x), Arg::U32(0)];
    let outcome = gpu().launch(&module, "k", [u32::MAX; 3], [u32::MAX; 3], u64::MAX, &args);
    assert!(matches!(outcome, Err(Fault::Launch(_))));
    let outcome = gpu().launch(&module, "k", [1; 3], [u32::MAX; 3], 0, &args);
    assert!(matches!(outcome, Err(Fault::Launch(LaunchError::Dimension { what: "block.x", .. }))));
}

#[test]
fn a_kernel_without_end_is_stopped() {
    let module = Module::parse(&kernel("L:\nbra.uni L;")).unwrap();
    let mut gpu = gpu();
    gpu.limit_steps(1000);
    let x = gpu.alloc(4);
    let report = report(gpu.launch(&module, "k", 1, 1, 0, &[Arg::Ptr(x), Arg::U32(0)]));
    assert_eq!((report.kind, report.line), (ReportKind::StepLimit { limit: 1000 }, 7));
    assert_eq!(report.thread, Dim3::from([0, 0, 0]));
}

#[test]
fn the_host_reads_and_writes_within_allocations_only() {
    let mut gpu = gpu();
    let x = upload(&mut gpu, &numbers(4));
    assert!(gpu.read(x, 17).is_err() && gpu.write(x.offset(16), &[1]).is_err());
    assert!(gpu.free(x).is_ok() && gpu.read(x, 1).is_err());
}
