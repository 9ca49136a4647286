//! Shapes: elements stay as they are, bit for bit.

use super::matmul::matmul;
use super::prelude::*;
use crate::CaseGroup;
use crate::OpInvocation::{MatMul, Reshape};

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        cases.add(dtype, "every_element_keeps_its_bits", move |run| {
            let input = Stored::code_vector(dtype, awkward(dtype));
            for shape in [vec![1, input.len()], vec![2, input.len() / 2], vec![input.len(), 1, 1]] {
                for offset in [0, 1, 3] {
                    run.at(offset).same(Reshape { shape: shape.clone() }, &[&input], &input)?;
                }
            }
            let none = Stored::vector(dtype, []);
            run.same(Reshape { shape: vec![3, 0] }, &[&none], &none)
        });
        cases.add(dtype, "what_comes_next_sees_the_new_shape", move |run| {
            let a = uniform(1, dtype, &[3, 8], [-1.0, 1.0]);
            let b = uniform(2, dtype, &[6, 5], [-1.0, 1.0]);
            let wanted = matmul(&values(&a), &values(&b), [4, 6, 5]);
            let reshape = Reshape { shape: vec![4, 6] };
            run.then((&reshape, &a), (CaseGroup::MatMul, &MatMul, &b), (dtype, wanted))
        });
    }
    let sentence = "another_number_of_elements_is_a_mismatch";
    let all = [(Reshape { shape: vec![4] }, "2x3")];
    refusals(cases, sentence, ErrorKind::Mismatch, all);
}
