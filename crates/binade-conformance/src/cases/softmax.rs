//! Softmax over the last axis.

use super::ask::{Asks, Softmaxes};
use crate::oracle::softmax::{backward, softmax};
use crate::{Compute, Operation};

static ASKED: Softmaxes = Softmaxes {
    op: Operation::Softmax,
    forward: Compute::Softmax,
    backward: Compute::SoftmaxBackward,
    output: softmax,
    gradient: backward,
};

pub(super) fn add(cases: &mut Asks) {
    ASKED.add(cases);
}
