//! Row of a device's table: the constants of a step in the order in which kernels read them.

/// Constants of one step as numbers, where flags are 0 and 1. Behind the constants of a rule with fewer are zeros.
pub(super) type Row = [f32; 16];

/// Returns a row that begins with these constants.
pub(super) fn padded(constants: &[f32]) -> Row {
    let mut row = [0.0; 16];
    row[..constants.len()].copy_from_slice(constants);
    row
}

/// Returns the row of a rule that steps by norms of whole tensors. One kernel steps by all of these, and distinguishes them by the last constant: 1
/// for LAMB, 2 for `NovoGrad`, 3 for LARS.
pub(super) fn of_kind(kind: u8, constants: &[f32]) -> Row {
    let mut row = padded(constants);
    row[15] = kind.into();
    row
}

#[cfg(test)]
mod tests {
    use super::super::{Lamb, NovoGrad, StepConstants, UpdateRule};
    use super::*;

    #[test]
    fn a_device_makes_the_rows_of_later_steps_of_rules_of_whole_tensors_from_the_first() {
        let UpdateRule::Lamb(lamb) = UpdateRule::lamb(0.1) else { unreachable!() };
        let UpdateRule::NovoGrad(novograd) = UpdateRule::novograd(0.1) else { unreachable!() };
        let rules = [
            (1.0, UpdateRule::Lamb(lamb)),
            (1.0, UpdateRule::Lamb(Lamb { bias_correction: false, ..lamb })),
            (2.0, UpdateRule::NovoGrad(novograd)),
            (2.0, UpdateRule::NovoGrad(NovoGrad { bias_correction: false, ..novograd })),
            (3.0, UpdateRule::larc(0.1)),
        ];
        for (kind, rule) in rules {
            assert!(rule.has_rows_of_the_first(), "{rule:?}");
            let row: Row = StepConstants::at(&rule, 3).into();
            assert_eq!(row[15], kind, "{rule:?}");
        }
    }
}
