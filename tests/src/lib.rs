//! Tests of properties that only the crates together have.
#![forbid(unsafe_code)]

pub mod fuzz;
pub mod guide;
pub mod replay;

/// The front page's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct FrontPage;

/// The guides' examples, compiled and run.
#[cfg(doctest)]
mod coming_from {
    #[doc = include_str!("../../docs/src/coming-from/torch-amp.md")]
    pub struct TorchAmp;
    #[doc = include_str!("../../docs/src/coming-from/apex.md")]
    pub struct Apex;
    #[doc = include_str!("../../docs/src/coming-from/keras.md")]
    pub struct Keras;
    #[doc = include_str!("../../docs/src/coming-from/jmp.md")]
    pub struct Jmp;
    #[doc = include_str!("../../docs/src/coming-from/deepspeed.md")]
    pub struct DeepSpeed;
    #[doc = include_str!("../../docs/src/coming-from/paddle.md")]
    pub struct Paddle;
}

/// The chapters' examples, compiled and run.
#[cfg(doctest)]
mod chapters {
    #[doc = include_str!("../../docs/src/why.md")]
    pub struct Why;
    #[doc = include_str!("../../docs/src/which-crate.md")]
    pub struct WhichCrate;
    #[doc = include_str!("../../docs/src/doors.md")]
    pub struct Doors;
    #[doc = include_str!("../../docs/src/skipped-steps.md")]
    pub struct SkippedSteps;
    #[doc = include_str!("../../docs/src/scale-collapses.md")]
    pub struct ScaleCollapses;
    #[doc = include_str!("../../docs/src/policy.md")]
    pub struct Policy;
    #[doc = include_str!("../../docs/src/bf16.md")]
    pub struct Bf16;
    #[doc = include_str!("../../docs/src/accumulation-and-clipping.md")]
    pub struct AccumulationAndClipping;
    #[doc = include_str!("../../docs/src/checkpoints.md")]
    pub struct Checkpoints;
    #[doc = include_str!("../../docs/src/evaluation.md")]
    pub struct Evaluation;
    #[doc = include_str!("../../docs/src/nan.md")]
    pub struct Nan;
    #[doc = include_str!("../../docs/src/kit-report.md")]
    pub struct KitReport;
    #[doc = include_str!("../../docs/src/several-machines.md")]
    pub struct SeveralMachines;
}
