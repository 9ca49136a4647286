//! Tensors that tell their shapes: what does not fit is refused, although it is as long.

use binade_core::{AmpTensor, DType, Error, ErrorKind, FoundInf, HostTensor, HostTypeError};
use binade_core::{HostDevice, Named, Optimizer};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};

/// A tensor with a shape, or one that tells none.
#[derive(Clone, Debug)]
struct Shaped(HostTensor, Option<Vec<usize>>);

impl AmpTensor for Shaped {
    type Error = HostTypeError;

    fn dtype(&self) -> DType {
        self.0.dtype()
    }

    fn cast(&self, to: DType) -> Result<Self, HostTypeError> {
        Ok(Self(self.0.cast(to)?, self.1.clone()))
    }

    fn shape(&self) -> Option<Vec<usize>> {
        self.1.clone()
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        self.0.map_f32(f);
    }
}

fn six(shape: Option<[usize; 2]>) -> Shaped {
    Shaped(HostTensor::from(vec![1.0; 6]), shape.map(Vec::from))
}

fn stepped(param: Shaped, grad: Shaped) -> (Vec<f32>, Option<(ErrorKind, String)>) {
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0)).unwrap();
    let params = vec![Named::new("weight", param)];
    let mut optimizer = MasterOptimizer::new(HostDevice::<Shaped>::new(), params, config).unwrap();
    let grads = vec![Named::new("weight", Some(grad))];
    let error = optimizer.step(grads, &FoundInf::default()).err();
    let told = error.map(|error| (error.kind(), error.to_string()));
    (optimizer.params[0].value.0.to_f32(), told)
}

#[test]
fn a_gradient_of_the_transposed_shape_is_refused_by_name() {
    let (weights, error) = stepped(six(Some([2, 3])), six(Some([3, 2])));
    let (kind, text) = error.expect("[3, 2] is not [2, 3]");
    assert_eq!((kind, weights), (ErrorKind::Mismatch, vec![1.0; 6]));
    assert!(text.starts_with("`weight`: a gradient of shape [3, 2] for [2, 3]"), "{text}");
}

#[test]
fn a_shape_that_fits_or_is_not_told_is_taken() {
    for (param, grad) in [(Some([2, 3]), Some([2, 3])), (None, Some([3, 2])), (Some([2, 3]), None)]
    {
        assert_eq!(stepped(six(param), six(grad)), (vec![0.0; 6], None));
    }
}
