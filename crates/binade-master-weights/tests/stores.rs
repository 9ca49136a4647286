//! Properties of every way of keeping masters, and the loss of each.

use crate::common::{
    Host, Optimizer, bits, config, fine, grads, of_one, optimizer, params, rules, stores_and_types,
    values,
};
use binade_core::{DType, Element, Error as _, ErrorKind, Optimizer as _};
use binade_master_weights::step::{Factor, LengthError, Slices, step};
use binade_master_weights::stores::scaled;
use binade_master_weights::{
    HostMasters, HostParamState, Master, MasterStore, StepConstants, Sums, UpdateRule,
};
use half::{bf16, f16};
use std::sync::Arc;

/// A parameter of 2500 elements after three steps that are taken in pieces.
fn in_pieces<C: Element>(
    rule: UpdateRule,
    store: MasterStore,
    mids: &[usize],
) -> (Vec<u32>, HostParamState) {
    let name: Arc<str> = "w".into();
    let config = config(rule).with_store(store);
    let mut low: Vec<C> = values(2500, 7).into_iter().map(C::from_f32).collect();
    let mut masters = HostMasters::new(&config, ["w"].into_iter()).unwrap();
    let wide = low.iter().map(|x| x.to_f32()).collect();
    masters.insert(&name, wide, C::DTYPE).unwrap();
    for seed in 0..3 {
        let grad = values(2500, 70 + seed);
        let (constants, slot) = masters.next(0).unwrap();
        let how = (&constants, Factor::ONE);
        slot.step(how, &grad, &mut low, |constants, slices| {
            pieces(constants, slices, mids).map(|()| Sums::default())
        })
        .unwrap();
    }
    (low.iter().map(|x| x.to_code()).collect(), masters.get("w").unwrap().clone())
}

/// The last piece first.
fn pieces<C: Element>(
    constants: &StepConstants,
    slices: Slices<'_, f32, C>,
    mids: &[usize],
) -> Result<(), LengthError> {
    let Some((mid, rest)) = mids.split_first() else {
        return step(constants, Factor::ONE, slices);
    };
    let (head, tail) = slices.split_at(*mid);
    pieces(constants, tail, rest)?;
    step(constants, Factor::ONE, head)
}

fn splits_alike<C: Element>(store: MasterStore) {
    for rule in rules() {
        let whole = in_pieces::<C>(rule, store, &[]);
        for mids in [&[1][..], &[1023], &[1024, 1], &[1025, 3, 0, 700], &[2500]] {
            let parts = in_pieces::<C>(rule, store, mids);
            assert!(parts == whole, "{rule:?} {store:?} {} at {mids:?}", C::DTYPE);
        }
    }
}

#[test]
fn a_split_anywhere_gives_the_same_bits_whatever_the_store() {
    for (store, dtype) in stores_and_types() {
        match dtype {
            DType::BF16 => splits_alike::<bf16>(store),
            DType::F16 => splits_alike::<f16>(store),
            _ => splits_alike::<f32>(store),
        }
    }
}

#[test]
fn a_parameter_of_a_type_that_the_store_has_no_masters_of_is_refused_by_name() {
    let config = || config(UpdateRule::sgd(0.1)).with_store(MasterStore::Remainder);
    let both: [(&str, &[f32]); 2] = [("a", &[1.0]), ("b", &[2.0])];
    let lowered = config().with_storage(DType::F16).keep(["a"]);
    for (dtype, config, name) in [(DType::F16, config(), "a"), (DType::F32, lowered, "b")] {
        let made = Optimizer::new(binade_core::HostDevice::new(), params(dtype, both), config);
        let error = made.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = error.to_string();
        let begin =
            format!("`{name}` is stored as f16, of which `MasterStore::Remainder` keeps no");
        assert!(text.starts_with(&begin), "{text}");
    }
    let mixed = [params(DType::F32, [both[0]]), params(DType::BF16, [both[1]])].concat();
    optimizer(mixed, config());
}

#[test]
fn the_other_half_of_another_type_is_refused_rather_than_read() {
    for (store, dtype) in [
        (MasterStore::Remainder, DType::BF16),
        (MasterStore::Kahan, DType::BF16),
        (MasterStore::Kahan, DType::F16),
    ] {
        let mut optimizer = of_one(dtype, &[1.0], config(UpdateRule::sgd(0.1)).with_store(store));
        for now in [DType::F32, if dtype == DType::BF16 { DType::F16 } else { DType::BF16 }] {
            optimizer.params[0].value = Host::new(now, &[1.0]);
            let before = bits(&optimizer);
            let error = optimizer.step(grads(DType::F32, [("w", &[1.0][..])]), &fine());
            let text = error.unwrap_err().to_string();
            assert!(text.starts_with("`w`: it has another type than when"), "{text}");
            assert_eq!(bits(&optimizer), before, "{store:?} {dtype} {now}");
        }
    }
}

#[test]
fn f32_parameters_are_the_same_under_every_store() {
    let run = |store| {
        let mut optimizer =
            of_one(DType::F32, &values(50, 1), config(rules()[3]).with_store(store));
        for seed in 0..5 {
            let grad = values(50, 10 + seed);
            optimizer.step(grads(DType::F32, [("w", &grad[..])]), &fine()).unwrap();
        }
        assert_eq!(optimizer.masters().get("w").unwrap().master, Master::Nothing, "{store:?}");
        bits(&optimizer)
    };
    let expected = run(MasterStore::Copy);
    for store in crate::common::STORES {
        assert_eq!(run(store), expected, "{store:?}");
    }
}

#[test]
fn scaled_masters_keep_f32s_range_and_eleven_bits() {
    for magnitude in [-105, -60, -20, 0, 20, 100, 126] {
        let scale = 2.0_f32.powi(magnitude);
        let data: Vec<f32> = values(500, 8).iter().map(|x| x / 4.0 * scale).collect();
        let largest = data.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let exponent = scaled::exponent(&data);
        let top = f64::from(largest) * 2.0_f64.powi(exponent);
        assert!((16384.0..32768.0).contains(&top), "2^{magnitude}: {top}");
        for x in &data {
            let kept = scaled::unpack(scaled::pack(*x, exponent), exponent);
            let bound = (x.abs() * 2.0_f32.powi(-11)).max(largest * 2.0_f32.powi(-39));
            assert!((kept - x).abs() <= bound, "2^{magnitude}: {x} as {kept}");
        }
    }
}

#[test]
fn an_outlier_takes_bits_from_the_smallest_and_nothing_that_is_not_finite_counts() {
    let small = [1e-6, 2e-6];
    let with = |outlier| scaled::exponent(&[small[0], small[1], outlier]);
    assert_eq!(with(f32::INFINITY), scaled::exponent(&small));
    assert_eq!(with(f32::NAN), scaled::exponent(&small));
    let exponent = with(3e7);
    assert_eq!(scaled::unpack(scaled::pack(1e-6, exponent), exponent), 0.0);
    assert_eq!(scaled::exponent(&[0.0, -0.0, f32::NAN]), 0);
    for x in [f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0] {
        let kept = scaled::unpack(scaled::pack(x, exponent), exponent);
        assert_eq!(kept.to_bits(), x.to_bits());
    }
    assert!(scaled::unpack(scaled::pack(f32::NAN, exponent), exponent).is_nan());
}

#[test]
fn the_smallest_tensors_are_scaled_as_far_as_can_be_undone() {
    let tiny = [f32::from_bits(1), -f32::from_bits(77), f32::MIN_POSITIVE];
    let exponent = scaled::exponent(&tiny);
    assert_eq!(exponent, 125);
    for x in tiny {
        assert_eq!(scaled::unpack(scaled::pack(x, exponent), exponent).to_bits(), x.to_bits());
    }
}
