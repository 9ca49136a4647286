//! Guard over the ambient region: nesting, panics, recursion, threads, devices.

use crate::common::{Device, Host};
use binade_autocast::Region;
use binade_core::{DType, HostDevice};
use rayon::prelude::*;
use std::panic::catch_unwind;

fn ambient() -> Option<(bool, DType)> {
    Region::ambient().map(|region| (region.is_on(), region.dtype()))
}

const BF16: Option<(bool, DType)> = Some((true, DType::BF16));
const F16: Option<(bool, DType)> = Some((true, DType::F16));

#[test]
fn nested_guards_restore_what_they_found() {
    assert_eq!(ambient(), None);
    let outer = Region::bf16().enter();
    {
        let _off = Region::bf16().off().enter();
        assert_eq!(ambient(), Some((false, DType::BF16)));
        {
            let _on = Region::f16().enter();
            assert_eq!(ambient(), F16);
        }
        assert_eq!(ambient(), Some((false, DType::BF16)));
    }
    assert_eq!(ambient(), BF16);
    drop(outer);
    assert_eq!(ambient(), None);
}

#[test]
fn a_panic_leaves_the_region_it_entered() {
    let _outer = Region::bf16().enter();
    let panicked = catch_unwind(|| {
        let _inner = Region::f16().enter();
        let _innermost = Region::f16().off().enter();
        panic!("inside");
    });
    assert!(panicked.is_err());
    assert_eq!(ambient(), BF16);
}

#[test]
fn one_region_entered_again_by_recursion_is_left_as_often() {
    fn recurse(region: &Region, depth: usize) {
        let _guard = region.enter();
        if depth > 0 {
            recurse(region, depth - 1);
        }
        assert_eq!(ambient(), F16);
    }
    recurse(&Region::f16(), 50);
    assert_eq!(ambient(), None);
}

#[test]
fn guards_dropped_out_of_order_take_back_only_their_own() {
    let outer = Region::bf16().enter();
    let inner = Region::f16().enter();
    drop(outer);
    assert_eq!(ambient(), F16);
    drop(inner);
    assert_eq!(ambient(), None);
}

#[test]
fn a_new_thread_starts_without_and_is_given_the_region_whole() {
    let _guard = Region::bf16().off().enter();
    let region = Region::ambient().unwrap();
    let there = std::thread::spawn(move || {
        let before = ambient();
        let _guard = region.enter();
        (before, ambient())
    });
    assert_eq!(there.join().unwrap(), (None, Some((false, DType::BF16))));
}

#[test]
fn rayon_workers_enter_the_captured_region() {
    let _guard = Region::bf16().enter();
    let region = Region::ambient().unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let seen: Vec<_> = pool.install(|| {
        let work = |_| {
            let before = ambient();
            let _guard = region.enter();
            (before, ambient())
        };
        (0..64).into_par_iter().map(work).collect()
    });
    assert_eq!(seen, [(None, BF16); 64]);
}

#[test]
fn a_region_for_one_type_of_device_leaves_others_alone() {
    let dtype = |region: Option<Region>| region.map(|region| region.dtype());
    let _all = Region::bf16().enter();
    let one = Region::f16().enter_for::<Device>();
    assert_eq!(dtype(Region::ambient_for::<Device>()), Some(DType::F16));
    assert_eq!(dtype(Region::ambient_for::<HostDevice<Host>>()), Some(DType::BF16));
    assert_eq!(ambient(), BF16);
    drop(one);
    assert_eq!(dtype(Region::ambient_for::<Device>()), Some(DType::BF16));
}

#[test]
fn the_region_entered_last_of_those_meant_decides() {
    let _one = Region::f16().enter_for::<Device>();
    let _all = Region::bf16().off().enter();
    assert!(Region::ambient_for::<Device>().is_some_and(|region| !region.is_on()));
}
