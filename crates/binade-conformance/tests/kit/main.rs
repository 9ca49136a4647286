//! The kit tested by itself: on a subject that is right, and on subjects that are wrong in one way each.

mod caught;
mod right;
mod toy;
mod toy_sets;
mod toy_stores;
mod unfused;
mod wrong;
mod wrong_sets;
mod wrong_stores;
