//! E-books: the chapters in the order of the spine, each read as HTML; what stands beside
//! the reading order comes after it. A chapter that is missing or damaged is a gap.

use model::Parsed;
use model::atom::SourceRange;

use crate::archive::Archive;
use crate::builder::TextBuilder;
use crate::ooxml::{self, resolve, whole_part};
use crate::xml::Element;
use crate::{Error, Format, Input, Limits, html};

const FORMAT: Format = Format::Epub;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let mut archive = Archive::open(input.bytes, FORMAT, input.limits)?;
    if archive.has("META-INF/encryption.xml") && archive.has("META-INF/rights.xml") {
        return Err(Error::Encrypted { format: FORMAT });
    }
    let mut part = |name: &str| {
        whole_part(&mut archive, name, FORMAT, input.limits)?
            .ok_or_else(|| Error::damaged(FORMAT, format_args!("it has no part `{name}`")))
    };
    let container = part("META-INF/container.xml")?;
    let package_name = package_name(&container)?;
    let package = part(&package_name)?;
    let mut out = TextBuilder::new(input.limits);
    about(&package, &mut out);
    for chapter in spine(&package, &package_name) {
        match archive.read(&chapter) {
            Ok(Some(bytes)) => write_chapter(&chapter, &bytes, input.limits, &mut out)?,
            Err(cause) => ooxml::gap(&chapter, cause, &mut out)?,
            Ok(None) => out.gap(
                None,
                format!("the chapter `{chapter}` is missing from the file"),
            ),
        }
    }
    Ok(out.finish(FORMAT))
}

fn write_chapter(
    name: &str,
    bytes: &[u8],
    limits: &Limits,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    let (text, places) = html::decode(bytes);
    let source = |start: usize, end: usize| {
        let (start, end) = places.range(&text, start, end);
        SourceRange {
            part: Some(name.to_owned()),
            start,
            end,
        }
    };
    html::write_all(&text, &source, limits, out)?;
    if let Some(warning) = places.warning() {
        out.warn(format!("the chapter `{name}`: {warning}"));
    }
    Ok(())
}

fn package_name(container: &Element) -> Result<String, Error> {
    let mut files = Vec::new();
    container.find_all("rootfile", &mut files);
    let path = files.first().and_then(|file| file.attribute("full-path"));
    path.map(|path| resolve("", path))
        .ok_or_else(|| Error::damaged(FORMAT, "its container names no package"))
}

fn about(package: &Element, out: &mut TextBuilder) {
    let Some(metadata) = package.child("metadata") else {
        return;
    };
    for element in metadata.elements() {
        let value = element.text();
        match element.name.as_str() {
            "dc:title" => out.title(&value),
            "dc:creator" => out.property("author", &value),
            "dc:language" => out.claimed_language(&value),
            "dc:date" => out.property("created", &value),
            "dc:publisher" => out.property("publisher", &value),
            "dc:description" => out.property("description", &value),
            _ => {}
        }
    }
}

/// Names of the chapters in reading order, then of those that are no part of it.
fn spine(package: &Element, package_name: &str) -> Vec<String> {
    let folder = package_name
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    let manifest = package.child("manifest");
    let item = |id: &str| {
        let items = manifest?;
        items
            .elements()
            .find(|item| item.attribute("id") == Some(id))
    };
    let spine = package.child("spine");
    let mut refs: Vec<&Element> = spine.into_iter().flat_map(Element::elements).collect();
    refs.sort_by_key(|r| r.attribute("linear") == Some("no"));
    refs.into_iter()
        .filter_map(|r| item(r.attribute("idref")?)?.attribute("href"))
        .map(|href| {
            resolve(
                folder,
                &percent_decoded(href.split('#').next().unwrap_or(href)),
            )
        })
        .collect()
}

fn percent_decoded(href: &str) -> String {
    let mut bytes = Vec::with_capacity(href.len());
    let mut rest = href.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (first, code.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
