//! dropout, forward and backward, against the CPU.

use crate::{
    agree::{Within, mixed, stranger},
    on_both,
    support::{Result, cuda, kind},
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{Download, Dropout, Upload};

crate::tests![
    the_mask_is_the_cpus_bit_for_bit,
    a_probability_of_0_keeps_all_and_of_1_nothing,
    each_counter_has_a_mask_of_its_own_and_the_host_reads_none,
    operands_that_do_not_fit_are_refused_with_the_cpus_words,
];

/// Seeds and counters whose every half has bits.
const KEYS: [[i64; 2]; 3] = [[0, 0], [-3, 1 << 40 | 5], [0x1234_5678_9abc_def0, -1]];

fn the_mask_is_the_cpus_bit_for_bit() -> Result {
    for key in KEYS {
        for len in [1, 8, 61, 2049] {
            let x = vec![(mixed(1, len), vec![len])];
            on_both!(
                x,
                |device, x| [
                    device.dropout(&x[0], &device.upload_i64(&key, &[2])?, 0.3)?,
                    device.dropout_backward(&x[0], &device.upload_i64(&key, &[2])?, 0.75)?
                ],
                Within::Bits
            );
        }
    }
    Ok(())
}

fn a_probability_of_0_keeps_all_and_of_1_nothing() -> Result {
    for p in [0.0, 1.0, 1e-10, 0.999_999_9] {
        let x = vec![(mixed(1, 45), vec![5, 9])];
        on_both!(
            x,
            |device, x| [device.dropout(&x[0], &device.upload_i64(&KEYS[1], &[2])?, p)?],
            Within::Bits
        );
    }
    let none = vec![(vec![], vec![0])];
    on_both!(
        none,
        |device, x| [device.dropout(&x[0], &device.upload_i64(&KEYS[1], &[2])?, 0.5)?],
        Within::Bits
    );
    Ok(())
}

fn each_counter_has_a_mask_of_its_own_and_the_host_reads_none() -> Result {
    let device = cuda();
    let x = device.upload(&[1.0; 4096], &[4096], DType::F32)?;
    // A slice, as a counter among others is.
    let counters = device.upload_i64(&[9, 7, 0, 7, 1], &[5])?;
    let before = device.ledger().syncs;
    let first = device.dropout(&x, &counters.slice(1, 2)?, 0.25)?;
    let second = device.dropout(&x, &counters.slice(3, 2)?, 0.25)?;
    assert_eq!(device.ledger().syncs, before);
    let [first, second] = [device.download(&first)?, device.download(&second)?];
    assert_ne!(first, second);
    let dropped = first.iter().filter(|x| **x == 0.0).count();
    assert!((900..1150).contains(&dropped), "{dropped} of 4096 at 0.25");
    assert!(first.iter().all(|x| *x == 0.0 || *x == 1.0 / 0.75));
    Ok(())
}

fn operands_that_do_not_fit_are_refused_with_the_cpus_words() -> Result {
    fn words<D: Upload + Dropout>(device: &D) -> Result<Vec<String>> {
        let text = |error: D::Error| error.to_string();
        let x = device.upload(&[1.0; 2], &[2], DType::F32).map_err(text)?;
        let key = device.upload_i64(&[1, 2], &[2]).map_err(text)?;
        let long = device.upload_i64(&[1, 2, 3], &[3]).map_err(text)?;
        let said = [
            device.dropout(&x, &key, -0.1).err(),
            device.dropout(&x, &key, 1.5).err(),
            device.dropout(&x, &key, f32::NAN).err(),
            device.dropout(&x, &long, 0.5).err(),
            device.dropout(&x, &x, 0.5).err(),
            device.dropout(&key, &key, 0.5).err(),
        ];
        Ok(said.into_iter().map(|error| error.map(text).unwrap_or_default()).collect())
    }
    let want = words(&Cpu)?;
    assert!(want.iter().all(|words| !words.is_empty()), "{want:?}");
    assert_eq!(words(&cuda())?, want);
    let (device, there) = stranger()?;
    let key = device.upload_i64(&KEYS[0], &[2])?;
    assert_eq!(kind(device.dropout(&there, &key, 0.5)), ErrorKind::Mismatch);
    Ok(())
}
