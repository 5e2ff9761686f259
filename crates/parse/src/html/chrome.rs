//! What surrounds the content of a web page, known by its element, role and names.

use super::dom::{Dom, Id};

/// Parts of class names and ids that speak against a node.
const AGAINST: &[&str] = &[
    "-ad-",
    "ad-break",
    "adbox",
    "advert",
    "agegate",
    "banner",
    "breadcrumb",
    "combx",
    "comment",
    "community",
    "cookie",
    "consent",
    "disqus",
    "extra",
    "footer",
    "gdpr",
    "header",
    "legends",
    "menu",
    "newsletter",
    "outbrain",
    "pager",
    "pagination",
    "popup",
    "promo",
    "recommend",
    "related",
    "remark",
    "replies",
    "rss",
    "share",
    "shoutbox",
    "sidebar",
    "skyscraper",
    "social",
    "sponsor",
    "subscribe",
    "supplemental",
    "taboola",
    "toolbar",
    "masthead",
    "navbar",
    "skip-link",
    "paywall",
    "byline",
    "read-more",
    "more-stories",
    "most-read",
    "trending",
];

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

/// Surely not content, also where the names are not looked at.
pub(super) fn is_chrome(dom: &Dom, id: Id) -> bool {
    let role = dom.attribute(id, "role").unwrap_or_default();
    CHROME_ROLES.contains(&role)
        || matches!(dom.tag(id), "nav" | "aside" | "footer" | "menu")
        || dom.attribute(id, "aria-modal") == Some("true")
        || dom.attribute(id, "aria-hidden") == Some("true")
            && !dom.names(id).contains("fallback-image")
}

/// Named like something that is not content.
pub(super) fn is_unlikely(dom: &Dom, id: Id) -> bool {
    if matches!(dom.tag(id), "body" | "html" | "a" | "article" | "main" | "") {
        return false;
    }
    let names = dom.names(id);
    let any = |parts: &[&str]| parts.iter().any(|part| names.contains(part));
    any(AGAINST) && !any(FOR_IT) && !dom.has_ancestor(id, &["table", "code"])
}

/// How the names of a node speak for or against it.
pub(super) fn weight(dom: &Dom, id: Id) -> f64 {
    const GOOD: &[&str] = &[
        "article", "body", "content", "entry", "hentry", "main", "page", "post", "text", "blog",
        "story",
    ];
    const BAD: &[&str] = &[
        "-ad-",
        "hidden",
        "banner",
        "combx",
        "comment",
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
    let mut weight = 0.0;
    for attribute in ["class", "id"] {
        let name = dom
            .attribute(id, attribute)
            .unwrap_or_default()
            .to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        if BAD.iter().any(|part| name.contains(part)) {
            weight -= 25.0;
        }
        if GOOD.iter().any(|part| name.contains(part)) {
            weight += 25.0;
        }
    }
    weight
}
