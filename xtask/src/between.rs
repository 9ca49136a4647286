//! A part of a committed text that a command writes: what stands between two lines of its own.

use std::fs;

use crate::{Result, shell::root};

/// Where such a part stands.
pub(crate) struct Between {
    /// From the root.
    pub(crate) file: &'static str,
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

impl Between {
    /// Puts `part` there, with an empty line on either side.
    pub(crate) fn write(&self, part: &str) -> Result<()> {
        let path = root().join(self.file);
        let text = fs::read_to_string(&path)?;
        let (before, _, after) = self.around(&text)?;
        let (begin, end) = (self.begin, self.end);
        Ok(fs::write(path, format!("{before}{begin}\n{part}\n{end}{after}"))?)
    }

    /// What stands there.
    pub(crate) fn read(&self) -> Result<String> {
        let text = fs::read_to_string(root().join(self.file))?;
        let (_, part, _) = self.around(&text)?;
        Ok(part.to_owned())
    }

    /// The text before the part, the part, and the text behind it.
    fn around<'t>(&self, text: &'t str) -> Result<(&'t str, &'t str, &'t str)> {
        let Self { file, begin, end } = self;
        let halves = text.split_once(begin);
        let parts = halves.and_then(|(before, rest)| Some((before, rest.split_once(end)?)));
        let (before, (part, after)) =
            parts.ok_or_else(|| format!("{file} has no place for it: {begin}{end}"))?;
        Ok((before, part, after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_found_between_its_lines() {
        let place = Between { file: "a.md", begin: "<!-- b -->\n", end: "<!-- e -->\n" };
        let text = "a\n<!-- b -->\n\n| b |\n\n<!-- e -->\nc\n";
        assert_eq!(place.around(text).unwrap(), ("a\n", "\n| b |\n\n", "c\n"));
        let error = place.around("a").unwrap_err().to_string();
        assert_eq!(error, "a.md has no place for it: <!-- b -->\n<!-- e -->\n");
    }
}
