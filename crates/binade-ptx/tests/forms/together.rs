//! Matches and barriers of a warp, and the detection of the last block.

use binade_ptx::{Access, Arg, Module, ReportKind};

use crate::support::{gpu, kernel, lanes, report, run, words};

#[test]
fn lanes_find_those_with_the_same_value() {
    let body = "and.b32 %r2, %r7, 1;\nmatch.any.sync.b32 %r1, %r2, -1;";
    assert_eq!(lanes(body)[..2], [0x5555_5555, 0xaaaa_aaaa]);
}

#[test]
fn a_predicate_is_set_to_a_literal() {
    let body = "mov.pred %p1, -1;\nselp.b32 %r1, 5, 7, %p1;\nmov.pred %p1, 0;\nselp.b32 %r2, 5, 7, %p1;\nadd.s32 %r1, %r1, %r2;";
    assert_eq!(lanes(body)[..2], [12, 12]);
}

#[test]
fn a_match_or_a_warp_barrier_that_a_lane_skips_is_divergent() {
    for (form, operands) in [("match.any.sync.b32", "%r1, %r7, -1"), ("bar.warp.sync", "-1")] {
        let body = format!(
            "mov.u32 %r1, 0;\nsetp.lt.u32 %p1, %r7, 3;\n@!%p1 bra END;\n{form} {operands};\nEND:"
        );
        assert_eq!(report(run(&body, 32)).kind, ReportKind::Divergent { form, lane: 3 });
    }
}

const SHARED: &str = ".shared .align 4 .b8 s[256];\nmov.u32 %r6, %tid.x;\nshl.b32 %r6, %r6, 2;\nmov.u32 %r5, s;\nadd.s32 %r5, %r5, %r6;\nst.shared.u32 [%r5], %r7;";

/// Each lane reads the word that the next lane wrote.
#[test]
fn a_warp_barrier_orders_a_warps_shared_memory_and_no_other_warps() {
    let next = "xor.b32 %r5, %r5, 4;\nld.shared.u32 %r1, [%r5];";
    let run = |between: &str, next: &str, threads: u32| {
        let (declared, rest) = SHARED.split_once('\n').unwrap();
        let body = format!("{rest}\n{between}\n{next}");
        let text = kernel(&format!("{declared}\nmov.u32 %r7, %laneid;\n{body}"));
        let (module, mut gpu) = (Module::parse(&text).unwrap(), gpu());
        let x = gpu.alloc(4);
        gpu.launch(&module, "k", 1, threads, 0, &[Arg::U64(x), Arg::U32(0)])
    };
    assert!(run("bar.warp.sync -1;", next, 64).is_ok());
    assert!(matches!(report(run("", next, 64)).kind, ReportKind::SharedRace { .. }));
    let other_warp = "xor.b32 %r5, %r5, 128;\nld.shared.u32 %r1, [%r5];";
    assert!(run("bar.sync 0;", other_warp, 64).is_ok());
    let found = report(run("bar.warp.sync -1;", other_warp, 64)).kind;
    let is_wrong =
        matches!(found, ReportKind::SharedRace { .. } | ReportKind::Uninitialised { .. });
    assert!(is_wrong, "{found}");
    let again = "mov.u32 %r5, s;\nst.shared.u32 [%r5], %r7;";
    let found = report(run("bar.sync 0;", again, 32)).kind;
    assert!(matches!(found, ReportKind::SharedRace { access: Access::Write, .. }), "{found}");
    let once = "mov.u32 %r5, s;\natom.shared.add.u32 %r1, [%r5], 1;";
    assert!(run("bar.sync 0;", once, 64).is_ok());
}

/// Every block counts itself; the last one sees all, and resets the counter.
#[test]
fn the_last_block_knows_that_it_is_the_last() {
    let body = "ld.param.u64 %rd1, [x];\nld.param.u32 %r4, [n];\nmov.u32 %r3, %ctaid.x;\nmul.wide.u32 %rd2, %r3, 4;\n\
        add.s64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2+8], %r3;\nmembar.gl;\n\
        atom.global.inc.u32 %r2, [%rd1], %r4;\nsetp.ne.u32 %p1, %r2, %r4;\n@%p1 exit;\n\
        mov.u32 %r1, 0;\nmov.u32 %r3, 0;\nLOOP:\nmul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd2, %rd1, %rd2;\n\
        ld.volatile.global.u32 %r5, [%rd2+8];\nadd.s32 %r1, %r1, %r5;\nadd.s32 %r3, %r3, 1;\n\
        setp.le.u32 %p1, %r3, %r4;\n@%p1 bra LOOP;\nst.global.u32 [%rd1+4], %r1;";
    let (module, mut gpu) = (Module::parse(&kernel(body)).unwrap(), gpu());
    let x = gpu.alloc(4 * 12);
    gpu.write(x, &[0; 48]).unwrap();
    for _ in 0..2 {
        gpu.launch(&module, "k", 10, 1, 0, &[Arg::U64(x), Arg::U32(9)]).unwrap();
        assert_eq!(words(&mut gpu, x, 2), [0, 45]);
    }
}
