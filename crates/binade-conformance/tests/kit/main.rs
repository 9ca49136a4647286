//! The kit tested by itself: on a subject that is right, and on subjects that are wrong in one way each.

mod caught;
mod misruled;
mod right;
mod toy;
mod toy_sets;
mod unfused;
mod wrong;
mod wrong_rules;
mod wrong_sets;
