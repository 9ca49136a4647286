//! Devices that the tests train on: a foreign host tensor, the CPU, and the CPU in a wrapper.

#[path = "../../../../tests/host/mod.rs"]
mod host;

pub(crate) use host::Host;

use binade_conformance::counting::Counting;
use binade_core::{DType, HostDevice, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradOps, Loss};
use binade_master_weights::Snapshot;

/// Device that has what a run needs.
pub trait Trains: Clone + GradOps<Tensor: Loss<Self>> + Snapshot {
    /// Returns `values` under `shape`, stored as `dtype`.
    fn tensor(&self, values: &[f32], shape: &[usize], dtype: DType) -> Self::Tensor;
    /// Returns a set of parameters.
    fn set(&self, params: Vec<Named<Self::Tensor>>) -> Self::Params;
    /// Returns a set of gradients.
    fn grads(&self, grads: NamedGrads<Self::Tensor>) -> Self::Grads;

    fn loss(&self) -> Self::Tensor {
        self.tensor(&[1.0], &[1], DType::F32)
    }

    /// Returns a weight with values that sixteen bits cannot represent, and a gain.
    fn parameters(&self) -> Self::Params {
        let weight = [0.1, -0.2, 0.3, 1.7, -2.9, 0.001];
        self.set(vec![
            Named::new("weight", self.tensor(&weight, &[2, 3], DType::F32)),
            Named::new("norm", self.tensor(&[1.1, 0.9], &[2], DType::F32)),
        ])
    }

    /// Returns scaled gradients of these values.
    fn gradients(&self, values: &[Option<Vec<f32>>; 2], stored: DType) -> Self::Grads {
        let [weight, norm] = values;
        let weight = weight.as_ref().map(|values| self.tensor(values, &[2, 3], stored));
        let norm = norm.as_ref().map(|values| self.tensor(values, &[2], DType::F32));
        self.grads(vec![Named::new("weight", weight), Named::new("norm", norm)])
    }
}

impl Trains for Cpu {
    fn tensor(&self, values: &[f32], shape: &[usize], dtype: DType) -> Tensor {
        Tensor::from_f32(values.to_vec(), shape, dtype).unwrap()
    }

    fn set(&self, params: Vec<Named<Tensor>>) -> Vec<Named<Tensor>> {
        params
    }

    fn grads(&self, grads: NamedGrads<Tensor>) -> binade_cpu::Gradients {
        grads.into()
    }
}

impl Trains for Counting<Cpu> {
    fn tensor(&self, values: &[f32], shape: &[usize], dtype: DType) -> Tensor {
        Cpu.tensor(values, shape, dtype)
    }

    fn set(&self, params: Vec<Named<Tensor>>) -> Vec<Named<Tensor>> {
        params
    }

    fn grads(&self, grads: NamedGrads<Tensor>) -> binade_cpu::Gradients {
        grads.into()
    }
}

impl Trains for HostDevice<Host> {
    fn tensor(&self, values: &[f32], _shape: &[usize], dtype: DType) -> Host {
        Host::new(dtype, values)
    }

    fn set(&self, params: Vec<Named<Host>>) -> Vec<Named<Host>> {
        params
    }

    fn grads(&self, grads: NamedGrads<Host>) -> NamedGrads<Host> {
        grads
    }
}
