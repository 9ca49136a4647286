//! Reports as files.

mod html;
mod json;

pub use html::html;
pub use json::json;
