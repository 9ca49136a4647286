//! Links and headings of Markdown, as `pulldown-cmark` reads it.

use std::{collections::BTreeMap, ops::Range};

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

/// The places of the destinations of links, `[text](destination)` and `[text]: destination`, in order.
pub(super) fn links(text: &str) -> Vec<Range<usize>> {
    let within = |range: Range<usize>, destination: &str| {
        let start = range.start + text[range].rfind(destination)?;
        Some(start..start + destination.len())
    };
    let parser = Parser::new(text);
    let definitions = parser.reference_definitions().iter();
    let definitions = definitions.filter_map(|(_, it)| within(it.span.clone(), &it.dest));
    let mut found: Vec<_> = definitions.collect();
    found.extend(parser.into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(
            Tag::Link { link_type: LinkType::Inline, dest_url, .. }
            | Tag::Image { link_type: LinkType::Inline, dest_url, .. },
        ) => within(range, &dest_url),
        _ => None,
    }));
    found.sort_by_key(|place| place.start);
    found
}

/// The anchors of the headings, with the `#`, as mdBook and the forges make them: small letters, and a hyphen for each space.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let (mut seen, mut anchors) = (BTreeMap::new(), Vec::new());
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(words) | Event::Code(words), Some(heading)) => *heading += &words,
            (Event::End(TagEnd::Heading(_)), _) => {
                let name = name(&heading.take().unwrap_or_default());
                let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(0);
                anchors.push(if *count == 0 {
                    format!("#{name}")
                } else {
                    format!("#{name}-{count}")
                });
            }
            _ => {}
        }
    }
    anchors
}

fn name(heading: &str) -> String {
    let kept = heading.chars().filter(|&c| c.is_alphanumeric() || "_- ".contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A link's file, which may be empty, and its anchor with the `#`; nothing for what is on the net.
pub(super) fn parts(link: &str) -> Option<(&str, &str)> {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| scheme.chars().all(char::is_alphanumeric)) {
        return None;
    }
    Some(link.split_at(link.find('#').unwrap_or(link.len())))
}

/// The path from the root that `link` means in the file `from`; nothing where it leads out of the repository.
pub(super) fn resolve(from: &str, link: &str) -> Option<String> {
    let mut path: Vec<_> = from.split('/').collect();
    path.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()?),
            name => path.push(name),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_where_they_are_no_code() {
        let text = "é [a](b.md) and [`c`](d.md#e \"title\"), ``[f](`g)``\n\n```sh\n[h](i)\n```\n[j]: k\n\n[m][j] ![n](o)\n";
        let found: Vec<_> = links(text).into_iter().map(|place| &text[place]).collect();
        assert_eq!(found, ["b.md", "d.md#e", "k", "o"]);
    }

    #[test]
    fn headings_are_called_as_they_are_elsewhere() {
        let text =
            "# A `b` & C, d_e\n```sh\n# no\n```\n## [Two](x.md) words\n## Same\n#no\n## Same\n";
        assert_eq!(anchors(text), ["#a-b--c-d_e", "#two-words", "#same", "#same-1"]);
    }
}
