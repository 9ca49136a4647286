//! What is not known exactly is refused by name and line; what is launched wrongly does not run.

mod support;

use std::collections::BTreeSet;

use binade_ptx::{
    Access, Arg, Capability, Dim3, Fault, Gpu, LaunchError, Module, ParseError, ReportKind, Space,
    Strictness, known_forms,
};
use support::{FIXTURES, fixture, gpu, numbers, report, upload, words};

/// An entry of three parameters with this body, from line 6.
fn kernel(body: &str) -> String {
    let head = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u32 n)\n{";
    let registers =
        ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .f32 %f<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;";
    format!("{head} {registers}\n{body}\nret;\n}}\n")
}

fn error(body: &str) -> ParseError {
    Module::parse(&kernel(body)).unwrap_err()
}

/// Forms that no fixture holds, each run by a test of this file.
const BEYOND_THE_FIXTURES: [&str; 16] = [
    "add.f32",
    "add.ftz.f32",
    "and.pred",
    "atom.global.add.u32",
    "mov.u64",
    "mul.f32",
    "mul.ftz.f32",
    "mul.wide.s32",
    "neg.f32",
    "setp.ge.s32",
    "setp.lt.s32",
    "shfl.sync.bfly.b32",
    "shfl.sync.idx.b32",
    "shfl.sync.up.b32",
    "sub.f32",
    "sub.rn.f32",
];

#[test]
fn the_table_holds_the_forms_of_the_fixtures_and_a_listed_few_more() {
    let modules: Vec<_> = FIXTURES.iter().map(|(name, _)| fixture(name)).collect();
    let used: BTreeSet<_> = modules.iter().flat_map(Module::forms).collect();
    let known: BTreeSet<_> = known_forms().collect();
    assert!(used.is_subset(&known));
    let beyond: Vec<_> = known.difference(&used).copied().collect();
    assert_eq!(beyond, BEYOND_THE_FIXTURES);
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
        "ld.param.u32 %r1, [%rd1];",
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
fn arithmetic_that_may_be_contracted_or_flushed_is_refused_unless_asked_for() {
    for form in ["add.f32", "sub.f32", "mul.f32", "add.ftz.f32", "mul.ftz.f32"] {
        let body = format!("{form} %f1, %f2, %f3;");
        assert!(matches!(error(&body), ParseError::NotReproducible { line: 6, .. }), "{form}");
        assert!(Module::parse_with(&kernel(&body), Strictness::Any).is_ok());
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

/// Runs a body of one warp that leaves a word in `%r1`; each lane's word.
fn lanes(body: &str) -> Vec<u32> {
    let store = "ld.param.u64 %rd1, [x]; mov.u32 %r8, %tid.x; mul.wide.u32 %rd2, %r8, 4;\nadd.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;";
    let text = kernel(&format!("{body}\n{store}"));
    let (module, mut gpu) = (Module::parse_with(&text, Strictness::Any).unwrap(), gpu());
    let x = gpu.alloc(128);
    gpu.launch(&module, "k", 1, 32, 0, &[Arg::Ptr(x), Arg::U32(0)]).unwrap();
    words(&mut gpu, x, 32)
}

#[test]
fn shuffles_find_their_lanes() {
    let shuffle = |how: &str, by: u32, clamp: u32| {
        lanes(&format!("mov.u32 %r2, %laneid;\nshfl.sync.{how}.b32 %r1, %r2, {by}, {clamp}, -1;"))
    };
    let expect = |f: fn(u32) -> u32| (0..32).map(f).collect::<Vec<_>>();
    assert_eq!(shuffle("up", 1, 0), expect(|lane| lane.saturating_sub(1)));
    assert_eq!(shuffle("bfly", 3, 31), expect(|lane| lane ^ 3));
    assert_eq!(shuffle("idx", 5, 31), expect(|_| 5));
}

#[test]
fn signed_and_unsigned_are_told_apart() {
    let set = |compare: &str| {
        lanes(&format!("mov.u32 %r2, -1;\nsetp.{compare} %p1, %r2, 1;\nselp.u32 %r1, 1, 0, %p1;"))
            [0]
    };
    let results = ["lt.s32", "ge.s32", "lt.u32", "ge.u32"].map(set);
    assert_eq!(results, [1, 0, 0, 1]);
    let wide = "mov.u32 %r2, -3;\nmul.wide.s32 %rd3, %r2, 5;\nmov.u64 %rd2, 15;\nadd.s64 %rd3, %rd3, %rd2;";
    let text = format!(
        "{wide}\nld.param.u64 %rd1, [x]; add.s64 %rd1, %rd1, %rd3; mov.u32 %r1, 7; st.global.u32 [%rd1], %r1;"
    );
    assert_eq!(lanes(&text)[0], 7);
}

#[test]
fn predicates_combine() {
    let body = "mov.u32 %r2, %laneid;\nsetp.lt.u32 %p1, %r2, 20;\nsetp.ge.u32 %p2, %r2, 10;\nand.pred %p3, %p1, %p2;\nselp.u32 %r1, 1, 0, %p3;";
    assert_eq!(
        lanes(body),
        (0..32).map(|lane| u32::from((10..20).contains(&lane))).collect::<Vec<_>>()
    );
}

#[test]
fn shifts_by_the_width_or_more_give_zero() {
    let shift =
        |form: &str, by: u32| lanes(&format!("mov.u32 %r2, -1;\n{form} %r1, %r2, {by};"))[0];
    assert_eq!([shift("shl.b32", 31), shift("shl.b32", 32), shift("shr.u32", 32)], [1 << 31, 0, 0]);
}

#[test]
fn flushing_arithmetic_loses_subnormals_and_the_rest_keeps_them() {
    let run = |form: &str, a: u32, b: u32| {
        let body = format!(
            "mov.f32 %f2, 0f{a:08X};\nmov.f32 %f3, 0f{b:08X};\n{form} %f1, %f2, %f3;\nmov.b32 %r1, %f1;"
        );
        lanes(&body)[0]
    };
    let (one, tiny, half) = (1.0_f32.to_bits(), 0x8000_0001_u32, 0.5_f32.to_bits());
    assert_eq!([run("mul.f32", tiny, one), run("mul.ftz.f32", tiny, one)], [tiny, 1 << 31]);
    assert_eq!([run("add.f32", tiny, 0), run("add.ftz.f32", tiny, 0)], [tiny, 0]);
    assert_eq!([run("sub.f32", one, half), run("sub.rn.f32", one, half)], [half, half]);
    assert_eq!(
        lanes("mov.f32 %f2, 0f3F800000;\nneg.f32 %f1, %f2;\nmov.b32 %r1, %f1;")[0],
        (-1.0_f32).to_bits()
    );
}

#[test]
fn atomics_from_every_thread_are_all_counted_and_the_old_values_are_all_different() {
    let body =
        "ld.param.u64 %rd1, [x];\natom.global.add.u32 %r1, [%rd1], 1;\nld.global.u32 %r2, [%rd1];";
    let (module, mut gpu) = (Module::parse(&kernel(body)).unwrap(), gpu());
    let x = upload(&mut gpu, &[0.0]);
    gpu.launch(&module, "k", [2, 2, 1], [33, 2, 1], 0, &[Arg::Ptr(x), Arg::U32(0)]).unwrap();
    assert_eq!(words(&mut gpu, x, 1), [4 * 66]);
}

/// A word in the declared variable, then one in the array that the launch sizes; both survive.
#[test]
fn an_array_that_the_launch_sizes_lies_behind_the_declared_ones() {
    let body = "mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\nst.shared.f32 [fixed], %f1;\nst.shared.f32 [sized+4], %f2;\nld.shared.f32 %f3, [fixed];\nld.param.u64 %rd1, [x];\nst.global.f32 [%rd1], %f3;";
    let fixed = format!(".shared .align 4 .b8 fixed[8];\n{body}");
    let text =
        kernel(&fixed).replace(".visible", ".extern .shared .align 16 .b8 sized[];\n.visible");
    let (module, mut gpu) = (Module::parse(&text).unwrap(), gpu());
    let x = gpu.alloc(4);
    let args = [Arg::Ptr(x), Arg::U32(0)];
    gpu.launch(&module, "k", 1, 1, 8, &args).unwrap();
    assert_eq!(words(&mut gpu, x, 1), [1.0_f32.to_bits()]);
    let report = report(gpu.launch(&module, "k", 1, 1, 7, &args));
    let (access, space) = (Access::Write, Space::Shared);
    assert_eq!(report.kind, ReportKind::OutOfBounds { access, space, bytes: 4 });
    assert_eq!(report.address, Some(16 + 4));
}

#[test]
fn barriers_other_than_the_first_are_refused() {
    assert!(matches!(error("bar.sync 1;"), ParseError::Operand { line: 6, index: 1, .. }));
}

/// The branch lies behind the join in the text, so the join is reached first by the others, who wait there.
#[test]
fn lanes_that_diverged_meet_again_before_they_synchronise() {
    let body = "mov.u32 %r3, %laneid;\nsetp.lt.u32 %p1, %r3, 16;\n@%p1 bra FAR;\nmov.u32 %r2, 1;\nJOIN:\nbar.sync 0;\nshfl.sync.bfly.b32 %r1, %r2, 16, 31, -1;\nbra.uni STORE;\nFAR:\nmov.u32 %r2, 2;\nbra.uni JOIN;\nSTORE:";
    assert_eq!(lanes(body), [[1; 16], [2; 16]].concat());
}

/// Nine instructions in all; lanes that did not meet again would run the last five twice.
#[test]
fn after_a_branch_the_warp_goes_on_as_one() {
    let join = "mov.u32 %r2, 2;\n".repeat(4);
    let body = format!(
        "mov.u32 %r3, %laneid;\nsetp.lt.u32 %p1, %r3, 16;\n@%p1 bra JOIN;\nmov.u32 %r1, 1;\nJOIN:\n{join}"
    );
    let (module, mut gpu) = (Module::parse(&kernel(&body)).unwrap(), gpu());
    let args = [Arg::Ptr(gpu.alloc(4)), Arg::U32(0)];
    gpu.limit_steps(9);
    gpu.launch(&module, "k", 1, 32, 0, &args).unwrap();
    gpu.limit_steps(8);
    assert!(gpu.launch(&module, "k", 1, 32, 0, &args).is_err());
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
