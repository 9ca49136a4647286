//! Index in the file's metadata: all contents except tensors, and the names of the tensors.

use crate::{Checkpoint, FormatError, SavedOptimizer, SavedScaler};
use binade_core::{DType, FoundInf, Named, NamedGrads, RawTensor, TensorSpec};
use binade_grad_scaler::{BadMicroBatch, PartReport, SavedWindow};
use binade_master_weights::{OptimizerConfig, SavedParameter, StateKind};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, ops::Range};

/// Contents of a checkpoint except for the tensors, which the file has under the names made here.
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
    /// Rows of each sparse gradient.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<(String, Vec<u64>)>,
}

/// Elements of a parameter that a rank owns or needs, by the parameter's name and number of elements.
pub(crate) type Own<'o> = dyn Fn(&str, usize) -> Range<usize> + 'o;

/// Rule that assigns parts of a tensor to the ranks' files.
#[derive(Clone, Copy)]
pub(crate) enum Share<'i> {
    /// Whole tensor in the file of the first rank, nothing in the others.
    First,
    /// Elements of this parameter that the rank owns, and the number of the tensor's elements for each of the parameter's.
    Each(&'i str, usize),
}

impl Share<'_> {
    /// Returns the range of a rank's share in a tensor of this many elements. `own` returns the elements of a parameter that the rank owns, from the
    /// parameter's name and number of elements.
    pub(crate) fn of(self, elements: usize, own: &Own<'_>) -> Range<usize> {
        match self {
            Self::First => 0..elements,
            Self::Each(parameter, width) => {
                let own = own(parameter, elements / width);
                own.start * width..own.end * width
            }
        }
    }
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

    /// Returns the ranks' share of each tensor, by the tensor's name in the file.
    pub(crate) fn shares(&self) -> Result<BTreeMap<String, Share<'_>>, FormatError> {
        let mut shares = BTreeMap::new();
        for (optimizer, saved) in &self.optimizers {
            for Parameter { name, kept, .. } in &saved.parameters {
                shares.insert(parameter(optimizer, VALUE, name), Share::Each(name, 1));
                for kind in kept {
                    let width = kind.parse::<StateKind>().map_err(FormatError::index)?.width();
                    let share = width.map_or(Share::First, |width| Share::Each(name, width));
                    shares.insert(parameter(optimizer, kind, name), share);
                }
            }
        }
        for (window, saved) in &self.windows {
            for (name, _) in saved.sum.iter().flat_map(|sum| &sum.grads) {
                shares.insert(gradient(window, name), Share::Each(name, 1));
            }
        }
        let others = self.blobs.iter().map(|name| blob(name));
        let others = others.chain(self.tensors.iter().map(|name| tensor(name)));
        shares.extend(others.map(|name| (name, Share::First)));
        Ok(shares)
    }

    /// Returns the checkpoint with `tensors`, after checking that it uses all of them.
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
            rows: saved.rows.iter().map(|it| (it.name.to_string(), it.value.clone())).collect(),
        };
        Self { bad: saved.bad, len: saved.len, sum: saved.grads.as_ref().map(sum) }
    }

    fn with(self, window: &str, from: &mut Tensors) -> Result<SavedWindow, FormatError> {
        let Self { bad, len, sum } = self;
        let Some(Sum { verdict, parts, grads, rows }) = sum else {
            let (verdict, parts) = (FoundInf::default(), Vec::new());
            return Ok(SavedWindow { bad, len, verdict, parts, grads: None, rows: Vec::new() });
        };
        let grad = |(name, is_there): (String, bool)| {
            let value = is_there.then(|| take(from, &gradient(window, &name))).transpose()?;
            Ok(Named::new(name, value))
        };
        let grads = Some(grads.into_iter().map(grad).collect::<Result<_, FormatError>>()?);
        let rows = rows.into_iter().map(|(name, rows)| Named::new(name, rows)).collect();
        Ok(SavedWindow { bad, len, verdict, parts, grads, rows })
    }
}

/// Tensor of a checkpoint that is to be written.
pub(crate) struct Stored<'c> {
    /// Name in the file.
    pub(crate) name: String,
    /// Type and shape of the whole tensor.
    pub(crate) spec: TensorSpec,
    /// Range of the elements in `bytes`; `None` for a whole tensor.
    pub(crate) slice: Option<Range<usize>>,
    pub(crate) bytes: &'c [u8],
}

/// Returns every tensor of a checkpoint. Blobs become tensors of bytes.
pub(crate) fn tensors(checkpoint: &Checkpoint) -> Vec<Stored<'_>> {
    let mut all = Vec::new();
    for (optimizer, saved) in &checkpoint.optimizers {
        for one in &saved.parameters {
            all.push(stored(parameter(optimizer, VALUE, &one.name), &one.value));
            let kept = one.kept.iter();
            all.extend(kept.map(|(kind, raw)| {
                stored(parameter(optimizer, &kind.to_string(), &one.name), raw)
            }));
        }
    }
    for (window, saved) in &checkpoint.windows {
        for grad in saved.grads.iter().flatten() {
            all.extend(grad.value.iter().map(|raw| stored(gradient(window, &grad.name), raw)));
        }
    }
    let blobs = checkpoint.blobs.iter();
    all.extend(blobs.map(|(name, bytes)| {
        let spec = TensorSpec::new(DType::U8, [bytes.len()]);
        Stored { name: blob(name), spec, slice: None, bytes }
    }));
    all.extend(checkpoint.tensors.iter().map(|(name, raw)| stored(tensor(name), raw)));
    all
}

fn stored(name: String, raw: &RawTensor) -> Stored<'_> {
    let slice = raw.is_slice().then(|| raw.elements());
    Stored { name, spec: raw.spec().clone(), slice, bytes: raw.bytes() }
}

fn take(from: &mut Tensors, name: &str) -> Result<RawTensor, FormatError> {
    from.remove(name).ok_or_else(|| FormatError::Index(format!("there is no tensor `{name}`")))
}
