//! Claims of each page, checked.

mod accumulation;
mod clipping;
mod convergence;
mod custom_op;
mod gradient_penalty;
mod list;
mod lost_updates;
mod policy_overrides;
mod two_losses;
