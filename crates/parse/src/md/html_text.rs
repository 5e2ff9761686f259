//! The words in raw HTML that stands in Markdown: tags, comments, scripts and styles go.

/// Tags become a space, so words on both sides stay apart.
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
        out.push(' ');
        rest = &rest[end..];
    }
    out.push_str(rest);
    entities(&out)
}

fn is_tag(rest: &str) -> bool {
    let second = rest.chars().nth(1);
    second.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
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
