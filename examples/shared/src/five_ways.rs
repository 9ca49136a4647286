//! Task of the five-ways table: all ways get the same images in the same order, the same first weights and the same rule.

mod level;
mod row;
mod task;

pub use level::properties;
pub use row::{Precision, Row, Run, Scaling, Way, print};
pub use task::{BATCH, Batch, EPOCHS, GROWTH_INTERVAL, LEARNING_RATE, SEED, Task};
