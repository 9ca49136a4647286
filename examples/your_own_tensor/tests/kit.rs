//! Contracts of the tensor, a test for each operation. Operations that none of its methods does are ignored, with the reason:
//! products and layers, stochastic rounding.

use binade_example_your_own_tensor::subject::Subject;

binade_conformance::conformance_main!(kit, Subject::default());
