//! Rows of a table: taken out of a tensor, and put back.

use super::{BurnTensor, Elements};
use crate::numbers;
use binade_core::HostRows;
use binade_master_weights::scattered;
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};
use std::mem;

impl BurnTensor {
    /// Returns an `f32` gradient of a table of this shape, with these rows in ascending order.
    pub(crate) fn sparse(
        values: Vec<f32>,
        rows: Vec<usize>,
        (shape, device): (Vec<usize>, Device),
    ) -> Self {
        let rows = HostRows { indices: Some(rows.into()), shape };
        Self { elements: Elements::Host(values, device), rows }
    }

    /// Returns these rows of a dense tensor, [n, width], without their autodiff history.
    pub(crate) fn select(&self, rows: &[usize]) -> Tensor<2> {
        let own = self.of_rows(rows);
        own.flat().reshape([rows.len(), self.rows.width()])
    }

    pub(super) fn with_all_rows(self) -> Self {
        if self.rows.indices.is_none() {
            return self;
        }
        let elements = self.made_of(self.rows.whole(self.floats()));
        Self { elements, rows: HostRows { indices: None, ..self.rows } }
    }

    /// Returns these rows. Rows that the tensor lacks are zeros.
    pub(super) fn of_rows(&self, rows: &[usize]) -> Self {
        let elements = match (&self.rows.indices, &self.elements) {
            (None, Elements::Device(flat)) => {
                let width = self.rows.width();
                let table = flat.clone().inner().reshape([self.shape()[0], width]);
                let own = table.select(0, indices(rows, &flat.device()));
                Elements::Device(own.reshape([rows.len() * width]))
            }
            (_, Elements::Host(values, _)) => self.made_of(self.rows.select(values, rows)),
            (_, Elements::Device(_)) => self.made_of(self.rows.select(&self.floats(), rows)),
        };
        let shape = self.shape().to_vec();
        Self { elements, rows: HostRows { indices: Some(rows.into()), shape } }
    }

    /// Puts rows of the same type into a dense tensor.
    pub(super) fn put(&mut self, new: &Self) {
        let Some(rows) = new.rows.indices.as_deref().filter(|rows| !rows.is_empty()) else {
            return;
        };
        let width = self.rows.width();
        match &mut self.elements {
            Elements::Host(values, _) => scattered(values, &new.floats(), rows, width),
            Elements::Device(flat) => {
                let device = flat.device();
                let (at, new) = (indices(rows, &device), new.flat().to_device(&device));
                // The tensor has a single holder then, so that burn need not copy it.
                let nothing = Elements::Host(Vec::new(), device);
                let Elements::Device(flat) = mem::replace(&mut self.elements, nothing) else {
                    return;
                };
                let all = self.rows.shape[0];
                let table = flat.reshape([all, width]);
                let new = new.reshape([rows.len(), width]);
                let table = table.select_assign(0, at, new, IndexingUpdateOp::Assign);
                self.elements = Elements::Device(table.reshape([all * width]));
            }
        }
    }

    /// Returns the elements on the host.
    pub(crate) fn floats(&self) -> Vec<f32> {
        match &self.elements {
            Elements::Host(values, _) => values.clone(),
            Elements::Device(flat) => numbers::decoded(&flat.to_data()),
        }
    }

    /// Makes elements of this type on this device.
    fn made_of(&self, values: Vec<f32>) -> Elements {
        match &self.elements {
            Elements::Host(_, device) => Elements::Host(values, device.clone()),
            Elements::Device(flat) => Elements::of(values, flat.dtype(), flat.device()),
        }
    }
}

fn indices(rows: &[usize], device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i64> = rows.iter().map(|row| row.cast_signed() as i64).collect();
    let shape = [rows.len()];
    Tensor::from_data(TensorData::new(rows, shape), device)
}
