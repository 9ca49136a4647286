//! Shapes: elements stay as they are, bit for bit.

use super::matmul::matmul;
use super::prelude::*;
use crate::CaseGroup;

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        cases.add(dtype, "every_element_keeps_its_bits", move |run| {
            let mut input = Stored::from_codes(dtype, &[], awkward(dtype));
            input.shape = vec![input.len()];
            for shape in [vec![1, input.len()], vec![2, input.len() / 2], vec![input.len(), 1, 1]] {
                for offset in [0, 1, 3] {
                    OpCase::new(OpInvocation::Reshape { shape: shape.clone() }, &[&input])
                        .at(offset)
                        .same(run, &input)?;
                }
            }
            let none = Stored::vector(dtype, []);
            OpCase::new(OpInvocation::Reshape { shape: vec![3, 0] }, &[&none]).same(run, &none)
        });
        cases.add(dtype, "what_comes_next_sees_the_new_shape", move |run| {
            let a = uniform(1, dtype, &[3, 8], [-1.0, 1.0]);
            let b = uniform(2, dtype, &[6, 5], [-1.0, 1.0]);
            let wanted = matmul(&values(&a), &values(&b), [4, 6, 5]);
            OpCase::new(OpInvocation::Reshape { shape: vec![4, 6] }, &[&a]).then(
                run,
                (CaseGroup::MatMul, &OpInvocation::MatMul, &b),
                (dtype, wanted),
            )
        });
    }
    let sentence = "another_number_of_elements_is_a_mismatch";
    let all = vec![(OpInvocation::Reshape { shape: vec![4] }, vec![ones(DType::F32, &[2, 3])])];
    refusals(cases, sentence, ErrorKind::Mismatch, all);
}

/// Agreement: bits. Elements are copied.
pub(super) const AGREEMENT: Agrees = |_| Agreement::Bits;
