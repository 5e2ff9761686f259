//! HTML: of a web page its main content, of a manual all but its navigation, of a document
//! everything.
//!
//! Nothing is fetched or run; scripts, styles, templates and what is hidden are
//! not text. All walks go over one flat array, so no nesting overflows a stack.

mod blocks;
mod charset;
mod chrome;
mod clean;
mod comment;
mod dom;
mod guard;
mod main_content;
mod measure;
mod places;
mod scope;
mod table;

pub(crate) use charset::decode;

use model::Parsed;
use model::atom::SourceRange;

use crate::builder::TextBuilder;
use crate::{Error, Format, Input, Limits};

use dom::{Dom, Id};
use scope::Scope;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let (text, places) = charset::decode(input.bytes);
    let source = |start: usize, end: usize| {
        let (start, end) = places.range(&text, start, end);
        SourceRange {
            part: None,
            start,
            end,
        }
    };
    let mut dom = Dom::read(&text, input.limits)?;
    let mut out = TextBuilder::new(input.limits);
    about(&dom, &mut out);
    match scope::of(&dom) {
        Scope::Document => {}
        Scope::Manual => main_content::keep_all_but_navigation(&mut dom),
        Scope::Page => main_content::keep(&mut dom),
    }
    blocks::write(&dom, &source, &mut out)?;
    if let Some(warning) = places.warning() {
        out.warn(warning);
    }
    Ok(out.finish(Format::Html))
}

/// Tells which bytes of the source a range of the text came from.
pub(crate) type Source<'a> = dyn Fn(usize, usize) -> SourceRange + 'a;

/// Everything in a piece of HTML that is part of another document.
pub(crate) fn write_all(
    html: &str,
    source: &Source<'_>,
    limits: &Limits,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    let dom = Dom::read(html, limits)?;
    blocks::write(&dom, source, out)
}

/// What the head says of the page.
fn about(dom: &Dom, out: &mut TextBuilder) {
    for id in dom.all() {
        match dom.tag(id) {
            "html" => {
                if let Some(language) = dom.attribute(id, "lang") {
                    out.claimed_language(language);
                }
            }
            "title" if !dom.has_ancestor(id, &["svg", "body"]) => out.title(&dom.text(id)),
            "meta" => meta(dom, id, out),
            _ => {}
        }
    }
}

fn meta(dom: &Dom, id: Id, out: &mut TextBuilder) {
    let name = dom.attribute(id, "name").or(dom.attribute(id, "property"));
    let (Some(name), Some(content)) = (name, dom.attribute(id, "content")) else {
        return;
    };
    match name.to_ascii_lowercase().as_str() {
        "author" | "article:author" => out.property("author", content),
        "description" => out.property("description", content),
        "keywords" => out.property("keywords", content),
        "date" | "dcterms.date" | "article:published_time" => out.property("created", content),
        "generator" => out.property("generator", content),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
