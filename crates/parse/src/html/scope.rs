//! Whether a file is a web page with surroundings, a page of a manual, or a document that is all
//! content.

use super::chrome;
use super::dom::Dom;
use super::measure::Measure;

/// Tools that write documents, not sites.
const DOCUMENT_WRITERS: &[&str] = &[
    "xml2rfc",
    "docutils",
    "sphinx",
    "pandoc",
    "asciidoc",
    "docbook",
    "texinfo",
    "makeinfo",
    "doxygen",
    "latex2html",
    "tex4ht",
    "hevea",
    "libreoffice",
    "openoffice",
    "microsoft word",
    "mdbook",
    "rustdoc",
    "javadoc",
    "groff",
    "man2html",
    "rfc2629",
];

/// Tools that write manuals, page by page, with the navigation of the whole on each.
const MANUAL_WRITERS: &[&str] = &[
    "mkdocs",
    "docusaurus",
    "vitepress",
    "vuepress",
    "gitbook",
    "antora",
    "starlight",
    "docsify",
    "bookdown",
    "quarto",
    "exdoc",
    "typedoc",
    "dokka",
    "pdoc",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of it is content.
    Document,
    /// What is not navigation is content.
    Manual,
    /// The content is to be found.
    Page,
}

pub(super) fn of(dom: &Dom) -> Scope {
    if written_by(dom, DOCUMENT_WRITERS) {
        Scope::Document
    } else if written_by(dom, MANUAL_WRITERS) {
        Scope::Manual
    } else if is_page(dom) {
        Scope::Page
    } else {
        Scope::Document
    }
}

/// A page has navigation or a footer of some weight; a document at most a table of contents.
fn is_page(dom: &Dom) -> bool {
    let measure = Measure::of(dom);
    let body = dom.body();
    let chars = measure.chars(dom, body);
    let mut around = 0;
    let mut skip_to = 0;
    for id in dom.subtree(body) {
        if id < skip_to || !dom.is_element(id) || id == body {
            continue;
        }
        if chrome::is_chrome(dom, id) || chrome::is_unlikely(dom, &measure, id) {
            around += measure.chars(dom, id);
            skip_to = dom.node(id).end;
        }
    }
    // Little text to speak of is left whole: there is nothing to be found in it.
    around * 50 > chars && around >= 40 || measure.link_density(dom, body) > 0.3
}

fn written_by(dom: &Dom, writers: &[&str]) -> bool {
    dom.all().any(|id| {
        let is_generator = dom.tag(id) == "meta"
            && dom
                .attribute(id, "name")
                .is_some_and(|n| n.eq_ignore_ascii_case("generator"));
        let writer = || {
            dom.attribute(id, "content")
                .unwrap_or_default()
                .to_ascii_lowercase()
        };
        is_generator && writers.iter().any(|name| writer().contains(name))
    })
}
