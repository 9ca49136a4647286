//! Task of the five-ways table: all ways get the same images in the same order, the same first weights and the same rule.

mod row;
mod task;

pub use row::{PRECISIONS, Row, Run, Scaling, Way, power, print};
pub use task::{BATCH, Batch, EPOCHS, GROWTH_INTERVAL, LEARNING_RATE, SEED, Task, properties};
