//! Parameters of a GPT-2 small: 124 million in 148 tensors.

/// Dimensions of a GPT, which decide the shapes of its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gpt {
    pub(crate) width: usize,
    pub(crate) layers: usize,
    pub(crate) words: usize,
    pub(crate) positions: usize,
}

impl Gpt {
    /// Dimensions as published, with the vocabulary rounded up to a multiple of 128 as is usual since.
    pub(crate) const SMALL: Self = Self { width: 768, layers: 12, words: 50304, positions: 1024 };

    /// Dimensions with as many tensors, all of them short.
    pub(crate) const TINY: Self = Self { width: 8, layers: 12, words: 64, positions: 16 };

    /// Returns names and shapes in the order of a forward pass.
    pub(crate) fn shapes(self) -> Vec<(String, Vec<usize>)> {
        let w = self.width;
        let mut all = vec![
            ("words".to_owned(), vec![self.words, w]),
            ("positions".to_owned(), vec![self.positions, w]),
        ];
        for layer in 0..self.layers {
            let name = |(part, shape): (&str, Vec<usize>)| (format!("block.{layer}.{part}"), shape);
            all.extend(block(w).into_iter().map(name));
        }
        all.extend(["weight", "bias"].map(|part| (format!("norm.{part}"), vec![w])));
        all
    }
}

/// Returns one block's parameters: attention and the two linear layers behind it, each with its norm.
fn block(w: usize) -> [(&'static str, Vec<usize>); 12] {
    [
        ("norm1.weight", vec![w]),
        ("norm1.bias", vec![w]),
        ("qkv.weight", vec![3 * w, w]),
        ("qkv.bias", vec![3 * w]),
        ("out.weight", vec![w, w]),
        ("out.bias", vec![w]),
        ("norm2.weight", vec![w]),
        ("norm2.bias", vec![w]),
        ("up.weight", vec![4 * w, w]),
        ("up.bias", vec![4 * w]),
        ("down.weight", vec![w, 4 * w]),
        ("down.bias", vec![w]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_one_has_124_million_parameters_in_148_tensors() {
        let shapes = Gpt::SMALL.shapes();
        let elements: usize = shapes.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        assert_eq!((shapes.len(), elements), (148, 124_475_904));
        assert_eq!(Gpt::TINY.shapes().len(), 148);
    }
}
