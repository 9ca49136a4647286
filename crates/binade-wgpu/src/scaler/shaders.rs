//! The shaders of loss scaling, and of gradients.

use crate::{
    dispatch::structs,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};

pub(super) const ACCUMULATE: Shader = Shader {
    name: "accumulate",
    file: "accumulate",
    params: size_of::<structs::Accumulate>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Read), (5, Write), (6, Write)],
};

pub(super) const ACCUMULATE_MARK: Shader =
    Shader { name: "accumulate_mark", bindings: &[(2, Read), (3, Read), (6, Write)], ..ACCUMULATE };

pub(super) const CLIP: Shader = Shader {
    name: "clip",
    file: "clip",
    params: size_of::<structs::Clip>(),
    bindings: &[(1, Write), (2, Write)],
};

pub(super) const CLIP_GROUP: Shader = Shader {
    name: "clip_group",
    params: size_of::<structs::ClipOfGroup>(),
    bindings: &[(1, Write), (2, Write), (3, Write)],
    ..CLIP
};

pub(super) const MATERIALISE: Shader = Shader {
    name: "materialise",
    file: "materialise",
    params: size_of::<structs::Materialise>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Read), (5, Write)],
};

pub(super) const MERGE: Shader = Shader {
    name: "merge",
    file: "merge",
    params: size_of::<structs::Merge>(),
    bindings: &[(1, Write), (2, Read)],
};

pub(super) const SCALE: Shader = Shader {
    name: "scale",
    file: "scale",
    params: size_of::<structs::Times>(),
    bindings: &[(1, Read), (2, Read), (3, Write)],
};

pub(super) const SCALE_UPDATE: Shader = Shader {
    name: "scale_update",
    file: "scale_update",
    params: size_of::<structs::Update>(),
    bindings: &[(1, Write), (2, Write)],
};

pub(super) const UNSCALE: Shader = Shader {
    name: "unscale",
    file: "unscale",
    params: size_of::<structs::Unscale>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Write)],
};

pub(super) const UNSCALE_JOIN: Shader = Shader {
    name: "unscale_join",
    params: size_of::<structs::Join>(),
    bindings: &[(1, Read), (2, Write), (3, Read), (4, Write)],
    ..UNSCALE
};

pub(crate) const SHADERS: &[&Shader] = &[
    &ACCUMULATE,
    &ACCUMULATE_MARK,
    &CLIP_GROUP,
    &CLIP,
    &SCALE,
    &MERGE,
    &SCALE_UPDATE,
    &UNSCALE,
    &UNSCALE_JOIN,
    &MATERIALISE,
];
