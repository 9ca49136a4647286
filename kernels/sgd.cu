// One step of stochastic gradient descent on a set of parameters: momentum, dampening, Nesterov, weight decay.
//
// Oracle: `cases/sgd.rs`; agreement: bits.
//
// `sgd`: launched as `lib/fused.cuh` says.
//
// The arithmetic of an element is `lib/sgd.cuh`.
#include "lib/sgd.cuh"

STEP_KERNEL(sgd, Sgd)
// sass: sgd loads 6 stores 6 slots 141
