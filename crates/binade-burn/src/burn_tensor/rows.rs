//! Rows of a table: taken out of a tensor, and put back.

use super::{BurnTensor, Elements};
use crate::numbers;
use burn::tensor::{Device, IndexingUpdateOp, Int, Shape, Tensor, TensorData};
use std::{borrow::Cow, mem};

impl BurnTensor {
    /// Returns the gradient of a table of this shape that has these rows, in ascending order, in `f32`.
    pub(crate) fn sparse(
        values: Vec<f32>,
        rows: Vec<usize>,
        (shape, device): (Shape, Device),
    ) -> Self {
        Self { elements: Elements::Host(values, device), shape, rows: Some(rows.into()) }
    }

    /// Returns these rows of a whole tensor, [n, width], without their history.
    pub(crate) fn select(&self, rows: &[usize]) -> Tensor<2> {
        let own = self.of_rows(rows);
        own.flat().reshape([rows.len(), self.width()])
    }

    /// Returns the number of elements of a row, at least 1.
    pub(super) fn width(&self) -> usize {
        self.shape().iter().skip(1).product::<usize>().max(1)
    }

    pub(super) fn with_all_rows(self) -> Self {
        let Some(rows) = &self.rows else { return self };
        let (mut values, width) = (vec![0.0; self.shape.num_elements()], self.width());
        for (row, own) in rows.iter().zip(self.floats().chunks(width)) {
            values[row * width..][..width].copy_from_slice(own);
        }
        let elements = self.made_of(values);
        Self { elements, shape: self.shape, rows: None }
    }

    /// Returns these rows, of which one that is not here is zeros.
    pub(super) fn of_rows(&self, rows: &[usize]) -> Self {
        let width = self.width();
        let elements = match (&self.rows, &self.elements) {
            (None, Elements::Device(flat)) => {
                let table = flat.clone().inner().reshape([-1, width.cast_signed() as i64]);
                let own = table.select(0, indices(rows, &flat.device()));
                Elements::Device(own.reshape([rows.len() * width]))
            }
            (own, _) => {
                let all = match &self.elements {
                    Elements::Host(values, _) => Cow::Borrowed(&values[..]),
                    Elements::Device(flat) => Cow::Owned(numbers::decoded(&flat.to_data())),
                };
                let mut values = vec![0.0; rows.len() * width];
                for (row, new) in rows.iter().zip(values.chunks_mut(width)) {
                    let place = own.as_ref().map_or(Some(*row), |own| own.binary_search(row).ok());
                    if let Some(place) = place {
                        new.copy_from_slice(&all[place * width..][..width]);
                    }
                }
                self.made_of(values)
            }
        };
        Self { elements, shape: self.shape.clone(), rows: Some(rows.into()) }
    }

    /// Puts rows of this type in their places of a whole tensor.
    pub(super) fn put(&mut self, new: &Self) {
        let Some(rows) = new.rows.as_deref().filter(|rows| !rows.is_empty()) else { return };
        let width = self.width();
        match &mut self.elements {
            Elements::Host(values, _) => {
                for (row, new) in rows.iter().zip(new.floats().chunks(width)) {
                    values[row * width..][..width].copy_from_slice(new);
                }
            }
            Elements::Device(flat) => {
                let device = flat.device();
                let (at, new) = (indices(rows, &device), new.flat().to_device(&device));
                // Held once, so that burn has no need of a copy.
                let nothing = Elements::Host(Vec::new(), device);
                let Elements::Device(flat) = mem::replace(&mut self.elements, nothing) else {
                    return;
                };
                let (len, columns) = (self.shape.num_elements(), width.cast_signed() as i64);
                let table = flat.reshape([-1, columns]);
                let new = new.reshape([-1, columns]);
                let table = table.select_assign(0, at, new, IndexingUpdateOp::Assign);
                self.elements = Elements::Device(table.reshape([len]));
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
