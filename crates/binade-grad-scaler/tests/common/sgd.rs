//! Descent with momentum on the host: parameters, moments and a step count that a skip must leave alone.

use super::host::Host;
use super::{Failure, Grads};
use binade_core::{FoundInf, HostDeviceError, Named, Optimizer};

/// Every bit an optimizer owns.
pub type Bits = (Vec<Vec<u32>>, Vec<Vec<u32>>, u32);

pub struct Sgd {
    pub params: Vec<Named<Host>>,
    pub moments: Vec<Host>,
    pub steps: u32,
}

impl Sgd {
    pub fn new(params: &[(&str, &[f32])]) -> Self {
        let params: Vec<_> = params.iter().map(|(n, x)| Named::new(*n, Host::f32(x))).collect();
        let zeros = |p: &Named<Host>| Host::f32(&vec![0.0; p.value.data.len()]);
        Self { moments: params.iter().map(zeros).collect(), params, steps: 0 }
    }

    pub fn bits(&self) -> Bits {
        let params = self.params.iter().map(|p| p.value.bits()).collect();
        (params, self.moments.iter().map(Host::bits).collect(), self.steps)
    }

    fn descend(&mut self, grads: &Grads) {
        self.steps += 1;
        let own = self.params.iter_mut().zip(&mut self.moments);
        for ((param, moment), grad) in own.zip(grads) {
            let Some(grad) = &grad.value else { continue };
            let elements = param.value.data.iter_mut().zip(&mut moment.data);
            for ((w, m), g) in elements.zip(&grad.data) {
                *m = 0.5 * *m + g;
                *w -= 0.1 * *m;
            }
        }
    }
}

impl Optimizer<Grads, FoundInf> for Sgd {
    type Error = Failure;

    fn step(&mut self, grads: Grads, found: &FoundInf) -> Result<(), Failure> {
        let stranger = |(p, g): &(&Named<Host>, &Named<Option<Host>>)| p.name != g.name;
        if let Some((_, g)) = self.params.iter().zip(&grads).find(stranger) {
            return Err(HostDeviceError::Mismatch {
                parameter: g.name.clone(),
                why: "no such parameter",
            });
        }
        if !found.is_raised() {
            self.descend(&grads);
        }
        Ok(())
    }
}
