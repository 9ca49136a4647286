//! Loops compiled a second time, for processors with 256-bit vectors and fused multiply-add.
//!
//! `mul_add` is one instruction there. Elsewhere it is a call into the C library for each element, about ten times
//! slower, with the same result: nothing here changes a bit.
#![allow(unsafe_code, reason = "calling a function compiled for a feature that was just detected")]

/// Runs `work` as compiled for what this processor has. `work` must be small enough to be inlined here.
#[inline(always)]
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the one obligation of a `target_feature` function is that the processor has the features it was
        // compiled for; both were detected on the line above.
        return unsafe { with_avx2_and_fma(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2_and_fma<R>(work: impl FnOnce() -> R) -> R {
    work()
}
