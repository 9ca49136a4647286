//! Tests of the public interface in one program, which is linked once.

mod combinations;
mod illegal;
mod initialize;
mod layers;
mod muon;
mod properties;
mod region;
mod schedule;
mod several;
