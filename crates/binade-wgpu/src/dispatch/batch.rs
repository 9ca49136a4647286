//! Batch of shaders and copies that are requested and not yet submitted, in order, with the parameters of all shaders in one
//! buffer.

use super::{Bound, pipeline::Pipeline};
use crate::{Error, Wgpu};
use std::{
    mem,
    sync::{Arc, OnceLock},
};
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, BufferBinding,
    BufferDescriptor, BufferUsages, CommandEncoder, CommandEncoderDescriptor, ComputePass,
    ComputePassDescriptor, Device, SubmissionIndex,
};

/// Bytes from one shader's parameters to the next one's: the alignment of uniforms on every device.
const SLOT: usize = 256;

/// Greatest number of shaders of one batch: enough that submitting is cheap, few enough that the device begins early.
const MOST: usize = 256;

/// Greatest number of commands of any kind, copies among them.
const MOST_COMMANDS: usize = 4 * MOST;

/// Submission to wait for, set when the batch is submitted.
pub(crate) type Ticket = Arc<OnceLock<SubmissionIndex>>;

/// Copy on the device. Offsets and bytes are multiples of 4.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) from: wgpu::Buffer,
    pub(crate) at: u64,
    pub(crate) to: wgpu::Buffer,
    pub(crate) to_at: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
pub(super) enum Command {
    Dispatch {
        pipeline: Arc<Pipeline>,
        /// Offset in bytes of the shader's parameters.
        params: u32,
        bound: Vec<Bound>,
        groups: u32,
    },
    Copy(Copy),
}

pub(crate) struct Batch {
    commands: Vec<Command>,
    params: Vec<u8>,
    /// Parameters of all shaders, written once a batch, after the batch before.
    uniforms: wgpu::Buffer,
    ticket: Ticket,
}

impl Batch {
    pub(crate) fn new(device: &Device) -> Self {
        let uniforms = device.create_buffer(&BufferDescriptor {
            label: Some("parameters"),
            size: (SLOT * MOST) as u64,
            usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self { commands: Vec::new(), params: Vec::new(), uniforms, ticket: Ticket::default() }
    }

    /// Adds a shader's parameters, and returns their offset.
    pub(super) fn add_params(&mut self, params: &[u8]) -> u32 {
        let at = self.params.len();
        self.params.extend_from_slice(params);
        self.params.resize(at + SLOT, 0);
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    pub(super) fn push(&mut self, command: Command) {
        self.commands.push(command);
    }

    pub(super) fn ticket(&self) -> Ticket {
        self.ticket.clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.params.len() >= SLOT * MOST || self.commands.len() >= MOST_COMMANDS
    }

    /// Submits the batch, and begins another.
    pub(super) fn submit(&mut self, wgpu: &Wgpu) -> Result<(), Error> {
        let (device, queue) = (&wgpu.inner.device, &wgpu.inner.queue);
        let commands = mem::take(&mut self.commands);
        let (params, ticket) = (mem::take(&mut self.params), mem::take(&mut self.ticket));
        let index = wgpu.scoped("submit", || {
            if !params.is_empty() {
                queue.write_buffer(&self.uniforms, 0, &params);
            }
            let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
            self.encode(device, &mut encoder, &commands);
            queue.submit([encoder.finish()])
        })?;
        ticket.get_or_init(|| index);
        Ok(())
    }

    /// Encodes the commands. Consecutive shaders share a pass.
    fn encode(&self, device: &Device, encoder: &mut CommandEncoder, commands: &[Command]) {
        let is_copy = |command: &Command| matches!(command, Command::Copy(_));
        for run in commands.chunk_by(|a, b| is_copy(a) == is_copy(b)) {
            for copy in run.iter().filter_map(Command::copy) {
                encoder
                    .copy_buffer_to_buffer(&copy.from, copy.at, &copy.to, copy.to_at, copy.bytes);
            }
            if !run.iter().all(is_copy) {
                let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
                for command in run {
                    self.encode_dispatch(device, &mut pass, command);
                }
            }
        }
    }

    fn encode_dispatch(&self, device: &Device, pass: &mut ComputePass<'_>, command: &Command) {
        if let Command::Dispatch { pipeline, params, bound, groups } = command {
            pass.set_pipeline(&pipeline.compiled);
            pass.set_bind_group(0, &self.bind(device, pipeline, bound), &[*params]);
            pass.dispatch_workgroups(*groups, 1, 1);
        }
    }

    fn bind(&self, device: &Device, pipeline: &Pipeline, bound: &[Bound]) -> BindGroup {
        let bytes = std::num::NonZeroU64::new(pipeline.shader.params as u64);
        let params = BufferBinding { buffer: &self.uniforms, offset: 0, size: bytes };
        let params = BindGroupEntry { binding: 0, resource: BindingResource::Buffer(params) };
        let rest = pipeline.shader.bindings.iter().zip(bound);
        let rest = rest.map(|((binding, _), bound)| BindGroupEntry {
            binding: *binding,
            resource: BindingResource::Buffer(bound.binding()),
        });
        device.create_bind_group(&BindGroupDescriptor {
            label: Some(pipeline.shader.name),
            layout: &pipeline.layout,
            entries: &[params].into_iter().chain(rest).collect::<Vec<_>>(),
        })
    }
}

impl Command {
    fn copy(&self) -> Option<&Copy> {
        match self {
            Self::Copy(copy) => Some(copy),
            Self::Dispatch { .. } => None,
        }
    }
}
