//! What a runner lists by name: failures that are known, and skips that are excused.

/// Cases by a part of their names, each with a reason.
type Listed = Vec<(String, String)>;

/// Both lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    known: Listed,
    excused: Listed,
}

impl Lists {
    pub(super) fn know(&mut self, start: String, reason: String) {
        self.known.push((start, reason));
    }

    pub(super) fn excuse(&mut self, part: String, reason: String) {
        self.excused.push((part, reason));
    }

    /// Why a failure of this case is known.
    pub(super) fn known(&self, case: &str) -> Option<&str> {
        reason(&self.known, |start| case.starts_with(start))
    }

    /// Why a skip of this case is excused.
    pub(super) fn excused(&self, case: &str) -> Option<&str> {
        reason(&self.excused, |part| has(case, part))
    }

    /// What is listed and names none of these cases.
    pub(super) fn idle<'l>(&'l self, names: &'l [String]) -> impl Iterator<Item = &'l str> {
        let is_known =
            |(start, _): &&(String, String)| names.iter().any(|it| it.starts_with(start));
        let is_excused = |(part, _): &&(String, String)| names.iter().any(|it| has(it, part));
        let known = self.known.iter().filter(move |entry| !is_known(entry));
        let excused = self.excused.iter().filter(move |entry| !is_excused(entry));
        known.chain(excused).map(|(part, _)| part.as_str())
    }
}

/// The reason of the first entry that is meant.
fn reason(list: &[(String, String)], is_meant: impl Fn(&str) -> bool) -> Option<&str> {
    list.iter().find(|(part, _)| is_meant(part)).map(|(_, why)| why.as_str())
}

/// Whether `part` stands in `name` from the beginning of a word on: `mul/` is no part of `matmul/…`, nor `f16` of `bf16`.
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
