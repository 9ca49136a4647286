//! Exact scalar conversions.
