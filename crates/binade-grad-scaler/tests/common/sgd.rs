//! Descent with momentum on the host: parameters, moments and a step count that a skip must leave alone.

use super::{Failure, Grads, Host, f32s};
use binade_core::{AmpTensor as _, FoundInf, Named, Optimizer};

/// Every bit an optimizer owns.
pub type Bits = (Vec<Vec<u32>>, Vec<Vec<u32>>, u32);

pub struct Sgd {
    pub params: Vec<Named<Host>>,
    moments: Vec<Vec<f32>>,
    pub steps: u32,
}

impl Sgd {
    pub fn new(params: &[(&str, &[f32])]) -> Self {
        let moments = params.iter().map(|(_, x)| vec![0.0; x.len()]).collect();
        Self {
            params: params.iter().map(|(n, x)| Named::new(*n, f32s(x))).collect(),
            moments,
            steps: 0,
        }
    }

    pub fn bits(&self) -> Bits {
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect();
        let params = self.params.iter().map(|p| bits(&p.value.to_f32())).collect();
        (params, self.moments.iter().map(|m| bits(m)).collect(), self.steps)
    }

    /// The values of the first parameter.
    pub fn first(&self) -> Vec<f32> {
        self.params[0].value.to_f32()
    }

    fn descend(&mut self, grads: &Grads) {
        self.steps += 1;
        let own = self.params.iter_mut().zip(&mut self.moments);
        for ((param, moment), grad) in own.zip(grads) {
            let Some(grad) = grad.value.as_ref().map(Host::to_f32) else { continue };
            param.value.map_f32(&mut |i, w| {
                moment[i] = 0.5 * moment[i] + grad[i];
                w - 0.1 * moment[i]
            });
        }
    }
}

impl Optimizer<Grads, FoundInf> for Sgd {
    type Error = Failure;

    fn step(&mut self, grads: Grads, found: &FoundInf) -> Result<(), Failure> {
        if !found.is_raised() {
            self.descend(&grads);
        }
        Ok(())
    }
}
