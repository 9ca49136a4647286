//! Training behind the kit's wrapper that counts calls: no step reads, and no bit changes.

mod run;
mod training;
