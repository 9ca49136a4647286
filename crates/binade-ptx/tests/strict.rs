//! Refusals: unknown text by name and line, and launches that are wrong, which do not run.

use crate::support::{fixture, gpu, kernel, numbers, report, upload};
use binade_ptx::{Arg, Capability, Dim3, Fault, Gpu, Module, ReportKind};

/// Bodies that are refused, with the line and the beginning or end of what is said.
const BODIES: [(&str, u32, &str); 28] = [
    ("add.sat.s32 %r1, %r2, %r3;", 6, "unknown instruction form `add.sat.s32`"),
    // Operands of another width, count or kind.
    ("add.s32 %r1, %r2, %rd1;", 6, "`add.s32`: operand 3: expected"),
    ("ld.global.f32 %f1, [%r1];", 6, "`ld.global.f32`: operand 2"),
    ("not.pred %p1, %r1;", 6, "`not.pred`: operand 2"),
    ("mov.u32 %r1, 0x100000000;", 6, "`mov.u32`: operand 2"),
    ("ld.shared.u16 %r1, [%rs1];", 6, "`ld.shared.u16`: operand 2"),
    ("ld.global.f32 %rd1, [%rd1];", 6, "`ld.global.f32`: operand 1"),
    ("mov.b64 {%r1, %rd1}, %rd2;", 6, "`mov.b64`: operand 1"),
    ("mov.u32 %r1, x;", 6, "`mov.u32`: operand 2"),
    ("add.s32 %r1, %r2;", 6, "`add.s32` takes 3 operands, found 2"),
    // Barriers other than the first.
    ("bar.sync 1;", 6, "`bar.sync`: operand 1"),
    ("add.s32 %r1, %r2, %r9;", 6, "`%r9` is not declared"),
    ("add.s32 %r1, %r2, %tid.x;", 6, "`%tid.x` is not declared"),
    ("bra nowhere;", 6, "`nowhere` is not declared"),
    ("@%q bra L; L:", 6, "`%q` is not declared"),
    // A register ends with its scope.
    ("{ .reg .b32 inner; mov.u32 inner, 1; }\nmov.u32 inner, 2;", 7, "`inner` is not declared"),
    ("L:\nL:", 7, "`L` is there already"),
    (".align 4;", 6, "directive `.align` is not supported"),
    // Arithmetic that may be contracted or flushed.
    ("add.f32 %f1, %f2, %f3;", 6, "`add.f32` is not reproducible"),
    ("sub.f32 %f1, %f2, %f3;", 6, "`sub.f32` is not reproducible"),
    ("mul.f32 %f1, %f2, %f3;", 6, "`mul.f32` is not reproducible"),
    ("add.ftz.f32 %f1, %f2, %f3;", 6, "`add.ftz.f32` is not reproducible"),
    ("mul.rn.ftz.f32 %f1, %f2, %f3;", 6, "`mul.rn.ftz.f32` is not reproducible"),
    ("add.f64 %rd1, %rd2, %rd3;", 6, "`add.f64` is not reproducible"),
    ("sub.f64 %rd1, %rd2, %rd3;", 6, "`sub.f64` is not reproducible"),
    ("mul.f64 %rd1, %rd2, %rd3;", 6, "`mul.f64` is not reproducible"),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32;",
        6,
        "`mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32` needs compute capability 8.0",
    ),
    ("cvt.rn.bf16.f32 %rs1, %f1;", 6, "`cvt.rn.bf16.f32` needs compute capability 8.0"),
];

#[test]
fn text_that_is_not_known_exactly_is_refused_by_its_line_and_name() {
    for (body, line, problem) in BODIES {
        let found = Module::parse(&kernel(body)).unwrap_err();
        assert!(found.line == line && found.problem.starts_with(problem), "{body}: {found}");
    }
    let whole = kernel("");
    let (_, entry) = whole.split_once(".visible").unwrap();
    for (text, told) in [
        (
            whole.replace(".visible", ".global .b32 counter;\n.visible"),
            "PTX line 4: directive `.global` is not supported",
        ),
        (whole.replace("ret;", ""), "PTX line 8: expected `ret` or a jump before the entry's end"),
        (format!("{whole}.visible{entry}"), "PTX line 9: `k` is there already"),
    ] {
        let found = Module::parse(&text).unwrap_err().to_string();
        assert!(found.starts_with(told), "{found}");
    }
}

/// Launches of `k`, or of another entry, that are refused, with the beginning of what is said.
#[test]
fn wrong_launches_are_refused() {
    let (module, mut gpu) = (Module::parse(&kernel("")).unwrap(), gpu());
    let args = [Arg::U64(gpu.alloc(4)), Arg::U32(1)];
    let swapped = [args[0].clone(), Arg::F32(1.0)];
    gpu.launch(&module, "k", 1, 1, 0, &args).unwrap();
    let (one, far) = ([1; 3], [u32::MAX; 3]);
    for (entry, grid, block, shared, args, told) in [
        ("j", one, one, 0, &args[..], "the module has no entry `j`; it has k"),
        ("k", one, [0, 1, 1], 0, &args, "`block.x` of 0 is outside 1 to 1024"),
        ("k", one, [1025, 1, 1], 0, &args, "`block.x` of 1025 is outside 1 to 1024"),
        ("k", one, far, 0, &args, "`block.x` of 4294967295 is outside"),
        ("k", far, far, u64::MAX, &args, "18446744073709551615 bytes of shared memory"),
        ("k", one, one, 49153, &args, "49153 bytes of shared memory a block, at most 49152"),
        ("k", one, one, 0, &args[..1], "`k` takes 2 arguments, 1 were given"),
        ("k", one, one, 0, &swapped, "`k`: argument 1: parameter `n` is .u32 in 4 bytes"),
    ] {
        let found = gpu.launch(&module, entry, grid, block, shared, args).unwrap_err();
        assert!(matches!(&found, Fault::Call(found) if found.starts_with(told)), "{found}");
    }
    let found = Gpu::new(Capability::SM_75).launch(&fixture("stage"), "stage", 1, 64, 0, &[]);
    assert_eq!(found.unwrap_err().to_string(), "the module is for 8.0, the device is 7.5");
}

#[test]
fn a_kernel_without_end_is_stopped() {
    let module = Module::parse(&kernel("L:\nbra.uni L;")).unwrap();
    let mut gpu = gpu();
    gpu.step_limit = 1000;
    let x = gpu.alloc(4);
    let report = report(gpu.launch(&module, "k", 1, 1, 0, &[Arg::U64(x), Arg::U32(0)]));
    assert_eq!((report.kind, report.line), (ReportKind::StepLimit { limit: 1000 }, 7));
    assert_eq!(report.thread, Dim3::from([0, 0, 0]));
}

#[test]
fn the_host_reads_and_writes_within_allocations_only() {
    let mut gpu = gpu();
    let x = upload(&mut gpu, &numbers(4));
    assert!(gpu.read(x, 17).is_err() && gpu.write(x + 16, &[1]).is_err());
    assert!(gpu.free(x).is_ok() && gpu.read(x, 1).is_err());
}
