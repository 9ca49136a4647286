//! Presets as data: a framework's published lists, and Binade's own names on them.

mod apex_o1;
mod torch_cpu;
mod torch_cuda;

use crate::Category;
use std::cmp::Ordering;

/// Lists of one framework.
#[derive(Debug)]
pub(crate) struct Preset {
    /// Name in saved tables.
    pub(crate) id: &'static str,
    /// Name in explanations.
    pub(crate) title: &'static str,
    /// True if promotion refuses a narrow type that is not the region's, as torch's does.
    pub(crate) strict_promotion: bool,
    /// Lists by category, each sorted by byte.
    pub(crate) lists: &'static [(Category, &'static [&'static str])],
    /// Names of Binade for operations that the framework lists under another, or composes of several.
    pub(crate) aliases: &'static [(&'static str, &'static str)],
}

/// Presets, for loading one by its id.
pub(crate) const ALL: [&Preset; 4] = [&EMPTY, &TORCH_CUDA, &TORCH_CPU, &APEX_O1];

/// Ids of all presets, in order.
pub(crate) const IDS: [&str; 4] = [ALL[0].id, ALL[1].id, ALL[2].id, ALL[3].id];

/// Preset without lists.
pub(crate) static EMPTY: Preset = Preset {
    id: "empty",
    title: "the empty table",
    strict_promotion: false,
    lists: &[],
    aliases: &[],
};
pub(crate) static TORCH_CUDA: Preset = torch_cuda::PRESET;
pub(crate) static TORCH_CPU: Preset = torch_cpu::PRESET;
pub(crate) static APEX_O1: Preset = apex_o1::PRESET;

impl Preset {
    /// Returns the list that `operation` is on, and its name there. Overload suffixes are ignored on both sides.
    pub(crate) fn find(&self, operation: &str) -> Option<(Category, &'static str)> {
        let alias = self.aliases.iter().find(|(own, _)| *own == operation);
        let name = base(alias.map_or(operation, |(_, listed)| listed));
        self.lists.iter().find_map(|&(category, names)| {
            // '.' sorts before every letter, digit and underscore, so that order by name is order by base name.
            let found = names.binary_search_by(|listed| base(listed).cmp(name));
            found.ok().map(|at| (category, first_overload(names, at, name)))
        })
    }
}

/// Returns the name without its overload: `softmax` of `softmax.int`.
fn base(name: &str) -> &str {
    name.split_once('.').map_or(name, |(base, _)| base)
}

/// Returns the first of several overloads, since binary search may land on any of them.
fn first_overload(names: &'static [&'static str], at: usize, name: &str) -> &'static str {
    let before = names[..at].iter().rev().take_while(|n| base(n).cmp(name) == Ordering::Equal);
    names[at - before.count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_sorted_by_byte_without_repeats() {
        for preset in ALL {
            for (category, names) in preset.lists {
                assert!(names.is_sorted_by(|a, b| a < b), "{} {category:?}", preset.id);
            }
        }
    }

    #[test]
    fn no_operation_is_on_two_lists_of_a_preset() {
        for preset in ALL {
            for (category, name) in
                preset.lists.iter().flat_map(|(c, n)| n.iter().map(move |n| (c, n)))
            {
                let found = preset.find(name).map(|(found, _)| found);
                assert_eq!(found, Some(*category), "{} {name}", preset.id);
            }
        }
    }

    #[test]
    fn every_alias_leads_to_a_list() {
        for preset in ALL {
            for (own, listed) in preset.aliases {
                assert!(preset.find(own).is_some(), "{own}");
                let on_a_list = preset.lists.iter().any(|(_, names)| names.contains(listed));
                assert!(on_a_list, "{listed}");
            }
        }
    }
}
