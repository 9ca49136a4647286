//! Deliberate differences from torch.

/// Defines the differences, each by its name and by what the other library does, what we do, and why.
macro_rules! differences {
    ($($difference:ident $name:literal $reason:literal)+) => {
        /// A deliberate difference that a replay came upon: the recording is as torch is, and so are we as we mean to be.
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum Difference {
            $(#[doc = concat!("Difference `", $name, "`.")] $difference,)+
        }

        impl Difference {
            /// Returns its name, and what the other library does, what we do, and why.
            pub fn row(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$difference => ($name, $reason),)+
                }
            }
        }
    };
}

differences! {
    NormPlus1e6 "norm-plus-1e-6"
        "torch multiplies by max / (norm + 1e-6), and so shrinks gradients that are within the limit; we multiply by max / \
         norm, and by nothing within the limit"
    SquaresInF32 "squares-in-f32"
        "torch squares in f32: its L2 norm is infinite from 2^64 on, and loses bits or all below 2^-50; we square in f64, so \
         that gradients which f32 holds have a norm"
    NonFiniteTotal "non-finite-total"
        "torch goes on: an infinite norm makes finite gradients zero and infinities NaN, a NaN makes all NaN; we raise the \
         verdict, which skips the step and is reported"
    ErrorIfNonFinite "error-if-nonfinite"
        "torch reads the norm back and raises before it touches gradients; we raise the verdict on the device, without a read, \
         and always"
    LimitNotPositive "limit-not-positive"
        "torch takes limits of zero and below, which zero gradients, set all to one value or turn them round; we refuse them, \
         as the mistakes they are"
    LimitBeyondType "limit-beyond-type"
        "torch's clip_grad_value_ refuses a limit that the gradients' type cannot hold; we take it, as our gradients are f32 \
         once unscaled, and what is within keeps its bits"
    NothingToClip "nothing-to-clip"
        "torch's clip_grad_value_ fails an internal assertion where no parameter has a gradient; we change nothing"
    OverflowAtTheFloor "overflow-at-the-floor"
        "jmp and others stay at their lowest scale and skip for ever; we call an overflow there divergence, which is an error"
    ScaleBeyond2To126 "scale-beyond-2^126"
        "torch's, Keras's and jmp's scale grows to 2^127, whose inverse is subnormal; we stop at 2^126, and the rest of a run \
         is left out, of jmp's own traces held to jmp's rule"
    ScaleBelow2ToMinus126 "scale-below-2^-126"
        "torch, Keras, Apex and Paddle halve the scale until it is subnormal, and then 0; we stop at 2^-126, where an overflow \
         is divergence, and the rest of the trace is left out"
    FirstGoodStepCounts "first-good-step-counts"
        "DeepSpeed since 0.18, and its fused optimizer, does not count the first good step after an overflow, and so grows a \
         step later; we count it, as DeepSpeed did before"
    OverflowIsTheCeiling "overflow-is-the-ceiling"
        "OpenSeq2Seq takes an overflow for a logarithm of 2^16 where 16 is meant, which holds the scale at 1 for hundreds of \
         steps; we take it for the ceiling, 16, and the rest of the trace is left out"
    SubnormalsFlushed "subnormals-flushed"
        "jax on a CPU flushes subnormal numbers to zero; we keep them"
    PromotionByOrder "promotion-by-order"
        "torch promotes a 16-bit type that is not the region's if an f32 operand comes before it, and raises if one comes \
         after; we refuse both under torch's table"
    AnyFactor "any-factor"
        "jmp multiplies and divides by any factor, down to any floor; we move by binades, and hold the trace to jmp's rule"
    LimitLostUnderJit "limit-lost-under-jit"
        "jmp leaves min_loss_scale out as it flattens a scale, so that jit loses it; we write and read a rule whole"
    F64IsNeverCast "f64-is-never-cast"
        "jmp casts f64 to a policy's type; we never cast f64"
    Semantics "semantics"
        "torch does as the fact says; we do as its row in docs/semantics.md says, for the reasons in docs/differences.md"
}
