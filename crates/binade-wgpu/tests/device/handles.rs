//! Waits and errors of the handle, and its state after a failure.

use crate::support::{Result, kind, noise, own, vector, wgpu};
use binade_core::ops::{Add, Download, Fill, Relu, Upload};
use binade_core::{DType, ErrorKind};
use binade_wgpu::{Error, Options, Wgpu, WgpuError};

crate::tests![
    only_reads_wait,
    many_operations_are_sent_off_in_a_few_batches,
    an_upload_never_changes_what_waits_to_be_computed,
    memory_is_used_again,
    an_adapter_that_is_not_there_is_an_error_that_says_what_is,
    a_destroyed_device_is_lost_and_stays_lost,
    a_mistake_is_an_error_and_no_panic,
    the_facts_name_the_adapter_and_say_what_it_has,
    every_shader_compiles,
    sizes_that_do_not_fit_are_refused,
];

fn only_reads_wait() -> Result {
    let wgpu = own();
    let x = vector(&wgpu, &noise(1, 1000), DType::F16);
    let y = wgpu.relu(&wgpu.add(&x, &x)?)?;
    assert_eq!((wgpu.counters().syncs, wgpu.counters().submits), (0, 0));
    assert_eq!(wgpu.counters().dispatches, 3, "a cast, a sum, a relu");
    wgpu.download(&y)?;
    assert_eq!((wgpu.counters().syncs, wgpu.counters().submits), (1, 1));
    wgpu.synchronize()?;
    assert_eq!(wgpu.counters().syncs, 2);
    Ok(())
}

fn many_operations_are_sent_off_in_a_few_batches() -> Result {
    let wgpu = own();
    let one = vector(&wgpu, &[1.0; 5], DType::F32);
    let mut sum = wgpu.fill(0.0, &[5], DType::F32)?;
    for _ in 0..1000 {
        sum = wgpu.add(&sum, &one)?;
    }
    assert_eq!(wgpu.download(&sum)?, [1000.0; 5]);
    assert!((4..10).contains(&wgpu.counters().submits), "{:?}", wgpu.counters());
    Ok(())
}

/// Order of uploads: a host write must not go to a buffer that work not yet submitted still reads.
fn an_upload_never_changes_what_waits_to_be_computed() -> Result {
    let wgpu = own();
    let mut sums = Vec::new();
    for value in 0..40_u8 {
        // The tensor is dropped before anything is submitted: the next upload would find its buffer idle.
        let x = vector(&wgpu, &[f32::from(value); 9], DType::F32);
        sums.push(wgpu.add(&x, &x)?);
    }
    assert_eq!(wgpu.counters().submits, 0);
    for (value, sum) in (0..40_u8).zip(&sums) {
        assert_eq!(wgpu.download(sum)?, [2.0 * f32::from(value); 9]);
    }
    Ok(())
}

fn memory_is_used_again() -> Result {
    let wgpu = own();
    let bytes = wgpu.memory_use().bytes;
    for _ in 0..100 {
        let x = wgpu.fill(1.0, &[1000], DType::F32)?;
        assert_eq!(wgpu.memory_use().bytes - bytes, 4096);
        drop(x);
    }
    assert_eq!(wgpu.memory_use().bytes, bytes);
    assert_eq!(wgpu.memory_use().peak_bytes - bytes, 4096);
    wgpu.trim();
    assert_eq!(wgpu.download(&wgpu.fill(2.0, &[3], DType::F32)?)?, [2.0; 3]);
    Ok(())
}

fn an_adapter_that_is_not_there_is_an_error_that_says_what_is() -> Result {
    let there = wgpu().facts().adapter.clone();
    let options = Options { adapter: Some("no such adapter".into()), ..Options::default() };
    let error = Wgpu::open_with(&options).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("no such adapter") && told.contains(&there), "{told}");
    assert!(told.contains("mesa-vulkan-drivers"), "{told}");
    assert_eq!(kind::<(), _>(Err(error)), ErrorKind::DeviceLost);
    let part = there.to_uppercase().chars().take(5).collect();
    Wgpu::open_with(&Options { adapter: Some(part), ..Options::default() })?;
    Ok(())
}

fn a_destroyed_device_is_lost_and_stays_lost() -> Result {
    let wgpu = own();
    let x = vector(&wgpu, &[1.0, 2.0], DType::F32);
    wgpu.synchronize()?;
    wgpu.device().destroy();
    let first = wgpu.add(&x, &x).and_then(|sum| wgpu.download(&sum)).unwrap_err();
    assert!(matches!(first, Error::Driver(WgpuError::Lost { .. })), "{first}");
    assert_eq!(wgpu.download(&x).unwrap_err(), first);
    assert_eq!(kind(wgpu.upload(&[1.0], &[1], DType::F32)), ErrorKind::DeviceLost);
    // Other devices still work.
    let other = own();
    assert_eq!(other.download(&vector(&other, &[3.0], DType::F32))?, [3.0]);
    Ok(())
}

/// wgpu panics if no error handler is set.
fn a_mistake_is_an_error_and_no_panic() -> Result {
    let wgpu = own();
    let x = vector(&wgpu, &[1.0, 2.0], DType::F32);
    let _ = wgpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 16,
        usage: wgpu::BufferUsages::MAP_READ
            | wgpu::BufferUsages::MAP_WRITE
            | wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let error = wgpu.add(&x, &x).unwrap_err();
    assert!(matches!(error, Error::Driver { .. }), "{error}");
    assert_eq!(kind::<(), _>(Err(error)), ErrorKind::Other);
    Ok(())
}

fn the_facts_name_the_adapter_and_say_what_it_has() -> Result {
    let facts = wgpu().facts().clone();
    let told = facts.to_string();
    assert!(told.contains(&facts.adapter), "{told}");
    assert_eq!(told.contains("with f16"), facts.has_f16, "{told}");
    assert_eq!(told.contains("with subgroups"), facts.has_subgroups, "{told}");
    // CI sets which of two drivers a run is for.
    if let Ok(expected) = std::env::var("BINADE_WGPU_EXPECT_F16") {
        assert_eq!(facts.has_f16, expected == "1", "{told}");
    }
    Ok(())
}

/// Shaders of every kind are compiled on every device: none is left out if a feature is missing.
fn every_shader_compiles() -> Result {
    let entries = include_str!("../../wgsl/ENTRIES").lines();
    let entries = entries.filter(|line| !line.starts_with('#')).count();
    assert_eq!(wgpu().compile()?, entries);
    Ok(())
}

fn sizes_that_do_not_fit_are_refused() -> Result {
    let wgpu = own();
    let x = vector(&wgpu, &[1.0, 2.0], DType::F32);
    assert_eq!(kind(wgpu.upload(&[1.0], &[2], DType::F32)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.from_bits(&[0; 3], DType::F16, &[2])), ErrorKind::Mismatch);
    assert_eq!(kind(x.slice(1, 2)), ErrorKind::Mismatch);
    assert_eq!(kind(x.slice(1, usize::MAX)), ErrorKind::Mismatch);
    let most = usize::try_from(wgpu.facts().most_buffer_bytes / 4 + 1)?;
    assert_eq!(kind(wgpu.fill(1.0, &[most], DType::F32)), ErrorKind::Unsupported);
    // A number of elements that fits while their bytes do not, and a number that does not fit.
    for shape in [&[1 << 62][..], &[1 << 33, 1 << 31], &[usize::MAX, 3]] {
        assert_eq!(
            kind(wgpu.fill(1.0, shape, DType::F32)),
            ErrorKind::InvalidArgument,
            "{shape:?}"
        );
        for refused in [wgpu.from_bits(&[], DType::F32, shape), wgpu.upload(&[], shape, DType::F32)]
        {
            let refused = refused.unwrap_err();
            assert!(!matches!(refused, Error::Driver { .. }), "{refused}");
        }
    }
    assert_eq!(wgpu.download(&x)?, [1.0, 2.0], "the device goes on");
    Ok(())
}
