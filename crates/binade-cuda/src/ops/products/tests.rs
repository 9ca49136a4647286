//! Number of ranges of products, by shape, type and tile.

use super::*;

const ALL: [(&Sizes, DType); 3] =
    [(&OF_BF16_80, DType::BF16), (&OF_F16_75, DType::F16), (&OF_F32, DType::F32)];

fn of(tile: &Kernels, sizes @ [m, n, _]: [usize; 3], dtype: DType) -> usize {
    let tiles = m.div_ceil(tile.rows) * n.div_ceil(tile.columns);
    tile.ranges(tiles, sizes, dtype, false)
}

#[test]
fn large_square_products_and_short_sums_are_not_cut() {
    for (sizes, dtype) in ALL {
        for tile in [&sizes.large, &sizes.small] {
            for shape in [[4096; 3], [2048; 3], [4096, 1024, 4096], [1, 1, 1023], [64, 64, 0]] {
                assert_eq!(of(tile, shape, dtype), 1, "{dtype} {shape:?}");
            }
        }
    }
}

#[test]
fn gradients_of_weights_fill_a_gpu_once() {
    let (sizes, dtype) = ALL[0];
    // Shapes: 768 by 768 from 8192 rows; 64 outputs and 64 channels of 3 by 3 from 32 images of 56 by 56.
    assert_eq!(of(&sizes.large, [768, 768, 8192], dtype), 7);
    assert_eq!(of(&sizes.small, [64, 576, 32 * 56 * 56], dtype), 42);
    assert_eq!(of(&sizes.small, [1, 1, 1024], dtype), 2);
}

#[test]
fn products_by_pair_are_cut_where_sums_are_an_eighth_of_their_operands() {
    let (sizes, dtype) = ALL[0];
    let by_pair = |tiles, shape| sizes.small.ranges(tiles, shape, dtype, true);
    // Attention's values: 32 tiles, whose sums would be as large as half of the weights.
    assert_eq!(by_pair(32, [2048, 64, 2048]), 1);
    assert_eq!(by_pair(1, [64, 64, 65_536]), 64);
    assert_eq!(by_pair(1, [1, 1, 1024]), 2);
    assert_eq!(by_pair(1, [1, 1, 0]), 1);
}

#[test]
fn sums_are_a_third_of_what_was_read_at_most_and_no_range_is_empty() {
    for (sizes, dtype) in ALL {
        for tile in [&sizes.large, &sizes.small] {
            for k in [1, 33, 1024, 5000, 65_537, 1_000_003] {
                for tiles in [1, 2, 3, 17, 100] {
                    let sizes = [tile.rows, tile.columns * tiles, k];
                    let ranges = tile.ranges(tiles, sizes, dtype, false);
                    let deep = k.div_ceil(DEEP);
                    assert!((ranges - 1) * deep.div_ceil(ranges) < deep, "{ranges} of {k}");
                    assert!(ranges == 1 || ranges * tiles <= tile.room);
                    let read = (tile.rows + tile.columns) * k * dtype.bytes();
                    let left = 8 * tile.rows * tile.columns * ranges;
                    assert!(ranges == 1 || 3 * left <= read, "{dtype} {ranges} of {k}");
                    assert!(4 * tile.rows * tile.columns * tile.room <= 17 << 20);
                }
            }
        }
    }
}
