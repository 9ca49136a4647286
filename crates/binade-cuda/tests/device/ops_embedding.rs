//! embedding, forward and backward, against the CPU, where all indices point somewhere.

use crate::{
    agree::{Within, mixed, stranger},
    on_both,
    support::{Result, cuda, kind, noise},
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{Embedding, Upload};

crate::tests![
    rows_are_copied_bit_for_bit,
    the_tables_gradient_is_the_cpus_bit_for_bit,
    an_index_that_occurs_a_thousand_times_is_summed_in_the_cpus_order,
    indices_that_occur_often_lie_beside_those_that_do_not,
    indices_of_three_digits_are_sorted_by_all_of_them,
    tables_and_lists_of_nothing_are_nothing,
    operands_that_do_not_fit_are_refused_with_the_cpus_words,
    operands_of_another_handle_are_refused,
];

fn rows_are_copied_bit_for_bit() -> Result {
    for width in [1, 7, 8, 24, 33] {
        let table = vec![(mixed(1, 5 * width), vec![5, width])];
        on_both!(
            table,
            |device, x| [
                device.embedding(&x[0], &device.upload_i64(&[4, 0, 3, 3, 1, 4], &[2, 3])?)?
            ],
            Within::Bits
        );
    }
    // A signalling NaN has no f32 that gives it back.
    let code = 0x7c01_u16.to_le_bytes();
    let table = cuda().from_bits(&code, DType::F16, &[1, 1])?;
    let row = cuda().embedding(&table, &cuda().upload_i64(&[0], &[1])?)?;
    assert_eq!(cuda().to_bits(&row)?, code);
    Ok(())
}

/// Rows of one digit and of two, more indices than several chunks have, more columns than a group.
fn the_tables_gradient_is_the_cpus_bit_for_bit() -> Result {
    let shapes = [(3, 5, 7), (70, 300, 3), (2, 600, 4), (40, 33, 259), (256, 12_300, 1)];
    for (rows, count, width) in shapes {
        let mut random = fastrand::Rng::with_seed(1);
        let indices: Vec<_> = (0..count).map(|_| random.i64(0..rows)).collect();
        let grad = vec![(noise(1, count * width), vec![count, width])];
        on_both!(
            grad,
            |device, x| [device.embedding_backward(
                &x[0],
                &device.upload_i64(&indices, &[count])?,
                usize::try_from(rows)?
            )?],
            Within::Bits
        );
    }
    let awkward = vec![(mixed(2, 20), vec![2, 5, 2])];
    on_both!(
        awkward,
        |device, x| [device.embedding_backward(
            &x[0],
            &device.upload_i64(&[0, 1, 2, 3, 4, 0, 1, 2, 3, 4], &[2, 5])?,
            6
        )?],
        Within::Bits
    );
    Ok(())
}

fn an_index_that_occurs_a_thousand_times_is_summed_in_the_cpus_order() -> Result {
    let grad = vec![(noise(3, 1000), vec![1000, 1])];
    on_both!(
        grad,
        |device, x| [device.embedding_backward(
            &x[0],
            &device.upload_i64(&[1; 1000], &[1000])?,
            2
        )?],
        Within::Bits
    );
    Ok(())
}

/// As in text: the first few make up the most of it.
fn indices_that_occur_often_lie_beside_those_that_do_not() -> Result {
    let (count, width) = (1500, 43);
    let mut random = fastrand::Rng::with_seed(2);
    let mut one = || {
        let most = random.i64(1..400);
        random.i64(0..most) * random.i64(0..2)
    };
    let indices: Vec<_> = (0..count).map(|_| one()).collect();
    let occurring = |index| indices.iter().filter(|other| **other == index).count();
    // More than fit a stage, and more than are short beside few.
    assert!(occurring(0) > 2 * 256 && (1..400).any(|index| (1..9).contains(&occurring(index))));
    let grad = vec![(noise(4, count * width), vec![count, width])];
    on_both!(
        grad,
        |device, x| [device.embedding_backward(
            &x[0],
            &device.upload_i64(&indices, &[count])?,
            400
        )?],
        Within::Bits
    );
    Ok(())
}

fn indices_of_three_digits_are_sorted_by_all_of_them() -> Result {
    // Equal in one digit, or in two.
    let indices = [69_999, 0x0203, 0x1_0203, 3, 0x0203, 0x0103, 0x1_0003, 0, 69_999, 0x1_0203];
    let grad = vec![(noise(5, 10), vec![10, 1])];
    on_both!(
        grad,
        |device, x| [device.embedding_backward(
            &x[0],
            &device.upload_i64(&indices, &[10])?,
            70_000
        )?],
        Within::Bits
    );
    Ok(())
}

fn tables_and_lists_of_nothing_are_nothing() -> Result {
    let none = || vec![(vec![], vec![0, 3])];
    on_both!(
        [(vec![1.0; 6], vec![2, 3])],
        |device, x| [device.embedding(&x[0], &device.upload_i64(&[], &[0])?)?],
        Within::Bits
    );
    on_both!(
        [(vec![], vec![2, 0])],
        |device, x| [device.embedding(&x[0], &device.upload_i64(&[1], &[1])?)?],
        Within::Bits
    );
    on_both!(
        none(),
        |device, x| [
            device.embedding_backward(&x[0], &device.upload_i64(&[], &[0])?, 4)?,
            device.embedding_backward(&x[0], &device.upload_i64(&[], &[0])?, 0)?
        ],
        Within::Bits
    );
    Ok(())
}

fn operands_that_do_not_fit_are_refused_with_the_cpus_words() -> Result {
    fn words<D: Upload + Embedding>(device: &D) -> Result<Vec<String>> {
        let text = |error: D::Error| error.to_string();
        let vector = device.upload(&[1.0; 3], &[3], DType::F32).map_err(text)?;
        let table = device.upload(&[1.0; 6], &[2, 3], DType::F32).map_err(text)?;
        let whole = device.upload_i64(&[1; 6], &[2, 3]).map_err(text)?;
        let indices = device.upload_i64(&[1, 0], &[2]).map_err(text)?;
        let said = [
            device.embedding(&vector, &indices).err(),
            device.embedding(&whole, &indices).err(),
            device.embedding(&table, &vector).err(),
            device.embedding_backward(&table, &vector, 2).err(),
            device.embedding_backward(&vector, &indices, 2).err(),
            device.embedding_backward(&whole, &indices, 2).err(),
        ];
        Ok(said.into_iter().map(|error| error.map(text).unwrap_or_default()).collect())
    }
    let want = words(&Cpu)?;
    assert!(want.iter().all(|words| !words.is_empty()), "{want:?}");
    assert_eq!(words(&cuda())?, want);
    Ok(())
}

fn operands_of_another_handle_are_refused() -> Result {
    let (device, there) = stranger()?;
    let table = there.reshape(&[1, 2])?;
    let indices = device.upload_i64(&[0], &[1])?;
    let refused = [
        kind(device.embedding(&table, &indices)),
        kind(device.embedding_backward(&table, &indices, 1)),
    ];
    assert_eq!(refused, [ErrorKind::Mismatch; 2]);
    Ok(())
}
