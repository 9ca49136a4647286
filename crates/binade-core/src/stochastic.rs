//! Stochastic rounding.
