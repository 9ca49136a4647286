//! Tests of the kit: on a right subject, and on subjects with one fault each.

mod caught;
mod faulty;
mod files;
mod narrowed;
mod overflowing;
mod runner;
mod strided;
mod toy;
mod toy_ops;
mod toy_sets;
mod toy_train;
mod unfused;
mod wrong;
mod wrong_batch_norms;
mod wrong_elements;
mod wrong_groups;
mod wrong_multi_tensor;
mod wrong_ops;
mod wrong_rules;
mod wrong_runs;
mod wrong_sets;
mod wrong_sparse;
mod wrong_stages;
mod wrong_steps;
mod wrong_stores;
mod wrong_windows;
