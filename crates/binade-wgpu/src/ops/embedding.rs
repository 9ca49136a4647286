//! Rows of a table by index.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{Embedding, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[&EMBEDDING, &EMBEDDING_BACKWARD];

const EMBEDDING: Shader = Shader {
    name: "embedding",
    file: "embedding",
    params: size_of::<structs::Embedding>(),
    bindings: &[(1, Read), (3, Write), (4, Read), (7, Write)],
};
const EMBEDDING_BACKWARD: Shader = Shader { name: "embedding_backward", ..EMBEDDING };

impl Embedding for Wgpu {
    fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, Error> {
        let shape = shape::embedding(table.shape(), indices.shape())?;
        let dtype = operands::float(Op::EMBEDDING, &[table])?;
        operands::integers(Op::EMBEDDING, indices)?;
        self.has_made_all(&[table, indices])?;
        let result = self.unset(dtype, &shape)?;
        let [rows, width] = [table.shape()[0], table.shape()[1]];
        self.look_up(&EMBEDDING, [table, indices, &result], [rows, width])?;
        Ok(result)
    }

    fn embedding_backward(
        &self,
        grad: &Tensor,
        indices: &Tensor,
        rows: usize,
    ) -> Result<Tensor, Error> {
        let dtype = operands::float(Op::EMBEDDING, &[grad])?;
        let width = grad.shape().last().copied().unwrap_or_default();
        let table = shape::bounded(Op::EMBEDDING, vec![rows, width])?;
        let expected = shape::embedding(&table, indices.shape())?;
        shape::same(Op::EMBEDDING, grad.shape(), &expected)?;
        operands::integers(Op::EMBEDDING, indices)?;
        self.has_made_all(&[grad, indices])?;
        let result = self.unset(dtype, &table)?;
        self.look_up(&EMBEDDING_BACKWARD, [grad, indices, &result], [rows, width])?;
        Ok(result)
    }
}

impl Wgpu {
    fn look_up(
        &self,
        shader: &'static Shader,
        [from, indices, to]: [&Tensor; 3],
        [rows, width]: [usize; 2],
    ) -> Result<(), Error> {
        for part in parts(to.len(), to.dtype().bytes(), self.facts().most_binding_bytes) {
            let ((from, start), (output, _)) =
                (self.whole(from)?, Bound::elements(to, part.clone()));
            let (words, indices_start) = self.whole_words(indices)?;
            let params = structs::Embedding {
                len: count(part.len()),
                dtype: code(shader.name, to.dtype())?,
                starts: [start, 0],
                first: count(part.start),
                rows: count(rows),
                width: count(width),
                count: count(indices.len()),
                indices_start,
            };
            let bound = vec![from, output, words, self.fault_record()?];
            self.dispatch(shader, &params, bound, groups(part.len().div_ceil(GROUP)))?;
        }
        Ok(())
    }
}
