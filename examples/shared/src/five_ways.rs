//! One task, given to every way of training: the same images in the same order, the same first weights, the same rule.

mod row;
mod task;

pub use row::{Precision, Row, Run, Scaling, print};
pub use task::{BATCH, Batch, EPOCHS, GROWTH_INTERVAL, LEARNING_RATE, Task};
