//! Statistics of casts, and the cost of counting when it is off.

use crate::common::{Device, Host};
use binade_autocast::{CastStats, Region};
use binade_cast_policy::OpCall;
use binade_core::{DType, HostDevice, Op};
use std::sync::Arc;

fn counted() -> (Device, Arc<CastStats>) {
    let (device, stats) = (Device::default(), Arc::new(CastStats::default()));
    let scope = Region::bf16().open(&device).with_stats(stats.clone());
    let w = device.parameter(&[1.0; 10]);
    let x = device.activation(DType::F32, &[1.0; 4]);
    let low = device.activation(DType::BF16, &[1.0; 8]);
    scope.cast(Op::MATMUL, "", [&x, &w]).unwrap();
    scope.cast(Op::MATMUL, "", [&low, &w]).unwrap();
    scope.cast(Op::ADD, "", [&low, &x]).unwrap();
    scope.cast(Op::SOFTMAX, "", [&low]).unwrap();
    scope.cast(Op::RELU, "", [&low]).unwrap();
    (device, stats)
}

#[test]
fn casts_bytes_reuses_and_promotions_that_widened_are_counted_by_operation() {
    let (device, stats) = counted();
    let accounts = stats.accounts();
    assert_eq!(accounts.keys().copied().collect::<Vec<_>>(), ["add", "matmul", "softmax"]);
    let row = |op| {
        let account = &accounts[op];
        (account.casts, account.reused, account.bytes, account.widened)
    };
    assert_eq!(row("matmul"), (2, 1, 4 * 2 + 10 * 2, 0));
    assert_eq!(row("add"), (1, 0, 8 * 4, 1));
    assert_eq!(row("softmax"), (1, 0, 8 * 4, 0));
    assert_eq!(stats.total().casts, device.casts() as u64);
}

#[test]
fn it_prints_as_a_table() {
    let (_, stats) = counted();
    let table = "\
operation                   casts   reused          bytes  widened   uneven
add                             1        0             32        1        0
matmul                          2        1             28        0        0
softmax                         1        0             32        0        0
total                           4        1             92        1        0
";
    assert_eq!(stats.to_string(), table);
}

#[test]
fn bytes_of_a_device_that_tells_no_sizes_are_marked_as_incomplete() {
    let (device, stats) = (HostDevice::new(), Arc::new(CastStats::default()));
    let scope = Region::f16().open(&device).with_stats(stats.clone());
    let x = Host::f32(&[1.0]);
    scope.cast(Op::MATMUL, "", [&x, &x]).unwrap();
    scope.cast(Op::LINEAR, "", [&x]).unwrap();
    assert_eq!((stats.total().bytes, stats.total().unsized_casts), (0, 3));
    let row = "matmul                          2        0             0+        0        0\n";
    assert!(stats.to_string().contains(row), "{stats}");
}

#[test]
fn uneven_products_are_counted_by_operation_and_in_total() {
    let (device, stats) = (Device::default(), Arc::new(CastStats::default()));
    let scope = Region::f16().open(&device).with_stats(stats.clone());
    let low = device.activation(DType::F16, &[1.0]);
    for (op, extents) in [
        (Op::LINEAR, [8, 8, 33]),
        (Op::LINEAR, [8, 8, 35]),
        (Op::MATMUL, [7, 8, 8]),
        (Op::MATMUL, [8, 8, 8]),
    ] {
        let call = OpCall { extents: Some(extents), ..op.into() };
        scope.cast_all(&call, &[&low, &low]).unwrap();
    }
    let uneven = stats.accounts().into_iter().map(|(op, account)| (op, account.uneven));
    assert_eq!(uneven.collect::<Vec<_>>(), [("linear", 2), ("matmul", 1)]);
    assert_eq!((stats.total().uneven, stats.total().casts), (3, 0));
}

#[test]
fn scopes_inside_count_in_the_same_statistics() {
    let (device, stats) = (Device::default(), Arc::new(CastStats::default()));
    let scope = Region::f16().open(&device).with_stats(stats.clone());
    let x = device.activation(DType::F32, &[1.0]);
    scope.within(Region::bf16()).cast(Op::MATMUL, "", [&x]).unwrap();
    assert_eq!(stats.total().casts, 1);
}

#[test]
fn without_statistics_a_kept_cast_allocates_nothing() {
    let device = HostDevice::<Host>::new();
    let low = Host::new(DType::BF16, &[1.0]);
    let scope = Region::bf16().open(&device);
    let info = allocation_counter::measure(|| {
        let [_, _] = scope.cast(Op::MATMUL, "encoder.0", [&low, &low]).unwrap();
    });
    assert_eq!(info.count_total, 0);
}

#[cfg(feature = "serde")]
#[test]
fn it_is_saved_by_operation() {
    let (_, stats) = counted();
    let saved = serde_json::to_value(stats.accounts()).unwrap();
    assert_eq!(saved["add"]["widened"], 1);
}
