//! Parameters of a module before views are attached to them.

use crate::{dtype, path::Path};
use binade_cast_policy::OpCall;
use binade_core::{DType, Op, OpClass};
use burn::module::{ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};

/// Parameter as its module stores it.
pub(super) struct Surveyed {
    pub(super) path: String,
    pub(super) layer: String,
    pub(super) op: Op,
    /// Type of its elements; `None` if it is quantised.
    pub(super) dtype: Option<DType>,
    pub(super) device: Device,
    pub(super) is_reparameterized: bool,
}

impl Surveyed {
    /// Returns the call that a policy is asked about. It states no number of elements: with it, parameters of one layer could get different types,
    /// which burn refuses.
    pub(super) fn call<'a>(&'a self, operands: &'a [DType]) -> OpCall<'a> {
        OpCall { path: &self.layer, ..OpCall::new(self.op, operands) }
    }

    /// Returns the call of `keep` that keeps its layer; for a parameter of the root module, the call that keeps all parameters.
    pub(super) fn keep_layer(&self) -> String {
        match &*self.layer {
            "" => ".keep(\"*\")".to_owned(),
            layer => format!(".keep(\"{layer}.*\")"),
        }
    }
}

/// Visitor of every floating-point parameter.
#[derive(Default)]
pub(super) struct Survey {
    path: Path,
    containers: Vec<String>,
    pub(super) parameters: Vec<Surveyed>,
}

/// burn's name of the container that is attached to the parameter visited last.
const ATTACHED: &str = "Reparameterization";

impl ModuleVisitor for Survey {
    fn enter_module(&mut self, name: &str, container: &str) {
        if container == ATTACHED
            && let Some(last) = self.parameters.last_mut()
        {
            last.is_reparameterized = true;
        }
        self.path.enter(name);
        self.containers.push(container.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
        self.containers.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.containers.iter().any(|container| container == ATTACHED) {
            return;
        }
        self.parameters.push(Surveyed {
            path: self.path.full(),
            layer: self.path.layer(),
            op: operation(self.containers.last().map_or("", String::as_str)),
            dtype: dtype::known(param.base().dtype()),
            device: param.lazy_device(),
            is_reparameterized: false,
        });
    }
}

/// Returns the operation of burn's layer by the name of its type in burn 0.22.
fn operation(container: &str) -> Op {
    match container.trim_start_matches("Struct:") {
        "Linear" => Op::LINEAR,
        "Conv1d" | "Conv2d" | "Conv3d" | "ConvTranspose1d" | "ConvTranspose2d"
        | "ConvTranspose3d" | "DeformConv2d" => Op::CONV2D,
        "RmsNorm" => Op::RMS_NORM,
        "LayerNorm" | "GroupNorm" | "InstanceNorm" => Op::LAYER_NORM,
        "BatchNorm" => Op::BATCH_NORM,
        "Embedding" => Op::EMBEDDING,
        _ => Op::custom("parameter", OpClass::Other),
    }
}
