//! Links and headings of Markdown, as far as the pages of this repository use it: what is code is none.

use std::{collections::BTreeMap, ops::Range};

/// `text` with each link that `change` has another for.
pub(crate) fn with_links(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let (mut changed, mut done) = (String::new(), 0);
    for place in links(text) {
        if let Some(link) = change(&text[place.clone()]) {
            changed += &text[done..place.start];
            changed += &link;
            done = place.end;
        }
    }
    changed + &text[done..]
}

/// Where the destinations of links stand: `[text](destination)`, and `[text]: destination` on a line of its own.
pub(crate) fn links(text: &str) -> Vec<Range<usize>> {
    let prose = without_spans(&without_blocks(text));
    let mut found = Vec::new();
    for (at, _) in prose.match_indices("](") {
        found.push(destination(&prose, at + 2, |c| c == ')' || c.is_whitespace()));
    }
    for (at, _) in prose.match_indices("]: ") {
        let line = &prose[prose[..at].rfind('\n').map_or(0, |end| end + 1)..at];
        if line.starts_with('[') && !line.contains(']') {
            found.push(destination(&prose, at + 3, char::is_whitespace));
        }
    }
    found.sort_by_key(|place| place.start);
    found
}

fn destination(text: &str, start: usize, ends: impl Fn(char) -> bool) -> Range<usize> {
    start..start + text[start..].find(ends).unwrap_or(text.len() - start)
}

/// A link's file, which may be empty, and its anchor with the `#`; nothing for what is on the net.
pub(crate) fn parts(link: &str) -> Option<(&str, &str)> {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| scheme.chars().all(char::is_alphanumeric)) {
        return None;
    }
    Some(link.split_at(link.find('#').unwrap_or(link.len())))
}

/// The path from the root that `link` means in the file `from`; nothing where it leads out of the repository.
pub(crate) fn resolve(from: &str, link: &str) -> Option<String> {
    let mut path: Vec<_> = from.split('/').collect();
    path.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                path.pop()?;
            }
            name => path.push(name),
        }
    }
    Some(path.join("/"))
}

/// What each heading is called in a link, with the `#`.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let prose = without_blocks(text);
    let mut seen = BTreeMap::new();
    let headings = prose
        .lines()
        .filter(|line| line.starts_with('#') && line.trim_start_matches('#').starts_with(' '));
    let names = headings.map(|line| {
        let name = name(line.trim_start_matches('#').trim());
        let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(0);
        if *count == 0 { format!("#{name}") } else { format!("#{name}-{count}") }
    });
    names.collect()
}

/// A heading in an anchor, as mdBook and the forges make it: small letters, and a hyphen for each space.
fn name(heading: &str) -> String {
    let text = links(heading).into_iter().rev().fold(heading.to_owned(), |mut text, place| {
        text.replace_range(place, "");
        text
    });
    let kept = text.chars().filter(|&c| c.is_alphanumeric() || "_- ".contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// `text` with blocks of code blanked out, at the same length.
fn without_blocks(text: &str) -> String {
    let mut inside = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        if inside || fence { blank(line) } else { line.to_owned() }
    });
    lines.collect()
}

/// `text` with what stands between backquotes blanked out, at the same length.
fn without_spans(text: &str) -> String {
    let (mut prose, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('`') {
        let ticks = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let (before, code) = rest.split_at(at);
        prose += before;
        let end = code[ticks..].find(&code[..ticks]).map_or(ticks, |end| end + 2 * ticks);
        prose += &blank(&code[..end]);
        rest = &code[end..];
    }
    prose + rest
}

fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        links(text).into_iter().map(|place| &text[place]).collect()
    }

    #[test]
    fn links_are_found_where_they_are_no_code() {
        let text = "[a](b.md) and [`c`](d.md#e \"title\"), ``[f](`g)``\n\n```sh\n[h](i)\n```\n[j]: k\n[l] m]: n\n";
        assert_eq!(found(text), ["b.md", "d.md#e", "k"]);
        assert_eq!(found("é `ü` [a](b)"), ["b"]);
    }

    #[test]
    fn links_are_replaced_in_place() {
        let changed =
            with_links("é [a](b), `[a](b)`, [c](d)", |link| (link == "b").then(|| "long".into()));
        assert_eq!(changed, "é [a](long), `[a](b)`, [c](d)");
    }

    #[test]
    fn what_is_on_the_net_is_no_file() {
        assert_eq!(parts("https://a.b/c#d"), None);
        assert_eq!(parts("a.md#b"), Some(("a.md", "#b")));
        assert_eq!(parts("#b"), Some(("", "#b")));
        assert_eq!(parts("a.md"), Some(("a.md", "")));
    }

    #[test]
    fn a_link_is_seen_from_its_file() {
        assert_eq!(resolve("docs/src/a.md", "../b.md").as_deref(), Some("docs/b.md"));
        assert_eq!(resolve("a.md", "./b/").as_deref(), Some("b"));
        assert_eq!(resolve("a/b.md", "../../c"), None);
    }

    #[test]
    fn headings_are_called_as_they_are_elsewhere() {
        let text = "# A `b` & C, d_e\n```sh\n# no heading\n```\n## [Two](x.md) words\n## Same\n#no\n## Same\n";
        assert_eq!(anchors(text), ["#a-b--c-d_e", "#two-words", "#same", "#same-1"]);
    }
}
