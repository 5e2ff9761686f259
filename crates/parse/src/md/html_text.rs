//! The words in raw HTML that stands in Markdown: tags, comments, scripts and styles go.

/// Tags become a space, so words on both sides stay apart, but for those that mark up letters
/// within a word.
pub(super) fn words(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        if !is_tag(rest) {
            out.push('<');
            rest = &rest[1..];
            continue;
        }
        let end = end_of_tag(rest);
        if let Some(alt) = alternative_text(&rest[..end]) {
            out.push_str(alt);
        }
        if !is_within_words(&rest[..end]) {
            out.push(' ');
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    entities(&out)
}

fn is_tag(rest: &str) -> bool {
    let second = rest.chars().nth(1);
    second.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
}

fn is_within_words(tag: &str) -> bool {
    const WITHIN: &[&str] = &[
        "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i",
        "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
        "tt", "u", "var", "wbr",
    ];
    let name = tag.trim_start_matches(['<', '/']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric());
    let name = &name[..end.unwrap_or(name.len())];
    tag.starts_with("<!--")
        || WITHIN
            .iter()
            .any(|within| within.eq_ignore_ascii_case(name))
}

fn end_of_tag(rest: &str) -> usize {
    let through = |mark: &str| rest.find(mark).map_or(rest.len(), |at| at + mark.len());
    let starts = |name: &str| {
        rest.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    if rest.starts_with("<!--") {
        through("-->")
    } else if starts("<script") {
        through("</script>")
    } else if starts("<style") {
        through("</style>")
    } else {
        through(">")
    }
}

fn alternative_text(tag: &str) -> Option<&str> {
    if !tag.get(..4)?.eq_ignore_ascii_case("<img") {
        return None;
    }
    let (_, after) = tag.split_once("alt=")?;
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    after[1..].split(quote).next()
}

fn entities(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    text.replace("&nbsp;", " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}
