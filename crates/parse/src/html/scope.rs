//! Whether a file is a web page with surroundings or a document that is all content.

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

/// A page has navigation or a footer of some weight; a document at most a table of contents.
pub(super) fn is_page(dom: &Dom) -> bool {
    if written_as_document(dom) {
        return false;
    }
    let measure = Measure::of(dom);
    let body = dom.body();
    let chars = measure.chars(dom, body);
    let mut around = 0;
    let mut skip_to = 0;
    for id in dom.subtree(body) {
        if id < skip_to || !dom.is_element(id) || id == body {
            continue;
        }
        if chrome::is_chrome(dom, id) || chrome::is_unlikely(dom, id) {
            around += measure.chars(dom, id);
            skip_to = dom.node(id).end;
        }
    }
    // Little text to speak of is left whole: there is nothing to be found in it.
    around * 50 > chars && around >= 40 || measure.link_density(dom, body) > 0.3
}

fn written_as_document(dom: &Dom) -> bool {
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
        is_generator && DOCUMENT_WRITERS.iter().any(|name| writer().contains(name))
    })
}
