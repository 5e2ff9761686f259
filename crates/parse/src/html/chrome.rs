//! What surrounds the content of a web page, known by its element, role and names.

use super::comment;
use super::dom::{Dom, Id};
use super::measure::Measure;

const COMMENT: &str = "comment";

/// Words in names that speak against a node, whatever it holds.
const AGAINST: &[&str] = &[
    "-ad-",
    "ad-break",
    "adbox",
    "advert",
    "advertisement",
    "agegate",
    "combx",
    COMMENT,
    "cookie",
    "consent",
    "disqus",
    "footer",
    "gdpr",
    "newsletter",
    "outbrain",
    "paywall",
    "popup",
    "promo",
    "related-articles",
    "related-content",
    "related-links",
    "related-posts",
    "related-stories",
    "relatedposts",
    "replies",
    "share",
    "shoutbox",
    "sidebar",
    "skip-link",
    "skyscraper",
    "social",
    "sponsor",
    "sponsored",
    "subscribe",
    "taboola",
];

/// Words that speak against it too, but not against prose and headings of the content: much is
/// written about menus, and an article has a header.
const AGAINST_WHAT_IS_NO_PROSE: &[&str] = &[
    "banner",
    "breadcrumb",
    "byline",
    "community",
    "extra",
    "header",
    "legends",
    "masthead",
    "menu",
    "more-stories",
    "most-read",
    "navbar",
    "pager",
    "pagination",
    "read-more",
    "recommend",
    "related",
    "remark",
    "rss",
    "supplemental",
    "toolbar",
    "trending",
];

/// Words in names that weigh against it.
const BAD: &[&str] = &[
    "-ad-",
    "hidden",
    "banner",
    "combx",
    COMMENT,
    "com-",
    "contact",
    "footer",
    "gdpr",
    "masthead",
    "media",
    "meta",
    "outbrain",
    "promo",
    "related",
    "scroll",
    "share",
    "shoutbox",
    "sidebar",
    "skyscraper",
    "sponsor",
    "shopping",
    "tags",
    "widget",
    "newsletter",
    "cookie",
];

/// Characters that make a box of prose.
const GOOD_AMOUNT: f64 = 150.0;

/// Parts that speak for it whatever else it is called.
const FOR_IT: &[&str] = &[
    "article",
    "body",
    "column",
    "content",
    "main",
    "mathjax",
    "shadow",
    "story",
    "post-text",
];

const CHROME_ROLES: &[&str] = &[
    "menu",
    "menubar",
    "complementary",
    "navigation",
    "alert",
    "alertdialog",
    "dialog",
    "search",
    "banner",
    "contentinfo",
];

/// Classes of what stands beside the text and belongs to it.
const NOTES: &[&str] = &[
    "admonition",
    "callout",
    "caution",
    "danger",
    "definition",
    "example",
    "footnote",
    "footnotes",
    "hint",
    "important",
    "info",
    "marginnote",
    "note",
    "sidenote",
    "tip",
    "warning",
];

/// Surely not content, also where the names are not looked at.
pub(super) fn is_chrome(dom: &Dom, id: Id) -> bool {
    let role = dom.attribute(id, "role").unwrap_or_default();
    CHROME_ROLES.contains(&role)
        || match dom.tag(id) {
            "nav" | "menu" => true,
            "aside" => !is_note(dom, id),
            "footer" => !dom.has_ancestor(id, &["blockquote", "figure"]),
            _ => false,
        }
        || dom.attribute(id, "aria-modal") == Some("true")
        || dom.attribute(id, "aria-hidden") == Some("true")
            && !dom.names(id).contains("fallback-image")
}

/// A way to other pages, whatever the page is.
pub(super) fn is_navigation(dom: &Dom, id: Id) -> bool {
    dom.tag(id) == "nav" || matches!(dom.attribute(id, "role"), Some("navigation" | "search"))
}

fn is_note(dom: &Dom, id: Id) -> bool {
    let named = words(&class(dom, id)).any(|word| NOTES.contains(&word));
    (named || dom.attribute(id, "role") == Some("note")) && is_in_content(dom, id)
}

fn is_in_content(dom: &Dom, id: Id) -> bool {
    dom.has_ancestor(id, &["article", "main"])
}

fn words(names: &str) -> impl Iterator<Item = &str> {
    names.split(|c: char| !c.is_alphanumeric())
}

/// Named like something that is not content.
pub(super) fn is_unlikely(dom: &Dom, measure: &Measure, id: Id) -> bool {
    if matches!(dom.tag(id), "body" | "html" | "a" | "article" | "main" | "") || is_heading(dom, id)
    {
        return false;
    }
    let names = telling_names(dom, id);
    let any = |parts: &[&str]| parts.iter().any(|part| names.contains(part));
    let against = heeded(dom, id, AGAINST);
    let is_named = any(&against) || any(AGAINST_WHAT_IS_NO_PROSE);
    if !is_named || any(FOR_IT) || dom.has_ancestor(id, &["table", "code"]) {
        return false;
    }
    if !is_in_content(dom, id) {
        return !is_prose_named_by_id(dom, measure, id);
    }
    has_word_of(dom, id, &against)
        || has_word_of(dom, id, AGAINST_WHAT_IS_NO_PROSE) && !reads_as_content(dom, measure, id)
}

/// Which of these words are heeded: a comment that is the author's speaks against nothing.
fn heeded(dom: &Dom, id: Id, against: &[&'static str]) -> Vec<&'static str> {
    let is_spared = dom.names(id).contains(COMMENT) && comment::is_the_authors(dom, id);
    let heeded = against.iter().copied();
    heeded
        .filter(|word| !is_spared || *word != COMMENT)
        .collect()
}

/// Prose or a heading of the content that is merely called like what is not.
pub(super) fn is_spared(dom: &Dom, measure: &Measure, id: Id) -> bool {
    if !is_in_content(dom, id) {
        return is_prose_named_by_id(dom, measure, id);
    }
    has_word_of(dom, id, AGAINST_WHAT_IS_NO_PROSE) && reads_as_content(dom, measure, id)
}

/// A box of prose whose id may say what it is about, as its class says what it is.
fn is_prose_named_by_id(dom: &Dom, measure: &Measure, id: Id) -> bool {
    let class = class(dom, id);
    let mut against = AGAINST.iter().chain(AGAINST_WHAT_IS_NO_PROSE).chain(BAD);
    let figures = measure.figures(dom, id);
    let prose = figures.chars as f64 - figures.link_chars;
    !class.trim().is_empty()
        && !against.any(|part| class.contains(part))
        && figures.paragraphs > 0
        && prose >= GOOD_AMOUNT
        && measure.link_density(dom, id) < 0.2
}

fn is_heading(dom: &Dom, id: Id) -> bool {
    matches!(dom.tag(id), "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

/// What a node is called, in lower case.
pub(super) fn telling_names(dom: &Dom, id: Id) -> String {
    match is_named_after_heading(dom, id) {
        true => class(dom, id),
        false => dom.names(id),
    }
}

fn class(dom: &Dom, id: Id) -> String {
    let class = dom.attribute(id, "class").unwrap_or_default();
    class.to_ascii_lowercase()
}

/// Whether its id says what it is about: that of a section is made of its heading.
fn is_named_after_heading(dom: &Dom, id: Id) -> bool {
    let is_section = || class(dom, id).split_whitespace().any(|c| c == "section");
    dom.tag(id) == "section" || is_heading(dom, id) || is_section()
}

/// Within the content a class counts by its words: `commentary` is no comment.
fn has_word_of(dom: &Dom, id: Id, wanted: &[&str]) -> bool {
    let class = class(dom, id);
    let own_id = match is_named_after_heading(dom, id) {
        true => String::new(),
        false => dom
            .attribute(id, "id")
            .unwrap_or_default()
            .to_ascii_lowercase(),
    };
    let is_named = |part: &&str| has_word(&class, part) || own_id.contains(*part);
    wanted.iter().any(is_named)
}

/// Whether a class has these words, perhaps in the plural.
fn has_word(class: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_matches('-');
    if wanted.contains('-') {
        return class.contains(wanted);
    }
    words(class).any(|word| word.strip_suffix('s').unwrap_or(word) == wanted || word == wanted)
}

/// Prose with few links, or what is there for a heading.
fn reads_as_content(dom: &Dom, measure: &Measure, id: Id) -> bool {
    let figures = measure.figures(dom, id);
    let links = measure.link_density(dom, id);
    let has_prose = figures.paragraphs > 0 && figures.chars >= 80;
    links < 0.2 && (has_prose || figures.heading_chars * 2 > figures.chars)
}

/// How the names of a node speak for or against it.
pub(super) fn weight(dom: &Dom, id: Id) -> f64 {
    const GOOD: &[&str] = &[
        "article", "body", "content", "entry", "hentry", "main", "page", "post", "text", "blog",
        "story",
    ];
    let bad = heeded(dom, id, BAD);
    let mut weight = 0.0;
    for attribute in ["class", "id"] {
        let name = dom
            .attribute(id, attribute)
            .unwrap_or_default()
            .to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        let is_about = attribute == "id" && is_named_after_heading(dom, id);
        let counts =
            |part: &str| attribute == "id" || !is_in_content(dom, id) || has_word(&name, part);
        let is_bad = |part: &&str| name.contains(*part) && counts(part);
        if !is_about && bad.iter().any(is_bad) {
            weight -= 25.0;
        }
        if GOOD.iter().any(|part| name.contains(part)) {
            weight += 25.0;
        }
    }
    weight
}

/// A heading of the content, or what is there to hold one.
pub(super) fn is_title(dom: &Dom, measure: &Measure, id: Id) -> bool {
    let figures = measure.figures(dom, id);
    (is_heading(dom, id) || matches!(dom.tag(id), "header" | "hgroup"))
        && is_in_content(dom, id)
        && figures.heading_chars * 2 > figures.chars
        && measure.link_density(dom, id) < 0.2
}
