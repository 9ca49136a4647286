//! The kit tested by itself: on a subject that is right, and on subjects that are wrong in one way each.

mod caught;
mod caught_ops;
mod caught_stages;
mod caught_steps;
mod misruled;
mod right;
mod toy;
mod toy_fits;
mod toy_images;
mod toy_ops;
mod toy_rows;
mod toy_sets;
mod toy_stages;
mod toy_stores;
mod toy_train;
mod unfused;
mod wrong;
mod wrong_ops;
mod wrong_rules;
mod wrong_sets;
mod wrong_stages;
mod wrong_steps;
mod wrong_stores;
