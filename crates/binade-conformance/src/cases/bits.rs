//! Cases of bits copied to the device and back, on which all other cases rely.

use super::prelude::*;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in [DType::BF16, DType::F16, DType::F32, DType::E4M3, DType::E5M2] {
        let sentence = "every_pattern_comes_back_and_so_do_the_bits_of_a_nan";
        cases.add(dtype, sentence, move |s: &S, check| {
            let input = patterns(dtype);
            let got = get(s, &put(s, &input)?, dtype, &input.shape)?;
            check.same_codes(&input, &got, &input)
        });
    }
}

/// Returns all codes of narrow types, and awkward and random codes of `f32`.
fn patterns(dtype: DType) -> Stored {
    let mut draw = Draw::new(1);
    let codes: Vec<u64> = match dtype.bytes() {
        1 => (0..256).collect(),
        2 => (0..65536).collect(),
        _ => awkward(dtype).into_iter().chain((0..4097).map(|_| draw.code(dtype))).collect(),
    };
    Stored::code_vector(dtype, codes)
}
