//! The format of a `GradScaler` run.

use super::bits::Num;
use binade_interchange::protocol::StateDict;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(super) struct Trace {
    pub(super) config: Dict,
    pub(super) optimizers: Vec<Spec>,
    pub(super) events: Vec<Event>,
}

/// Configuration of a scaler, or its state.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Dict {
    #[serde(alias = "init_scale")]
    scale: Num,
    growth_factor: Num,
    backoff_factor: Num,
    growth_interval: i64,
    #[serde(default, rename = "_growth_tracker")]
    growth_tracker: i64,
}

impl Dict {
    pub(super) fn read(&self) -> StateDict {
        StateDict {
            scale: self.scale.0,
            growth_factor: self.growth_factor.0,
            backoff_factor: self.backoff_factor.0,
            growth_interval: self.growth_interval,
            growth_tracker: self.growth_tracker,
        }
    }
}

/// An optimizer as it was constructed.
#[derive(Debug, Deserialize)]
pub(super) struct Spec {
    pub(super) kind: String,
    pub(super) hyper: Hyper,
    pub(super) params: Vec<Vec<u32>>,
}

/// Hyper-parameters under torch's names; each kind of optimizer has some of them.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Hyper {
    pub(super) lr: Num,
    pub(super) weight_decay: Num,
    pub(super) momentum: Option<Num>,
    pub(super) dampening: Option<Num>,
    #[serde(default)]
    pub(super) nesterov: bool,
    pub(super) betas: Option<[Num; 2]>,
    pub(super) eps: Option<Num>,
    pub(super) lr_decay: Option<Num>,
    pub(super) initial_accumulator_value: Option<Num>,
    #[serde(default)]
    pub(super) amsgrad: bool,
    #[serde(default)]
    pub(super) maximize: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(flatten)]
    pub(super) call: Call,
    pub(super) err: Option<Raised>,
    pub(super) after: Option<After>,
}

/// Exception that Python raised.
#[derive(Debug, Deserialize)]
pub(super) struct Raised {
    #[serde(rename = "type")]
    pub(super) class: String,
    pub(super) msg: String,
}

/// The scaler after an event.
#[derive(Debug, Deserialize)]
pub(super) struct After {
    pub(super) scale: Option<u32>,
    pub(super) get_scale: Num,
    pub(super) tracker: i64,
}

pub(super) type Grads = Vec<Option<Vec<u32>>>;
/// State of one parameter under torch's names.
pub(super) type State = BTreeMap<String, Vec<u32>>;

/// A call with what was given; what came out is absent where it raised.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Call {
    Scale {
        dtype: String,
        r#in: Vec<u64>,
        out_dtype: Option<String>,
        out: Option<Vec<u64>>,
    },
    SetGrads {
        grads: Vec<Grads>,
    },
    Unscale {
        opt: usize,
        #[serde(flatten)]
        looked: Option<Looked>,
    },
    Step {
        opt: usize,
        #[serde(flatten)]
        looked: Option<Looked>,
        #[serde(flatten)]
        took: Option<Took>,
    },
    Update {
        new_scale: Option<New>,
    },
    StateDict {
        slot: usize,
        dict: Option<Dict>,
    },
    Load {
        slot: usize,
        fresh: Option<Dict>,
    },
    /// Getters: what they gave is in `after`.
    Get,
}

/// Record of looking at gradients.
#[derive(Debug, Deserialize)]
pub(super) struct Looked {
    pub(super) found_inf: Vec<u32>,
    pub(super) grads: Grads,
}

/// Record of a step.
#[derive(Debug, Deserialize)]
pub(super) struct Took {
    pub(super) stepped: bool,
    pub(super) params: Vec<Vec<u32>>,
    pub(super) state: Vec<State>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum New {
    Float { value: Num },
    Tensor { bits: u32 },
    Int { value: i64 },
}
