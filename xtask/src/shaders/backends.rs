//! Output for Metal and DX12 as wgpu writes it: each must be able to be written, though the drivers are not here. Vulkan's is decided
//! by drivers that are.

use naga::{
    Module,
    back::{hlsl, msl},
    valid::ModuleInfo,
};

/// The errors of the writers.
pub(super) fn errors(module: &Module, info: &ModuleInfo) -> Vec<String> {
    [metal(module, info), direct3d(module, info)].into_iter().filter_map(Result::err).collect()
}

fn metal(module: &Module, info: &ModuleInfo) -> Result<(), String> {
    let options = msl::Options {
        fake_missing_bindings: true,
        lang_version: (2, 4),
        ..msl::Options::default()
    };
    let written = msl::write_string(module, info, &options, &msl::PipelineOptions::default());
    written.map(drop).map_err(|error| format!("for Metal: {error}"))
}

fn direct3d(module: &Module, info: &ModuleInfo) -> Result<(), String> {
    let options = hlsl::Options {
        fake_missing_bindings: true,
        shader_model: hlsl::ShaderModel::V6_2,
        ..hlsl::Options::default()
    };
    let (mut text, point) = (String::new(), hlsl::PipelineOptions::default());
    let written = hlsl::Writer::new(&mut text, &options, &point).write(module, info, None);
    written.map(drop).map_err(|error| format!("for DX12: {error}"))
}
