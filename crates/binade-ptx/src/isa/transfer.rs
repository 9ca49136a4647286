//! Moves, address conversion, loads, stores and atomics.

use super::{
    Class::{W16, W32, W64},
    Form,
    Kind::{Any, From, FromWider, Memory, To, ToWider, Vector},
    Op,
    Space::{Global, Param, Shared},
};

const fn same(value: u64) -> u64 {
    value
}

pub(super) const FORMS: &[Form] = &[
    Form::new("mov.u16", &[To(W16), Any(W16)], Op::One(same)),
    Form::new("mov.b32", &[To(W32), Any(W32)], Op::One(same)),
    Form::new("mov.f32", &[To(W32), From(W32)], Op::One(same)),
    Form::new("mov.u32", &[To(W32), Any(W32)], Op::One(same)),
    Form::new("mov.u64", &[To(W64), Any(W64)], Op::One(same)),
    // Generic addresses of global memory are global addresses.
    Form::new("cvta.to.global.u64", &[To(W64), From(W64)], Op::One(same)),
    Form::new("ld.param.u32", &[ToWider(W32), Memory(Param)], Op::Load(Param, 4)),
    Form::new("ld.param.f32", &[To(W32), Memory(Param)], Op::Load(Param, 4)),
    Form::new("ld.param.u64", &[To(W64), Memory(Param)], Op::Load(Param, 8)),
    Form::new("ld.global.u16", &[ToWider(W16), Memory(Global)], Op::Load(Global, 2)),
    Form::new("ld.global.u32", &[ToWider(W32), Memory(Global)], Op::Load(Global, 4)),
    Form::new("ld.global.f32", &[To(W32), Memory(Global)], Op::Load(Global, 4)),
    Form::new("ld.global.v4.f32", &[Vector(W32, 4), Memory(Global)], Op::Load(Global, 4)),
    Form::new("ld.shared.f32", &[To(W32), Memory(Shared)], Op::Load(Shared, 4)),
    Form::new("ld.shared.v4.f32", &[Vector(W32, 4), Memory(Shared)], Op::Load(Shared, 4)),
    Form::new("st.global.u16", &[Memory(Global), FromWider(W16)], Op::Store(Global, 2)),
    Form::new("st.global.u32", &[Memory(Global), FromWider(W32)], Op::Store(Global, 4)),
    Form::new("st.global.f32", &[Memory(Global), From(W32)], Op::Store(Global, 4)),
    Form::new("st.global.v4.f32", &[Memory(Global), Vector(W32, 4)], Op::Store(Global, 4)),
    Form::new("st.shared.f32", &[Memory(Shared), From(W32)], Op::Store(Shared, 4)),
    Form::new(
        "atom.global.or.b32",
        &[To(W32), Memory(Global), From(W32)],
        Op::Atomic(4, |old, value| old | value),
    ),
    Form::new(
        "atom.global.add.u32",
        &[To(W32), Memory(Global), From(W32)],
        Op::Atomic(4, |old, value| old.wrapping_add(value) & 0xffff_ffff),
    ),
];
