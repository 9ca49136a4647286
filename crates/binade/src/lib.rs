#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod illegal;
mod initialize;
mod layers;
mod level;
mod muon;
pub mod prelude;
mod properties;
mod properties_text;

pub use illegal::Illegal;
pub use initialize::{Amp, InitError, Model, Setup, initialize};
pub use level::OptLevel;
pub use muon::{AdjustLr, Muon, MuonError};
pub use properties::Properties;

pub use binade_autocast as autocast;
pub use binade_cast_policy as cast_policy;
pub use binade_core as core;
pub use binade_grad_scaler as grad_scaler;
pub use binade_interchange as interchange;
pub use binade_master_weights as master_weights;
