//! Forms of moves between registers, and of conversions between address spaces.

use super::{
    Class::{Predicate, W16, W32, W64},
    Form,
    Kind::{self, Any, From, FromVector, To, ToVector},
    Op, Values,
    lanes::one,
};
use crate::exec::SHARED_WINDOW;

const SAME: Op = one!(|a| a);
const MOVE_16: &[Kind] = &[To(W16), Any(W16)];
const MOVE_32: &[Kind] = &[To(W32), Any(W32)];
const MOVE_64: &[Kind] = &[To(W64), Any(W64)];
const ADDRESS: &[Kind] = &[To(W64), From(W64)];

pub(super) const FORMS: &[Form] = &[
    Form::new("mov.pred", &[To(Predicate), From(Predicate)], SAME),
    Form::new("mov.b16", MOVE_16, SAME),
    Form::new("mov.u16", MOVE_16, SAME),
    Form::new("mov.b32", MOVE_32, SAME),
    Form::new("mov.u32", MOVE_32, SAME),
    Form::new("mov.f32", &[To(W32), From(W32)], SAME),
    Form::new("mov.b64", MOVE_64, SAME),
    Form::new("mov.u64", MOVE_64, SAME),
    Form::new("mov.f64", &[To(W64), From(W64)], SAME),
    Form::new("mov.b32", &[To(W32), FromVector(W16, 2)], Op::Pack(16)),
    Form::new("mov.b64", &[To(W64), FromVector(W32, 2)], Op::Pack(32)),
    Form::new("mov.b64", &[To(W64), FromVector(W16, 4)], Op::Pack(16)),
    Form::new("mov.b32", &[ToVector(W16, 2), From(W32)], Op::Unpack(16)),
    Form::new("mov.b64", &[ToVector(W32, 2), From(W64)], Op::Unpack(32)),
    Form::new("mov.b64", &[ToVector(W16, 4), From(W64)], Op::Unpack(16)),
    // Generic addresses of global memory are global addresses; those of shared memory lie in a window of their own.
    Form::new("cvta.global.u64", &[To(W64), Any(W64)], SAME),
    Form::new("cvta.to.global.u64", ADDRESS, SAME),
    Form::new("cvta.shared.u64", &[To(W64), Any(W64)], one!(|a| a.wrapping_add(SHARED_WINDOW))),
    Form::new("cvta.to.shared.u64", ADDRESS, one!(|a| a.wrapping_sub(SHARED_WINDOW))),
];
