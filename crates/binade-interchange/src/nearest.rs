//! Search for the valid name that a mistaken one most likely meant, for error messages.

/// Returns the name in `valid` with the fewest edits from `word`, ignoring case and surrounding blanks. Of several it returns one that begins with
/// `word`, or else the first. The result is empty only if `valid` is.
pub(crate) fn nearest_name<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> &'a str {
    let word = word.trim().to_lowercase();
    let letters: Vec<_> = word.chars().collect();
    let far = |valid: &&str| (distance(&letters, valid), !valid.starts_with(&word));
    valid.into_iter().min_by_key(far).unwrap_or_default()
}

/// Returns Levenshtein's distance: characters to insert, delete or replace. It keeps only the previous row of the table.
fn distance(from: &[char], to: &str) -> usize {
    let mut row: Vec<_> = (0..=from.len()).collect();
    for (i, wanted) in to.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &given) in from.iter().enumerate() {
            let replaced = diagonal + usize::from(given != wanted);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[from.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(from: &str, to: &str) -> usize {
        distance(&from.chars().collect::<Vec<_>>(), to)
    }

    #[test]
    fn insertions_deletions_and_replacements_count_one_each() {
        for (from, to, count) in [
            ("", "", 0),
            ("", "f16", 3),
            ("f16", "", 3),
            ("fp16", "f16", 1),
            ("f16", "bf16", 1),
            ("kitten", "sitting", 3),
            ("srtict", "strict", 2),
            ("größe", "grösse", 2),
        ] {
            assert_eq!(edits(from, to), count, "{from} {to}");
            assert_eq!(edits(to, from), count, "{to} {from}");
        }
    }

    #[test]
    fn capitals_and_blanks_are_no_edits_and_of_equals_a_longer_form_or_the_first_is_taken() {
        assert_eq!(nearest_name(" F32 ", ["f16", "f32"]), "f32");
        assert_eq!(nearest_name("ban", ["to", "banned"]), "banned");
        assert_eq!(nearest_name("f8", ["f16", "f32"]), "f16");
        assert_eq!(nearest_name("x", []), "");
    }
}
