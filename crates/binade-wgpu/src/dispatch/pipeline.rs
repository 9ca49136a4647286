//! Pipelines: shaders, compiled when they are dispatched for the first time.

use crate::{
    Error, Wgpu,
    shaders::{self, Access, Shader},
};
use std::{
    collections::HashMap,
    num::NonZeroU64,
    sync::{Arc, Mutex, PoisonError},
};
use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType,
    BufferBindingType, ComputePipeline, ComputePipelineDescriptor, Device,
    PipelineCompilationOptions, PipelineLayoutDescriptor, ShaderModule, ShaderModuleDescriptor,
    ShaderSource, ShaderStages,
};

/// Compiled shader entry.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(super) shader: &'static Shader,
    pub(super) layout: BindGroupLayout,
    pub(super) compiled: ComputePipeline,
}

/// Cache of pipelines by entry, and of modules by file.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    compiled: Mutex<Compiled>,
}

#[derive(Debug, Default)]
struct Compiled {
    modules: HashMap<&'static str, ShaderModule>,
    entries: HashMap<&'static str, Arc<Pipeline>>,
}

impl Wgpu {
    /// Compiles every shader, instead of each at its first dispatch. Returns their number.
    ///
    /// # Errors
    ///
    /// The driver's error for a shader that it refuses.
    pub fn compile(&self) -> Result<usize, Error> {
        shaders::all().map(|shader| self.pipeline(shader).map(|_| 1)).sum()
    }

    /// Returns the entry's pipeline, compiled on first use.
    pub(super) fn pipeline(&self, shader: &'static Shader) -> Result<Arc<Pipeline>, Error> {
        let compiled = &self.inner.pipelines.compiled;
        let mut compiled = compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = compiled.entries.get(shader.name) {
            return Ok(pipeline.clone());
        }
        let device = &self.inner.device;
        let made = self.scoped(shader.name, || {
            let module = compiled.modules.get(shader.file).cloned();
            let module = module.unwrap_or_else(|| module_of(device, shader));
            (compile(device, shader, &module), module)
        });
        let (pipeline, module) = made?;
        let pipeline = Arc::new(pipeline);
        compiled.modules.insert(shader.file, module);
        compiled.entries.insert(shader.name, pipeline.clone());
        Ok(pipeline)
    }
}

fn module_of(device: &Device, shader: &Shader) -> ShaderModule {
    device.create_shader_module(ShaderModuleDescriptor {
        label: Some(shader.file),
        source: ShaderSource::Wgsl(shader.wgsl().into()),
    })
}

fn compile(device: &Device, shader: &'static Shader, module: &ShaderModule) -> Pipeline {
    let params = NonZeroU64::new(shader.params as u64);
    let params = entry(0, BufferBindingType::Uniform, true, params);
    let rest = shader.bindings.iter().map(|(binding, access)| {
        let read_only = *access == Access::Read;
        entry(*binding, BufferBindingType::Storage { read_only }, false, None)
    });
    let entries: Vec<_> = [params].into_iter().chain(rest).collect();
    let layout = device.create_bind_group_layout(&BindGroupLayoutDescriptor {
        label: Some(shader.name),
        entries: &entries,
    });
    let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
        label: Some(shader.name),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let compiled = device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: Some(shader.name),
        layout: Some(&pipeline_layout),
        module,
        entry_point: Some(shader.name),
        compilation_options: PipelineCompilationOptions::default(),
        cache: None,
    });
    Pipeline { shader, layout, compiled }
}

fn entry(
    binding: u32,
    ty: BufferBindingType,
    has_dynamic_offset: bool,
    min_binding_size: Option<NonZeroU64>,
) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer { ty, has_dynamic_offset, min_binding_size },
        count: None,
    }
}
