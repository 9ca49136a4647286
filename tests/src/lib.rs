//! What only the crates together can show.
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
