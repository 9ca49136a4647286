//! Moments of a torch optimizer, from its state dictionary as safetensors.

use crate::{Mismatch, RestoreError, dtype};
use binade_core::{DType, RawTensor, TensorSpec};
use binade_master_weights::{
    MasterOptimizer, SavedParameter, Snapshot, StateKind, StepConstants, UpdateRule,
};
use safetensors::SafeTensors;
use std::collections::{BTreeMap, BTreeSet};

/// State of a torch optimizer, by the number of the parameter and the key.
type TorchState = BTreeMap<usize, BTreeMap<String, RawTensor>>;

/// Replaces an optimizer's moments and step counts by those of a torch optimizer, from its state dictionary as safetensors. Parameters stay
/// unchanged: load those of the same torch checkpoint first, and use the rule of their training.
///
/// torch saves the state in a pickle, which can run code when it is read. Convert it on the machine that wrote it:
///
/// ```text
/// state = optimizer.state_dict()["state"]
/// tensors = {f"state.{i}.{key}": torch.as_tensor(value).contiguous()
///            for i, kept in state.items() for key, value in kept.items() if value is not None}
/// safetensors.torch.save_file(tensors, "optimizer.safetensors")
/// ```
///
/// `names` are the names of this optimizer's parameters, in the order of torch's parameters. A parameter without torch state, because it never had a
/// gradient, starts anew. SGD counts no steps in torch; momentum shows that the first step was taken. A rule whose steps depend on the step count
/// needs the `step` of each parameter. Apex keeps the count by parameter group: write it beside the moments.
///
/// # Errors
///
/// Returns an error if the bytes are not such a file; if names, keys, types or shapes do not match; if a count is missing; if the rule keeps a
/// running norm; or if the device fails.
pub fn load_torch_optimizer<D: Snapshot>(
    bytes: &[u8],
    names: &[&str],
    optimizer: &mut MasterOptimizer<D>,
) -> Result<(), RestoreError<D::Error>> {
    let state = read(bytes)?;
    if let Some((&number, _)) = state.last_key_value().filter(|(at, _)| **at >= names.len()) {
        Err(Mismatch::Torch(format!(
            "it has the state of parameter {number}, and {} are named: give the names of all parameters of torch's \
             optimizer, in its order",
            names.len()
        )))?;
    }
    let mut saved = optimizer.save().map_err(RestoreError::Device)?;
    let mut seen = BTreeSet::new();
    for (number, name) in names.iter().enumerate() {
        if !seen.insert(*name) {
            Err(Mismatch::Torch(format!("`{name}` is named twice")))?;
        }
        let parameter = saved.iter_mut().find(|parameter| &*parameter.name == *name);
        let parameter = parameter.ok_or_else(|| {
            Mismatch::Torch(format!("`{name}` is named, and the optimizer has no such parameter"))
        })?;
        let nothing = BTreeMap::new();
        let kept = state.get(&number).unwrap_or(&nothing);
        take(parameter, optimizer.config().rule_for(name), kept)?;
    }
    let loaded = optimizer.load(&saved);
    loaded.map_err(|error| RestoreError::load("torch's state".into(), error))
}

/// Reads the converted file.
fn read(bytes: &[u8]) -> Result<TorchState, Mismatch> {
    let file = SafeTensors::deserialize(bytes);
    let format = |why: String| {
        Mismatch::Torch(format!("it is no torch optimizer's state in safetensors: {why}"))
    };
    let file = file.map_err(|error| format(error.to_string()))?;
    let mut all = TorchState::new();
    for (name, view) in file.iter() {
        let (number, key) = split(name).ok_or_else(|| {
            let expected = "otherwise than `state.NUMBER.KEY`, as `state.0.exp_avg` is";
            format(format!("`{name}` is called {expected}"))
        })?;
        let raw = dtype::raw(&view)
            .ok_or_else(|| format(format!("`{name}` is of type {:?}", view.dtype())))?;
        all.entry(number).or_default().insert(key.to_owned(), raw);
    }
    Ok(all)
}

/// Splits `state.NUMBER.KEY`.
fn split(name: &str) -> Option<(usize, &str)> {
    let (number, key) = name.strip_prefix("state.")?.split_once('.')?;
    Some((number.parse().ok()?, key))
}

fn take(
    parameter: &mut SavedParameter,
    rule: &UpdateRule,
    kept: &BTreeMap<String, RawTensor>,
) -> Result<(), Mismatch> {
    if rule.keeps_norm() {
        return Err(Mismatch::Torch(format!(
            "`{}` is moved by `{}`, which keeps a running norm, and torch's state has none by parameter: train it from the start",
            parameter.name,
            rule.name()
        )));
    }
    let keys = rule.moment_names();
    let found: BTreeSet<&str> =
        kept.keys().map(String::as_str).filter(|key| *key != "step").collect();
    if !found.is_empty() && found != keys.iter().copied().collect() {
        let list = |keys: Vec<&str>| if keys.is_empty() { "none".into() } else { keys.join(", ") };
        let (found, expected) = (list(found.into_iter().collect()), list(keys.to_vec()));
        return Err(Mismatch::Torch(format!(
            "the state of `{}` has {found}, and its rule keeps {expected}: take the rule it was trained by",
            parameter.name
        )));
    }
    for (kind, raw) in &mut parameter.kept {
        let (StateKind::Moment(place) | StateKind::Bf16Moment(place)) = kind else { continue };
        let key = keys.get(usize::from(*place)).copied().unwrap_or_default();
        let moment = kept.get(key).map(|moment| like(moment, raw.spec()));
        let initial = rule.initial().get(usize::from(*place)).copied().unwrap_or_default();
        let fresh = || filled(raw.spec(), initial);
        *raw = moment.or_else(fresh).unwrap_or_else(|| raw.clone());
    }
    parameter.applied = match kept.get("step") {
        Some(step) => count(&parameter.name, step)?,
        None if !kept.is_empty() && is_counted(rule) => {
            return Err(Mismatch::Torch(format!(
                "the state of `{}` has no `step`, and the steps of `{}` depend on their number: write it beside the moments, from the \
                 group if it is kept there",
                parameter.name,
                rule.name()
            )));
        }
        None => u64::from(!kept.is_empty()),
    };
    Ok(())
}

/// Returns true if a step depends on the number of earlier steps, beyond whether there was one.
fn is_counted(rule: &UpdateRule) -> bool {
    let at = |applied| StepConstants::at(rule, applied);
    rule.correction().is_some() || [2, 1 << 20].into_iter().any(|applied| at(applied) != at(1))
}

fn filled(spec: &TensorSpec, value: f32) -> Option<RawTensor> {
    RawTensor::from_f32(spec.clone(), &vec![value; spec.elements()?])
}

/// Returns the moment in the type of `spec`, with one axis if the parameter has no known shape. A moment that does not fit is returned unchanged, for
/// the error.
fn like(moment: &RawTensor, spec: &TensorSpec) -> RawTensor {
    let Some(values) = moment.to_f32() else { return moment.clone() };
    let flat = spec.shape.len() == 1 && spec.elements() == Some(values.len());
    let shape = if flat { spec.shape.clone() } else { moment.spec().shape.clone() };
    RawTensor::from_f32(TensorSpec::new(spec.dtype, shape), &values)
        .unwrap_or_else(|| moment.clone())
}

/// Returns a count of steps. torch keeps counts in f32; older versions, and numbers that were converted, in i64.
fn count(parameter: &str, step: &RawTensor) -> Result<u64, Mismatch> {
    let wide = step.bytes().as_chunks().0.first().map(|bytes| i64::from_le_bytes(*bytes));
    let value = match step.spec().dtype {
        DType::I64 => wide.and_then(|count| count.to_string().parse().ok()),
        _ => step.to_f32().and_then(|values| values.first().copied()).map(f64::from),
    };
    let whole = value.filter(|x| x.fract() == 0.0 && (0.0..=MOST_STEPS).contains(x));
    let whole = whole.ok_or_else(|| {
        let found = value.map_or_else(|| step.spec().to_string(), |value| value.to_string());
        Mismatch::Torch(format!(
            "the `step` of `{parameter}` is {found}, which is no count of steps"
        ))
    })?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and in reach"
    )]
    let count = whole as u64;
    Ok(count)
}

/// Largest accepted count of steps: an f64 counts no further, and an f32 stops much earlier.
const MOST_STEPS: f64 = 9_007_199_254_740_992.0;
