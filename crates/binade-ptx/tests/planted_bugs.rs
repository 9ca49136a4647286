//! Planted bugs: each is caught by the report that names it, while its right twin passes the same run.

use crate::support::{
    bits, block_sum, fixture, gpu, near_one, report, scale, stage, unscale, upload, warp_sum,
};
use binade_ptx::{Access, Dim3, Report, ReportKind, Space};

/// Asserts that a report holds the kernel and its line in the PTX and in the source, and that its text has all of it.
#[track_caller]
fn assert_told(report: &Report, kernel: &str, file: &str) {
    assert_eq!(report.kernel, kernel);
    assert!(report.origin.as_deref().is_some_and(|origin| origin.starts_with(file)), "{report:?}");
    let text = report.to_string();
    for part in [
        format!("`{kernel}`"),
        format!("PTX line {}", report.line),
        format!("block {}", report.block),
        format!("thread {}", report.thread),
    ] {
        assert!(text.contains(&part), "{text}");
    }
    println!("{text}");
}

#[test]
fn an_off_by_one_bound_is_out_of_bounds() {
    let x = near_one(70);
    scale(&mut gpu(), "scale", &x).unwrap();
    let report = report(scale(&mut gpu(), "scale_off_by_one", &x));
    let expected = ReportKind::OutOfBounds { access: Access::Read, space: Space::Global, bytes: 4 };
    assert_eq!(
        (report.kind, report.block, report.thread),
        (expected, Dim3::from([2, 0, 0]), Dim3::from([6, 0, 0]))
    );
    assert!(report.address.is_some());
    assert_told(&report, "scale_off_by_one", "scale.cu:");
}

#[test]
fn a_removed_barrier_is_uninitialised_or_a_race() {
    let x = near_one(128);
    block_sum(&mut gpu(), "block_sum", &x).unwrap();
    // Warp 0 runs first, and reads what warp 2 has not written yet.
    let report = report(block_sum(&mut gpu(), "block_sum_no_barrier", &x));
    assert_eq!(report.kind, ReportKind::Uninitialised { space: Space::Shared, bytes: 4 });
    assert_eq!((report.thread, report.address), (Dim3::from([0, 0, 0]), Some(64 * 4)));
    assert_told(&report, "block_sum_no_barrier", "block_sum.cu:");
}

#[test]
fn strides_without_a_barrier_between_are_a_race() {
    let report = report(block_sum(&mut gpu(), "block_sum_race", &near_one(128)));
    let ReportKind::SharedRace { access, other, other_line, .. } = report.kind else {
        panic!("{report}")
    };
    assert_ne!(other, report.thread);
    assert_eq!(access, Access::Read);
    assert!(report.to_string().contains(&format!("PTX line {other_line}, no barrier between")));
    assert_told(&report, "block_sum_race", "block_sum.cu:");
}

#[test]
fn a_barrier_that_half_a_block_skips_is_divergent() {
    let report = report(block_sum(&mut gpu(), "block_sum_divergent", &near_one(128)));
    assert_eq!(report.kind, ReportKind::DivergentBarrier { missing: Dim3::from([64, 0, 0]) });
    assert_told(&report, "block_sum_divergent", "block_sum.cu:");
}

#[test]
fn a_tail_that_nobody_fills_is_uninitialised() {
    let x = near_one(100);
    block_sum(&mut gpu(), "block_sum", &x).unwrap();
    let report = report(block_sum(&mut gpu(), "block_sum_uninitialised", &x));
    assert_eq!(report.kind, ReportKind::Uninitialised { space: Space::Shared, bytes: 4 });
    assert_eq!((report.thread, report.address), (Dim3::from([36, 0, 0]), Some(100 * 4)));
    assert_told(&report, "block_sum_uninitialised", "block_sum.cu:");
}

#[test]
fn a_shuffle_that_part_of_its_mask_skips_is_divergent() {
    let x = near_one(50);
    warp_sum(&mut gpu(), "warp_sum", &x).unwrap();
    let report = report(warp_sum(&mut gpu(), "warp_sum_divergent", &x));
    assert_eq!(report.kind, ReportKind::Divergent { form: "shfl.sync.down.b32", lane: 50 - 32 });
    assert_eq!(report.thread, Dim3::from([32, 0, 0]));
    assert_told(&report, "warp_sum_divergent", "sm_30_intrinsics.hpp:");
    // Whole warps all take the branch, so that nothing is wrong.
    warp_sum(&mut gpu(), "warp_sum_divergent", &near_one(64)).unwrap();
}

#[test]
fn a_copy_that_is_not_waited_for_is_not_there() {
    let x = near_one(256);
    stage(&mut gpu(), "stage", &x).unwrap();
    let report = report(stage(&mut gpu(), "stage_no_wait", &x));
    let ReportKind::UnfinishedCopy { access: Access::Read, issued } = report.kind else {
        panic!("{report}")
    };
    assert!(issued < report.line);
    assert_told(&report, "stage_no_wait", "stage.cu:");
}

/// No access is wrong; the fault shows in the numbers that were not touched.
#[test]
fn a_dropped_tail_leaves_its_gradients_scaled() {
    let x = near_one(1003);
    let expected = bits(x.iter().map(|x| x * 0.25));
    assert_eq!(unscale(&mut gpu(), "unscale_by_fours", &x, 0.25).unwrap().0, expected);
    let (found, _) = unscale(&mut gpu(), "unscale_dropped_tail", &x, 0.25).unwrap();
    let wrong: Vec<_> = (0..1003).filter(|&i| found[i] != expected[i]).collect();
    assert_eq!(wrong, [1000, 1001, 1002]);
}

#[test]
fn a_vector_access_at_an_odd_element_is_misaligned() {
    use binade_ptx::Arg;
    let mut gpu = gpu();
    let (x, found) = (upload(&mut gpu, &near_one(9)), upload(&mut gpu, &[0.0]));
    let args = [Arg::U64(x + 4), Arg::F32(1.0), Arg::U64(found), Arg::U32(8)];
    let report = report(gpu.launch(&fixture("unscale"), "unscale_by_fours", 1, 32, 0, &args));
    let expected = ReportKind::Misaligned { access: Access::Read, space: Space::Global, bytes: 16 };
    assert_eq!((report.kind, report.address), (expected, Some(x + 4)));
    assert_told(&report, "unscale_by_fours", "unscale.cu:");
}
