//! The logarithm of softmax.

use super::ask::{Asks, Softmaxes};
use crate::oracle::log_softmax::{backward, log_softmax};
use crate::{Compute, Operation};

static ASKED: Softmaxes = Softmaxes {
    op: Operation::LogSoftmax,
    forward: Compute::LogSoftmax,
    backward: Compute::LogSoftmaxBackward,
    output: log_softmax,
    gradient: backward,
};

pub(super) fn add(cases: &mut Asks) {
    ASKED.add(cases);
}
