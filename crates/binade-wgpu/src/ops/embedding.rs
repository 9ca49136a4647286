//! Rows of a table by index.

use super::operands::by_group;
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{self, code, count},
    },
};
use binade_core::ops::Fill;
use binade_gpu::{Driver, EmbeddingKernels};

impl EmbeddingKernels for Wgpu {
    fn launch_embedding(&self, [table, indices]: [&Tensor; 2], result: &Tensor) -> Result {
        let (rows, width) = (table.shape()[0], table.shape()[1]);
        if width > 0 {
            return self.look_up("embedding", [table, indices, result], [rows, width]);
        }
        // An index is checked with the elements of its row, so empty rows get one element.
        let table = self.fill(0.0, &[rows, 1], result.dtype())?;
        let result = self.unset(result.dtype(), &[indices.len(), 1])?;
        self.look_up("embedding", [&table, indices, &result], [rows, 1])
    }

    fn launch_embedding_backward(&self, [grad, indices]: [&Tensor; 2], result: &Tensor) -> Result {
        let table = [result.shape()[0], result.shape()[1]];
        self.look_up("embedding_backward", [grad, indices, result], table)
    }
}

impl Wgpu {
    fn look_up(
        &self,
        shader: &'static str,
        [from, indices, to]: [&Tensor; 3],
        [rows, width]: [usize; 2],
    ) -> Result {
        for part in self.parts_of(to) {
            let ((from, start), (output, _)) =
                (self.whole(from)?, Bound::elements(to, part.clone()));
            let (words, indices_start) = self.whole_words(indices)?;
            let params = structs::Embedding {
                len: count(part.len()),
                dtype: code(shader, to.dtype())?,
                starts: [start, 0],
                first: count(part.start),
                rows: count(rows),
                width: count(width),
                count: count(indices.len()),
                indices_start,
            };
            let bound = vec![from, output, words, self.fault_record()?];
            self.dispatch(shader, &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }
}
