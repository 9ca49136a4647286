//! The average of all devices' gradients, and what they have found together, on every device.
//!
//! Each device writes its gradients into one vector of `f32`, is handed the others' values of one slice of it, averages these in
//! place, and hands the average on: what is sent is twice the gradients' size whatever the number of devices, and an average is
//! computed once.

use super::{
    JointGradients, Parts, Replicas,
    exchange::bring,
    layout::{Layout, Run},
};
use crate::{
    Cuda, Error, Found, Gradients,
    kernels::{AVERAGE, MERGE},
    launch::{Grid, args, code, structs::FoundBits},
    memory::Buffer,
};
use binade_core::DType;
use binade_gpu::{Driver, Kernels, Materialise};
use std::{ops::Range, sync::Arc};

#[cfg(test)]
mod tests;

/// A device's memory for an average, all of it taken before anything is sent: a device that has too little fails alone.
struct AverageBuffers {
    /// Its gradients, and then the average.
    vector: Arc<Buffer>,
    /// The other devices' values of its slice, in their order.
    others: Buffer,
    /// Every device's finding.
    findings: Buffer,
    joint: Arc<Buffer>,
}

impl AverageBuffers {
    fn new(
        cuda: &Cuda,
        layout: &Layout,
        own: &Gradients,
        slice: usize,
        devices: usize,
    ) -> Result<Self, Error> {
        let bytes = layout.bytes();
        // Zero where this device has no gradient and another may have one, and between tensors.
        let is_whole = own.entries.iter().all(|entry| entry.value.is_some()) && !layout.has_gaps();
        let vector = if is_whole { cuda.buffer(bytes) } else { cuda.zeros(bytes) };
        Ok(Self {
            vector: Arc::new(vector?),
            others: cuda.buffer(4 * slice * (devices - 1))?,
            findings: cuda.buffer(size_of::<FoundBits>() * devices)?,
            joint: Arc::new(cuda.buffer(size_of::<FoundBits>())?),
        })
    }
}

impl Cuda {
    /// Averages a slice of a layout in the order of ranks. `own` is the vector of this rank's gradients, in their own types, and that of the
    /// averages; `others` has the other ranks' slices, so many bytes apart. `place` is this rank's among all.
    pub(crate) fn average_slice(
        &self,
        layout: &Layout,
        slice: Range<usize>,
        [own, averages]: [u64; 2],
        (others, stride): (&Buffer, usize),
        [place, ranks]: [usize; 2],
    ) -> Result<(), Error> {
        let first = layout.byte_of(slice.start);
        for Run { dtype, elements, byte } in layout.runs(slice) {
            let own = own + byte as u64;
            let others = others.address() + (byte - first) as u64;
            let result = averages + 4 * elements.start as u64;
            let (type_code, len) = (code("average", dtype)?, elements.len());
            let (place, ranks, stride) = (count(place), count(ranks), stride / dtype.bytes());
            let args = args![own, others, result, type_code, place, ranks, len, stride];
            self.launch(AVERAGE, Grid::elementwise(len), &args)?;
        }
        Ok(())
    }
}

/// One average under way.
struct Average<'r> {
    replicas: &'r Replicas,
    layout: Layout,
    rooms: Parts<AverageBuffers>,
}

impl Replicas {
    /// Makes the devices' gradients, looked at already, their average, and their findings one.
    pub(super) fn average(
        &self,
        grads: &mut JointGradients,
        found: &Parts<Found>,
    ) -> Result<Parts<Found>, Error> {
        let f32 = |shape: Option<Vec<usize>>| shape.map(|shape| (DType::F32, shape));
        let layout = Layout::of(grads.shapes().into_iter().map(f32).collect());
        let devices = self.devices().len();
        let room = |place, cuda: &Cuda| {
            let slice = layout.slice(place, devices).len();
            AverageBuffers::new(cuda, &layout, grads.on(place)?, slice, devices)
        };
        let rooms = self.each(room)?;
        let averaging = Average { replicas: self, layout, rooms };
        let averaged = averaging.materialise(grads)?;
        if let Err(error) = averaging.run(found) {
            averaging.abandon(found);
            return Err(error);
        }
        grads.parts = averaged;
        grads.is_joint = true;
        averaging.joint(found)
    }
}

impl Average<'_> {
    /// Writes each device's own gradients into its vector, multiplied by their factors, in `f32`.
    fn materialise(&self, grads: &JointGradients) -> Result<Parts<Gradients>, Error> {
        let materialise = |place, cuda: &Cuda| {
            let (own, room) = (grads.on(place)?, self.rooms.on(place)?);
            let entries = self.layout.entries(own, &room.vector);
            let (results, factors, limit) = (&*entries, None, f32::INFINITY);
            cuda.run_materialise(&Materialise {
                grads: own,
                results,
                factors,
                groups: &[],
                limit,
            })?;
            Ok(Gradients::from(entries))
        };
        self.replicas.each(materialise)
    }

    /// Nobody reads what is not written yet, nor writes to what is still read.
    fn run(&self, found: &Parts<Found>) -> Result<(), Error> {
        let replicas = self.replicas;
        replicas.wait(&replicas.moments()?)?;
        replicas.each(|place, cuda| {
            self.gather(place, cuda)?;
            self.join(place, cuda, found)
        })?;
        replicas.wait(&replicas.moments()?)?;
        replicas.each(|place, cuda| self.hand_on(place, cuda))?;
        replicas.wait(&replicas.moments()?)
    }

    /// Ends an average that failed in the middle, while streams still read copies under way. The memory is used again only behind
    /// these reads. If a device does not take the order to wait, the memory is never used again.
    fn abandon(self, found: &Parts<Found>) {
        let replicas = self.replicas;
        if replicas.moments().and_then(|ended| replicas.wait(&ended)).is_err() {
            std::mem::forget((self.rooms, found.clone()));
        }
    }

    /// Averages this device's slice.
    fn gather(&self, place: usize, cuda: &Cuda) -> Result<(), Error> {
        let (room, slice) = (self.rooms.on(place)?, self.slice(place));
        let stride = slice.len();
        for (number, (other, there)) in self.others(place).enumerate() {
            let from = &self.rooms.on(other)?.vector;
            let to = (&room.others, 4 * stride * number);
            bring(cuda, to, there, from, 4 * slice.start..4 * slice.end)?;
        }
        let own = room.vector.address();
        let ranks = [place, self.rooms.0.len()];
        cuda.average_slice(&self.layout, slice, [own, own], (&room.others, 4 * stride), ranks)
    }

    /// Joins what all have found, the first device's first.
    fn join(&self, place: usize, cuda: &Cuda, found: &Parts<Found>) -> Result<(), Error> {
        let (room, each) = (self.rooms.on(place)?, size_of::<FoundBits>());
        for (other, there) in self.replicas.devices().iter().enumerate() {
            let from = &found.on(other)?.bits;
            bring(cuda, (&room.findings, each * other), there, from, 0..each)?;
        }
        let joint = room.joint.address();
        for other in 1..self.rooms.0.len() {
            let before = if other == 1 { room.findings.address() } else { joint };
            let from = room.findings.address() + (each * other) as u64;
            cuda.launch(MERGE, Grid::one(1), &args![before, joint, from, 0_u32])?;
        }
        Ok(())
    }

    /// Takes the other devices' averages of their slices.
    fn hand_on(&self, place: usize, cuda: &Cuda) -> Result<(), Error> {
        let to = &self.rooms.on(place)?.vector;
        for (other, there) in self.others(place) {
            let slice = self.slice(other);
            let bytes = 4 * slice.start..4 * slice.end;
            bring(cuda, (to, bytes.start), there, &self.rooms.on(other)?.vector, bytes)?;
        }
        Ok(())
    }

    /// Joins the devices' findings into one, which every device gets.
    fn joint(&self, found: &Parts<Found>) -> Result<Parts<Found>, Error> {
        // A parameter that lacks a gradient on two devices is told once, in the order of the first device that tells it.
        let mut missing: Vec<Arc<str>> = Vec::new();
        for name in found.0.iter().flat_map(|found| &found.missing) {
            if !missing.contains(name) {
                missing.push(name.clone());
            }
        }
        let joint = |place, _: &Cuda| {
            Ok(found.on(place)?.joint(self.rooms.on(place)?.joint.clone(), missing.clone()))
        };
        self.replicas.each(joint)
    }

    fn slice(&self, place: usize) -> Range<usize> {
        self.layout.slice(place, self.rooms.0.len())
    }

    /// The other devices, in order.
    fn others(&self, place: usize) -> impl Iterator<Item = (usize, &Cuda)> {
        self.replicas.devices().iter().enumerate().filter(move |(other, _)| *other != place)
    }
}

/// Devices, which are a few.
pub(crate) fn count(devices: usize) -> u32 {
    u32::try_from(devices).unwrap_or(u32::MAX)
}
