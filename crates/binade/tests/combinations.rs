//! Overrides in every combination: a legal one can be set up, is stored as it says, and loses only what was asked for.

use binade::OptLevel::{self, O1, O3};
use binade::Properties;
use binade::core::DType::{BF16, F16, F32};
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};

const MAYBE: [Option<bool>; 3] = [None, Some(false), Some(true)];

/// Properties from every way to change `base`, nothing included.
fn changed<T: Copy>(
    bases: Vec<Properties>,
    values: &[T],
    change: impl Fn(Properties, T) -> Properties,
) -> Vec<Properties> {
    let each = |base: Properties| values.iter().map(|&value| change(base.clone(), value)).collect();
    bases.into_iter().flat_map(|base| -> Vec<_> { each(base) }).collect()
}

/// Four levels in two low types with every override, or none, of each part.
fn all() -> Vec<Properties> {
    let levels = OptLevel::ALL.into_iter();
    let all = levels.flat_map(|level| [BF16, F16].map(|dtype| level.with(dtype))).collect();
    let storage = [None, Some(BF16), Some(F16), Some(F32)];
    let all = changed(all, &storage, |p, v| Properties { storage: v.or(p.storage), ..p });
    let all = changed(all, &MAYBE, |p, v| Properties { autocast: v.unwrap_or(p.autocast), ..p });
    let keep =
        |p: Properties, v: Option<bool>| Properties { keep_norm_f32: v.or(p.keep_norm_f32), ..p };
    let all = changed(all, &MAYBE, keep);
    let masters =
        |p: Properties, v: Option<bool>| Properties { master_weights: v.or(p.master_weights), ..p };
    let all = changed(all, &MAYBE, masters);
    let scales = [None, Some(LossScale::none()), Some(LossScale::fixed(128.0).unwrap())];
    changed(all, &scales, |p, v| Properties { loss_scale: v.unwrap_or(p.loss_scale), ..p })
}

fn set_up(properties: Properties) -> Amp<Cpu> {
    let params = ["weight", "norm"].map(|name| Named::new(name, Tensor::scalar(1.0_f32)));
    let model = Model::new(params.into()).with_norm(["norm"]);
    initialize(Cpu, model, UpdateRule::sgd(0.1), properties).unwrap()
}

fn legal() -> Vec<Properties> {
    all().into_iter().filter(|properties| properties.check().is_ok()).collect()
}

#[test]
fn some_of_each_level_are_legal_and_some_are_not() {
    for level in OptLevel::ALL {
        let of = |all: Vec<Properties>| all.iter().filter(|p| p.level == level).count();
        assert!(of(legal()) > 0 && of(legal()) < of(all()), "{level}");
    }
}

#[test]
fn what_is_legal_is_set_up_as_it_says() {
    for properties in legal() {
        let amp = set_up(properties.clone());
        let [weight, norm] = [0, 1].map(|place: usize| amp.optimizer.params[place].value.dtype());
        let storage = properties.storage.unwrap_or(F32);
        assert_eq!(weight, storage, "{properties}");
        let kept = properties.keep_norm_f32 == Some(true);
        assert_eq!(norm, if kept { F32 } else { storage }, "{properties}");
        let master = amp.optimizer.masters().get("weight").unwrap().master.copy().is_some();
        let wanted = storage != F32 && properties.master_weights == Some(true);
        assert_eq!(master, wanted, "{properties}");
        let casts = properties.autocast || storage != F32;
        assert_eq!(amp.region.enabled, casts, "{properties}");
        assert_eq!(amp.scaler.rule(), &properties.loss_scale, "{properties}");
    }
}

#[test]
fn only_o1_casts_operations_and_it_stores_nothing_in_sixteen_bits() {
    for properties in legal() {
        assert!(!properties.autocast || properties.level == O1, "{properties}");
        let stored = properties.storage.unwrap_or(F32);
        assert!(properties.level != O1 || stored == F32, "{properties}");
    }
}

#[test]
fn what_is_lost_without_a_word_was_asked_for_by_name() {
    for properties in legal().into_iter().filter(|properties| properties.level != O3) {
        let text = properties.to_string();
        assert!(!text.contains("are lost") && !text.contains("become zero"), "{text}");
        let f16 =
            properties.storage == Some(F16) || (properties.autocast && properties.dtype == F16);
        let scale = set_up(properties).scaler.state().unwrap().factor();
        assert!(!f16 || scale > 1.0, "{text}");
    }
}
