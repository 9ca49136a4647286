//! Meaning of instructions that no fixture shows, in PTX written by hand.

use crate::support::{gpu, kernel, lanes, report, upload, words};
use binade_ptx::{Access, Arg, Module, ReportKind, Space};

#[test]
fn a_shuffle_finds_its_lanes() {
    let found = lanes("shfl.sync.bfly.b32 %r1, %r7, 3, 31, -1;");
    assert_eq!(found, (0..32).map(|lane| lane ^ 3).collect::<Vec<_>>());
}

#[test]
fn atomics_from_every_thread_are_all_counted_and_the_old_values_are_all_different() {
    let body =
        "ld.param.u64 %rd1, [x];\natom.global.add.u32 %r1, [%rd1], 1;\nld.global.u32 %r2, [%rd1];";
    let (module, mut gpu) = (Module::parse(&kernel(body)).unwrap(), gpu());
    let x = upload(&mut gpu, &[0.0]);
    gpu.launch(&module, "k", [2, 2, 1], [33, 2, 1], 0, &[Arg::U64(x), Arg::U32(0)]).unwrap();
    assert_eq!(words(&mut gpu, x, 1), [4 * 66]);
}

/// Writes a word in the declared variable, then one in the array that the launch sizes; both survive.
#[test]
fn an_array_that_the_launch_sizes_lies_behind_the_declared_ones() {
    let body = "mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\nst.shared.f32 [fixed], %f1;\nst.shared.f32 [sized+4], %f2;\nld.shared.f32 %f3, [fixed];\nld.param.u64 %rd1, [x];\nst.global.f32 [%rd1], %f3;";
    let fixed = format!(".shared .align 4 .b8 fixed[8];\n{body}");
    let text =
        kernel(&fixed).replace(".visible", ".extern .shared .align 16 .b8 sized[];\n.visible");
    let (module, mut gpu) = (Module::parse(&text).unwrap(), gpu());
    let x = gpu.alloc(4);
    let args = [Arg::U64(x), Arg::U32(0)];
    gpu.launch(&module, "k", 1, 1, 8, &args).unwrap();
    assert_eq!(words(&mut gpu, x, 1), [1.0_f32.to_bits()]);
    let report = report(gpu.launch(&module, "k", 1, 1, 7, &args));
    let (access, space) = (Access::Write, Space::Shared);
    assert_eq!(report.kind, ReportKind::OutOfBounds { access, space, bytes: 4 });
    assert_eq!(report.address, Some(16 + 4));
}

#[test]
fn global_memory_that_nobody_wrote_is_not_read() {
    let body = "ld.param.u64 %rd1, [x];\nld.global.f32 %f1, [%rd1+4];\nst.global.f32 [%rd1], %f1;";
    let (module, mut gpu) = (Module::parse(&kernel(body)).unwrap(), gpu());
    let x = gpu.alloc(8);
    let args = [Arg::U64(x), Arg::U32(0)];
    gpu.write(x, &[0; 7]).unwrap();
    let report = report(gpu.launch(&module, "k", 1, 1, 0, &args));
    assert_eq!(report.kind, ReportKind::Uninitialised { space: Space::Global, bytes: 4 });
    assert_eq!(report.address, Some(x + 4));
    gpu.write(x + 7, &[0]).unwrap();
    gpu.launch(&module, "k", 1, 1, 0, &args).unwrap();
}

/// The branch lies behind the join in the text, so that the other lanes reach the join first, and wait there.
#[test]
fn lanes_that_diverged_meet_again_before_they_synchronise() {
    let body = "mov.u32 %r3, %laneid;\nsetp.lt.u32 %p1, %r3, 16;\n@%p1 bra FAR;\nmov.u32 %r2, 1;\nJOIN:\nbar.sync 0;\nshfl.sync.bfly.b32 %r1, %r2, 16, 31, -1;\nbra.uni STORE;\nFAR:\nmov.u32 %r2, 2;\nbra.uni JOIN;\nSTORE:";
    assert_eq!(lanes(body), [[1; 16], [2; 16]].concat());
}

/// Body of nine instructions; lanes that did not meet again would run the last five twice.
#[test]
fn after_a_branch_the_warp_goes_on_as_one() {
    let join = "mov.u32 %r2, 2;\n".repeat(4);
    let body = format!(
        "mov.u32 %r3, %laneid;\nsetp.lt.u32 %p1, %r3, 16;\n@%p1 bra JOIN;\nmov.u32 %r1, 1;\nJOIN:\n{join}"
    );
    let (module, mut gpu) = (Module::parse(&kernel(&body)).unwrap(), gpu());
    let args = [Arg::U64(gpu.alloc(4)), Arg::U32(0)];
    gpu.step_limit = 9;
    gpu.launch(&module, "k", 1, 32, 0, &args).unwrap();
    gpu.step_limit = 8;
    assert!(gpu.launch(&module, "k", 1, 32, 0, &args).is_err());
}
