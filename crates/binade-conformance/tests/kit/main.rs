//! The kit tested by itself: on a subject that is right, and on subjects that are wrong in one way each.

mod caught;
mod caught_groups;
mod caught_stages;
mod caught_steps;
mod faulty;
mod misruled;
mod right;
mod toy;
mod toy_groups;
mod toy_loops;
mod toy_sets;
mod toy_stages;
mod toy_stores;
mod toy_train;
mod unfused;
mod wrong;
mod wrong_groups;
mod wrong_loops;
mod wrong_rules;
mod wrong_sets;
mod wrong_stages;
mod wrong_steps;
mod wrong_stores;
