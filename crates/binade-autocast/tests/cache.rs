//! Casts of parameters: made once, never stale, gone with the region.

use crate::common::{Device, Param, no_grad};
use binade_autocast::{Region, Scope};
use binade_cast_policy::{CastRule, OpTable};
use binade_core::{DType, Op};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

fn use_in(scope: &Scope<'_, Device>, parameter: &Param) -> Param {
    let [cast] = scope.cast(Op::MATMUL, "", [parameter]).unwrap();
    cast.into_owned()
}

#[test]
fn a_parameter_is_cast_once_in_a_region_to_each_type_it_is_used_in() {
    let device = Device::default();
    let (w, v) = (device.parameter(&[1.0]), device.parameter(&[2.0]));
    let scope = Region::f16().open(&device);
    for _ in 0..10 {
        use_in(&scope, &w);
        use_in(&scope, &v);
    }
    assert_eq!(device.casts(), 2);
    let inner = scope.within(Region::bf16());
    assert_eq!(use_in(&inner, &w).host.dtype, DType::BF16);
    assert_eq!(use_in(&scope, &w).host.dtype, DType::F16);
    assert_eq!(device.casts(), 3);
    use_in(&inner.within(Region::bf16().off()), &w);
    assert_eq!(device.casts(), 3);
}

#[test]
fn a_kept_cast_is_never_stale() {
    let device = Device::default();
    let mut w = device.parameter(&[1.0]);
    let scope = Region::f16().open(&device);
    for step in 1..=100 {
        w.host.data[0] += 1.0;
        w.version += 1;
        assert_eq!(use_in(&scope, &w).host.data, w.host.data);
        assert_eq!(use_in(&scope, &w).host.data, w.host.data);
        assert_eq!((device.casts(), scope.kept()), (step, 1), "an older version is not kept");
    }
}

#[test]
fn a_cast_made_without_gradients_is_not_found_by_a_use_that_needs_them() {
    let device = Device::default();
    let w = device.parameter(&[1.0]);
    let scope = Region::f16().open(&device);
    assert!(!no_grad(|| use_in(&scope, &w)).grad);
    assert!(use_in(&scope, &w).grad);
    assert!(!no_grad(|| use_in(&scope, &w)).grad);
    assert_eq!(device.casts(), 2);
}

#[test]
fn a_tensor_that_reports_no_key_is_cast_at_each_use() {
    let device = Device::default();
    let x = device.activation(DType::F32, &[1.0]);
    let scope = Region::f16().open(&device);
    use_in(&scope, &x);
    use_in(&scope, &x);
    assert_eq!((device.casts(), scope.kept()), (2, 0));
}

#[test]
fn everything_kept_is_freed_with_the_last_scope_of_the_region() {
    let device = Device::default();
    let w = device.parameter(&[1.0]);
    let before = device.alive();
    let outer = Region::f16().open(&device);
    use_in(&outer, &w);
    let inner = outer.within(Region::bf16());
    use_in(&inner, &w);
    assert_eq!(device.alive(), before + 2);
    drop(outer);
    assert_eq!(device.alive(), before + 2);
    drop(inner);
    assert_eq!(device.alive(), before);
    use_in(&Region::f16().open(&device), &w);
    assert_eq!(device.casts(), 3);
}

#[test]
fn memory_is_constant_over_ten_thousand_regions() {
    let device = Device::default();
    let w = device.parameter(&[1.0; 16]);
    let region = Region::f16();
    let once = || {
        let scope = region.open(&device);
        use_in(&scope, &w);
        use_in(&scope.within(region.off()), &w);
    };
    (0..10).for_each(|_| once());
    let before = device.alive();
    let info = allocation_counter::measure(|| (0..10_000).for_each(|_| once()));
    assert_eq!((device.alive(), device.casts()), (before, 10_010));
    assert_eq!((info.count_current, info.bytes_current), (0, 0));
}

#[test]
fn without_a_cache_the_numbers_are_the_same() {
    let device = Device::default();
    let w = device.parameter(&[1.0 / 3.0, 1e-9]);
    let (kept, made) = (Region::f16().open(&device), Region::f16().open(&device).without_cache());
    for _ in 0..3 {
        assert_eq!(use_in(&kept, &w).host.bits(), use_in(&made, &w).host.bits());
    }
    assert_eq!((device.casts(), made.kept()), (1 + 3, 0));
}

#[test]
fn threads_that_share_a_scope_cast_a_parameter_once() {
    let device = Device::default();
    let w = device.parameter(&[1.0; 64]);
    let scope = Region::f16().open(&device);
    thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| use_in(&scope, &w));
        }
    });
    assert_eq!(device.casts(), 1);
}

#[test]
fn a_cast_that_failed_is_not_kept_and_leaves_the_rest() {
    let device = Device::default();
    let w = device.parameter(&[1.0]);
    let f8 = OpTable::empty().register("matmul", CastRule::To(DType::E4M3));
    let scope = Region::f16().open(&device);
    use_in(&scope, &w);
    let failing = scope.within(Region::f16().with_policy(f8).unwrap());
    assert!(failing.cast(Op::MATMUL, "", [&w]).is_err());
    use_in(&scope, &w);
    assert_eq!((device.casts(), scope.kept()), (2, 1));
}

#[test]
fn a_cast_that_panicked_leaves_the_cache_in_use() {
    let device = Device::default();
    let (w, mut bad) = (device.parameter(&[1.0]), device.parameter(&[1.0]));
    bad.host.data[0] = crate::common::PANICS;
    let scope = Region::f16().open(&device);
    use_in(&scope, &w);
    assert!(catch_unwind(AssertUnwindSafe(|| use_in(&scope, &bad))).is_err());
    use_in(&scope, &w);
    assert_eq!((device.casts(), scope.kept()), (2, 1));
}
