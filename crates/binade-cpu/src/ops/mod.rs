//! The operations, a file each, named as in `binade-ops`.

mod shaped;
