//! Lists of a runner by case name: known failures and excused skips.

/// A part of the names of cases, and a reason.
pub(crate) type Listed = (String, String);

/// Both lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    pub(super) known: Vec<Listed>,
    pub(super) excused: Vec<Listed>,
}

impl Lists {
    /// Returns the reason why a failure of this case is known.
    pub(super) fn why_known(&self, case: &str) -> Option<&str> {
        reason(&self.known, |start| case.starts_with(start))
    }

    /// Returns the reason why a skip of this case is excused.
    pub(super) fn why_excused(&self, case: &str) -> Option<&str> {
        reason(&self.excused, |part| has(case, part))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.excused.is_empty()
    }

    /// Returns the entries that match none of these cases.
    pub(super) fn idle(&self, names: &[String]) -> Vec<Listed> {
        let is_idle = |(part, _): &&Listed| !names.iter().any(|name| has(name, part));
        let excused = self.excused.iter().filter(is_idle).cloned();
        self.known_beside(names).into_iter().chain(excused).collect()
    }

    /// Returns the known failures that match none of these cases.
    pub(super) fn known_beside(&self, names: &[String]) -> Vec<Listed> {
        let is_beside = |(start, _): &&Listed| !names.iter().any(|name| name.starts_with(start));
        self.known.iter().filter(is_beside).cloned().collect()
    }
}

/// Returns the reason of the first entry that matches.
fn reason(list: &[Listed], is_meant: impl Fn(&str) -> bool) -> Option<&str> {
    list.iter().find(|(part, _)| is_meant(part)).map(|(_, why)| why.as_str())
}

/// Returns true if `name` contains `part` at the beginning of a word: `matmul/…` does not contain `mul/`, nor `bf16` `f16`.
fn has(name: &str, part: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_word = part.starts_with(is_of_word);
    let begins = |at: usize| !(is_word && name[..at].ends_with(is_of_word));
    name.char_indices().any(|(at, _)| begins(at) && name[at..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::has;

    #[test]
    fn a_part_begins_where_a_word_of_the_name_does() {
        let name = "log_softmax/f32-e4m3/random_0x4";
        for part in ["log_softmax/", "f32-e4m3", "e4m3/", "-e4m3", "/random_0", "random"] {
            assert!(has(name, part), "{part}");
        }
        for part in ["softmax/", "og_softmax", "32-e4m3", "4m3", "0x4", "x4"] {
            assert!(!has(name, part), "{part}");
        }
    }

    #[test]
    fn a_part_that_stands_inside_a_word_and_again_at_the_beginning_of_one_is_found() {
        assert!(has("matmul/f16/mul", "mul"));
        assert!(has("bf16-f16", "f16"));
        assert!(has("ba-a-a", "a-a"));
        assert!(!has("matmul/bf16", "mul"));
    }
}
