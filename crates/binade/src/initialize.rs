//! Sets a model up at an opt level.

use crate::{Illegal, Properties};
use binade_autocast::Region;
use binade_cast_policy::OpTable;
use binade_core::{Error, ErrorKind, Optimizer};
use binade_grad_scaler::{GradScaler, Scaler};
use binade_master_weights::{MasterOptimizer, MasterStore, MasterWeights, Plan, RuleError, UpdateRule};

/// A device on which whole models train: it scales gradients and keeps masters of the same sets.
pub trait Trains: GradScaler + MasterWeights<Grads = <Self as GradScaler>::Grads, Found = <Self as binade_grad_scaler::ScaleStore>::Found> + Clone {}
