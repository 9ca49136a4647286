#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod average;
mod broadcast;
mod buckets;
mod device;
mod error;
mod gradients;
mod group;
mod header;
mod masters;
mod meeting;
mod model;
mod ops;
mod optimizer;
mod overlap;
mod partition;
mod scaler;
mod sending;
mod shards;
mod sizes;
mod slice_grads;
mod slice_masters;
mod slice_snapshot;
mod slices;
mod sync_batch_norm;
mod threads;

pub use device::{RankDevice, Ranks};
pub use error::{Desync, RanksError};
pub use gradients::RankGrads;
pub use group::{Alone, Group, GroupError};
pub use optimizer::RankOptimizer;
pub use partition::Partition;
pub use sending::Tell;
pub use shards::Shards;
pub use threads::{Threads, threads};
