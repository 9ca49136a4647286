//! Rows of a table by index.

use super::operands::by_group;
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{self, code, count},
    },
};
use binade_gpu::EmbeddingKernels;

impl EmbeddingKernels for Wgpu {
    fn launch_embedding(&self, [table, indices]: [&Tensor; 2], result: &Tensor) -> Result {
        self.look_up("embedding", [table, indices, result], table.shape())
    }

    fn launch_embedding_backward(&self, [grad, indices]: [&Tensor; 2], result: &Tensor) -> Result {
        self.look_up("embedding_backward", [grad, indices, result], result.shape())
    }
}

impl Wgpu {
    fn look_up(
        &self,
        shader: &'static str,
        [from, indices, to]: [&Tensor; 3],
        table: &[usize],
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
                rows: count(table[0]),
                width: count(table[1]),
                count: count(indices.len()),
                indices_start,
            };
            let bound = vec![from, output, words, self.fault_record()?];
            self.dispatch(shader, &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }
}
