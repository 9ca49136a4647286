//! Index in the file's metadata: all contents but tensors, and the names of the tensors.

use crate::{Checkpoint, FormatError, SavedOptimizer, SavedScaler};
use binade_core::{DType, FoundInf, Named, NamedGrads, RawTensor, TensorSpec};
use binade_grad_scaler::{BadMicroBatch, PartReport, SavedWindow};
use binade_master_weights::{OptimizerConfig, SavedParameter, StateKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Contents of a checkpoint but for the tensors, which stand under the names made here.
#[derive(Deserialize, Serialize)]
pub(crate) struct Index {
    scalers: BTreeMap<String, SavedScaler>,
    optimizers: BTreeMap<String, Optimizer>,
    windows: BTreeMap<String, Window>,
    words: BTreeMap<String, String>,
    blobs: Vec<String>,
    tensors: Vec<String>,
}

#[derive(Deserialize, Serialize)]
struct Optimizer {
    #[serde(rename = "plan")]
    config: OptimizerConfig,
    parameters: Vec<Parameter>,
}

#[derive(Deserialize, Serialize)]
struct Parameter {
    name: String,
    applied: u64,
    kept: Vec<String>,
}

#[derive(Deserialize, Serialize)]
struct Window {
    bad: BadMicroBatch,
    len: usize,
    sum: Option<Sum>,
}

#[derive(Deserialize, Serialize)]
struct Sum {
    verdict: FoundInf,
    parts: Vec<PartReport>,
    /// Name of each gradient, and true if there is one.
    grads: Vec<(String, bool)>,
}

/// Tensors by their names in the file.
pub(crate) type Tensors = BTreeMap<String, RawTensor>;

const VALUE: &str = "parameter";

fn parameter(optimizer: &str, kind: &str, name: &str) -> String {
    format!("optimizer/{optimizer}/{kind}/{name}")
}

fn gradient(window: &str, name: &str) -> String {
    format!("window/{window}/{name}")
}

fn tensor(name: &str) -> String {
    format!("tensor/{name}")
}

fn blob(name: &str) -> String {
    format!("bytes/{name}")
}

impl Index {
    pub(crate) fn of(checkpoint: &Checkpoint) -> Self {
        let optimizers = checkpoint.optimizers.iter();
        let windows = checkpoint.windows.iter();
        Self {
            scalers: checkpoint.scalers.clone(),
            optimizers: optimizers
                .map(|(name, saved)| (name.clone(), Optimizer::of(saved)))
                .collect(),
            windows: windows.map(|(name, saved)| (name.clone(), Window::of(saved))).collect(),
            words: checkpoint.words.clone(),
            blobs: checkpoint.blobs.keys().cloned().collect(),
            tensors: checkpoint.tensors.keys().cloned().collect(),
        }
    }

    /// Returns the checkpoint with `tensors`, all of which it takes.
    pub(crate) fn with(self, mut tensors: Tensors) -> Result<Checkpoint, FormatError> {
        let from = &mut tensors;
        let mut checkpoint =
            Checkpoint { scalers: self.scalers, words: self.words, ..Checkpoint::default() };
        for (name, optimizer) in self.optimizers {
            let optimizer = optimizer.with(&name, from)?;
            checkpoint.optimizers.insert(name, optimizer);
        }
        for (name, window) in self.windows {
            let window = window.with(&name, from)?;
            checkpoint.windows.insert(name, window);
        }
        for name in self.blobs {
            let bytes = take(from, &blob(&name))?.bytes().to_vec();
            checkpoint.blobs.insert(name, bytes);
        }
        for name in self.tensors {
            let raw = take(from, &tensor(&name))?;
            checkpoint.tensors.insert(name, raw);
        }
        match tensors.into_keys().next() {
            None => Ok(checkpoint),
            Some(name) => Err(FormatError::Index(format!("it does not name the tensor `{name}`"))),
        }
    }
}

impl Optimizer {
    fn of(saved: &SavedOptimizer) -> Self {
        let parameter = |saved: &SavedParameter| Parameter {
            name: saved.name.to_string(),
            applied: saved.applied,
            kept: saved.kept.iter().map(|(kind, _)| kind.to_string()).collect(),
        };
        let parameters = saved.parameters.iter().map(parameter).collect();
        Self { config: saved.config.clone(), parameters }
    }

    fn with(self, optimizer: &str, from: &mut Tensors) -> Result<SavedOptimizer, FormatError> {
        let mut parameters = Vec::new();
        for Parameter { name, applied, kept } in self.parameters {
            let value = take(from, &parameter(optimizer, VALUE, &name))?;
            let mut tensors = Vec::new();
            for kind in kept {
                let raw = take(from, &parameter(optimizer, &kind, &name))?;
                let kind: StateKind = kind.parse().map_err(FormatError::index)?;
                tensors.push((kind, raw));
            }
            parameters.push(SavedParameter { name: name.into(), value, applied, kept: tensors });
        }
        Ok(SavedOptimizer { config: self.config, parameters })
    }
}

impl Window {
    fn of(saved: &SavedWindow) -> Self {
        let grad = |grad: &Named<Option<RawTensor>>| (grad.name.to_string(), grad.value.is_some());
        let sum = |grads: &NamedGrads<RawTensor>| Sum {
            verdict: saved.verdict.clone(),
            parts: saved.parts.clone(),
            grads: grads.iter().map(grad).collect(),
        };
        Self { bad: saved.bad, len: saved.len, sum: saved.grads.as_ref().map(sum) }
    }

    fn with(self, window: &str, from: &mut Tensors) -> Result<SavedWindow, FormatError> {
        let Self { bad, len, sum } = self;
        let Some(Sum { verdict, parts, grads }) = sum else {
            let (verdict, parts) = (FoundInf::default(), Vec::new());
            return Ok(SavedWindow { bad, len, verdict, parts, grads: None });
        };
        let grad = |(name, is_there): (String, bool)| {
            let value = is_there.then(|| take(from, &gradient(window, &name))).transpose()?;
            Ok(Named::new(name, value))
        };
        let grads = Some(grads.into_iter().map(grad).collect::<Result<_, FormatError>>()?);
        Ok(SavedWindow { bad, len, verdict, parts, grads })
    }
}

/// Returns every tensor of a checkpoint, under its name in the file. Blobs become tensors of bytes.
pub(crate) fn tensors(checkpoint: &Checkpoint) -> Vec<(String, TensorSpec, &[u8])> {
    let mut all = Vec::new();
    for (optimizer, saved) in &checkpoint.optimizers {
        for one in &saved.parameters {
            all.push(named(parameter(optimizer, VALUE, &one.name), &one.value));
            let kept = one.kept.iter();
            all.extend(
                kept.map(|(kind, raw)| {
                    named(parameter(optimizer, &kind.to_string(), &one.name), raw)
                }),
            );
        }
    }
    for (window, saved) in &checkpoint.windows {
        for grad in saved.grads.iter().flatten() {
            all.extend(grad.value.iter().map(|raw| named(gradient(window, &grad.name), raw)));
        }
    }
    let blobs = checkpoint.blobs.iter();
    all.extend(blobs.map(|(name, bytes)| {
        (blob(name), TensorSpec::new(DType::U8, [bytes.len()]), bytes.as_slice())
    }));
    all.extend(checkpoint.tensors.iter().map(|(name, raw)| named(tensor(name), raw)));
    all
}

fn named(name: String, raw: &RawTensor) -> (String, TensorSpec, &[u8]) {
    (name, raw.spec().clone(), raw.bytes())
}

fn take(from: &mut Tensors, name: &str) -> Result<RawTensor, FormatError> {
    from.remove(name).ok_or_else(|| FormatError::Index(format!("there is no tensor `{name}`")))
}
