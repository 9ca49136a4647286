//! Forms of loads and stores. Volatile, relaxed, acquiring and releasing ones are like any other here, where a write is seen at
//! once.

use super::{
    Class::{W16, W32, W64},
    Form,
    Kind::{From, FromVector, FromWider, Memory, To, ToVector, ToWider},
    Op,
    Space::{Constant, Generic, Global, Param, Shared},
};

/// Loads with one prefix, each by type, bytes of an element, and destination.
macro_rules! load {
    ($prefix:literal, $space:ident: $($name:literal $bytes:literal $to:expr;)+) => {
        &[$(Form::new(concat!($prefix, ".", $name), &[$to, Memory($space)], Op::Load($space, $bytes))),+]
    };
}

macro_rules! load_signed {
    ($prefix:literal, $space:ident: $($name:literal $bytes:literal $to:ident;)+) => {
        &[$(Form::new(concat!($prefix, ".", $name), &[To($to), Memory($space)], Op::LoadSigned($space, $bytes, $to))),+]
    };
}

macro_rules! store {
    ($prefix:literal, $space:ident: $($name:literal $bytes:literal $from:expr;)+) => {
        &[$(Form::new(concat!($prefix, ".", $name), &[Memory($space), $from], Op::Store($space, $bytes))),+]
    };
}

/// Loads of every type. Integers and bits go into wider registers, floats do not.
macro_rules! loads {
    ($($prefix:literal $space:ident),+) => {
        &[$(
            load!($prefix, $space:
                "b8" 1 ToWider(W16); "u8" 1 ToWider(W16);
                "b16" 2 ToWider(W16); "u16" 2 ToWider(W16);
                "b32" 4 ToWider(W32); "u32" 4 ToWider(W32); "f32" 4 To(W32);
                "b64" 8 To(W64); "u64" 8 To(W64); "s64" 8 To(W64); "f64" 8 To(W64);
            ),
            load_signed!($prefix, $space:
                "s8" 1 W16; "s8" 1 W32; "s8" 1 W64; "s16" 2 W16; "s16" 2 W32; "s16" 2 W64; "s32" 4 W32; "s32" 4 W64;
            ),
        )+]
    };
}

macro_rules! vector_loads {
    ($($prefix:literal $space:ident),+) => {
        &[$(load!($prefix, $space:
            "v2.b8" 1 ToVector(W16, 2); "v2.u8" 1 ToVector(W16, 2); "v4.b8" 1 ToVector(W16, 4); "v4.u8" 1 ToVector(W16, 4);
            "v2.b16" 2 ToVector(W16, 2); "v2.u16" 2 ToVector(W16, 2); "v4.b16" 2 ToVector(W16, 4); "v4.u16" 2 ToVector(W16, 4);
            "v2.b32" 4 ToVector(W32, 2); "v2.u32" 4 ToVector(W32, 2); "v4.b32" 4 ToVector(W32, 4); "v4.u32" 4 ToVector(W32, 4);
            "v2.f32" 4 ToVector(W32, 2); "v4.f32" 4 ToVector(W32, 4);
            "v2.b64" 8 ToVector(W64, 2); "v2.u64" 8 ToVector(W64, 2); "v2.f64" 8 ToVector(W64, 2);
        )),+]
    };
}

macro_rules! stores {
    ($($prefix:literal $space:ident),+) => {
        &[$(store!($prefix, $space:
            "b8" 1 FromWider(W16); "u8" 1 FromWider(W16); "s8" 1 FromWider(W16);
            "b16" 2 FromWider(W16); "u16" 2 FromWider(W16); "s16" 2 FromWider(W16);
            "b32" 4 FromWider(W32); "u32" 4 FromWider(W32); "s32" 4 FromWider(W32); "f32" 4 From(W32);
            "b64" 8 From(W64); "u64" 8 From(W64); "s64" 8 From(W64); "f64" 8 From(W64);
        )),+]
    };
}

macro_rules! vector_stores {
    ($($prefix:literal $space:ident),+) => {
        &[$(store!($prefix, $space:
            "v2.b8" 1 FromVector(W16, 2); "v2.u8" 1 FromVector(W16, 2); "v4.b8" 1 FromVector(W16, 4); "v4.u8" 1 FromVector(W16, 4);
            "v2.b16" 2 FromVector(W16, 2); "v2.u16" 2 FromVector(W16, 2); "v4.b16" 2 FromVector(W16, 4); "v4.u16" 2 FromVector(W16, 4);
            "v2.b32" 4 FromVector(W32, 2); "v2.u32" 4 FromVector(W32, 2); "v4.b32" 4 FromVector(W32, 4); "v4.u32" 4 FromVector(W32, 4);
            "v2.f32" 4 FromVector(W32, 2); "v4.f32" 4 FromVector(W32, 4);
            "v2.b64" 8 FromVector(W64, 2); "v2.u64" 8 FromVector(W64, 2); "v2.f64" 8 FromVector(W64, 2);
        )),+]
    };
}

const LOADS: &[&[Form]] = loads!(
    "ld.param" Param, "ld.const" Constant,
    "ld.global" Global, "ld.global.nc" Global, "ld.volatile.global" Global,
    "ld.relaxed.gpu.global" Global, "ld.acquire.gpu.global" Global,
    "ld.relaxed.sys.global" Global, "ld.acquire.sys.global" Global,
    "ld.shared" Shared, "ld.volatile.shared" Shared,
    "ld" Generic, "ld.volatile" Generic,
    "ld.relaxed.gpu" Generic, "ld.acquire.gpu" Generic, "ld.relaxed.sys" Generic, "ld.acquire.sys" Generic
);

const VECTOR_LOADS: &[&[Form]] = vector_loads!(
    "ld.param" Param, "ld.const" Constant, "ld.global" Global, "ld.global.nc" Global, "ld.volatile.global" Global,
    "ld.shared" Shared, "ld.volatile.shared" Shared, "ld" Generic, "ld.volatile" Generic
);

const STORES: &[&[Form]] = stores!(
    "st.global" Global, "st.volatile.global" Global, "st.relaxed.gpu.global" Global, "st.release.gpu.global" Global,
    "st.relaxed.sys.global" Global, "st.release.sys.global" Global,
    "st.shared" Shared, "st.volatile.shared" Shared,
    "st" Generic, "st.volatile" Generic,
    "st.relaxed.gpu" Generic, "st.release.gpu" Generic, "st.relaxed.sys" Generic, "st.release.sys" Generic
);

const VECTOR_STORES: &[&[Form]] = vector_stores!(
    "st.global" Global, "st.volatile.global" Global, "st.shared" Shared, "st.volatile.shared" Shared,
    "st" Generic, "st.volatile" Generic
);

pub(super) const FORMS: &[&[&[Form]]] = &[LOADS, VECTOR_LOADS, STORES, VECTOR_STORES];
