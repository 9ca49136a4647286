//! The contracts of all that the tensor has, a test for each operation. What none of its methods does is ignored, with the reason:
//! products and layers, stochastic rounding.

use binade_example_your_own_tensor::subject::Subject;

binade_conformance::conformance_main!(kit, Subject::new());
