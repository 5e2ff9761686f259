//! What a document says of itself in a packet of XMP, the newer of the two places for it.
//!
//! Names are told by their local part: the prefixes of namespaces differ from program to
//! program, and no two names that are asked for here share theirs.

use crate::xml::{Element, Node, Xml};
use crate::{Format, Limits};

/// A longer packet holds pictures, or is a trap.
const MAX_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Xmp {
    descriptions: Vec<Element>,
}

impl Xmp {
    /// As much of a packet as can be made out.
    pub(super) fn of(packet: &[u8], limits: &Limits) -> Self {
        let descriptions = if packet.len() <= MAX_BYTES {
            descriptions(packet, limits)
        } else {
            Vec::new()
        };
        Self { descriptions }
    }

    /// A property's value; of several languages the first, which is the usual one.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.values(name).into_iter().next()
    }

    /// All values of a property that may have several, as one text.
    pub(super) fn list(&self, name: &str) -> Option<String> {
        let values = self.values(name);
        (!values.is_empty()).then(|| values.join(", "))
    }

    fn values(&self, name: &str) -> Vec<String> {
        let values = self.descriptions.iter().find_map(|description| {
            let mut elements = description.elements();
            let element = elements.find(|element| local(&element.name) == name);
            let attribute = || vec![description.attribute(name).unwrap_or_default().to_owned()];
            let values = element.map_or_else(attribute, items);
            let values: Vec<String> = values
                .iter()
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
                .collect();
            (!values.is_empty()).then_some(values)
        });
        values.unwrap_or_default()
    }
}

fn descriptions(packet: &[u8], limits: &Limits) -> Vec<Element> {
    let mut xml = Xml::new(packet, Format::Pdf, limits);
    let root = xml.next_start().ok().flatten();
    let Some(root) = root.and_then(|root| xml.tree_so_far(root).ok()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(element) = open.pop() {
        if local(&element.name) == "Description" {
            found.push(element);
            continue;
        }
        let within = element.nodes.into_iter().rev();
        open.extend(within.filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        }));
    }
    found
}

/// The entries of a list, or the only value.
fn items(element: &Element) -> Vec<String> {
    let lists = element.elements();
    let entries = lists.flat_map(|list| list.elements().map(Element::text));
    let entries: Vec<String> = entries.collect();
    if entries.is_empty() {
        vec![element.text()]
    } else {
        entries
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_however_they_are_written() {
        let packet = br#"<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
            xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
            xmlns:dc="http://purl.org/dc/elements/1.1/">
            <rdf:Description rdf:about="" xmlns:xap="http://ns.adobe.com/xap/1.0/"
              xap:CreateDate="2026-01-02T03:04:05Z"/>
            <rdf:Description rdf:about=""><dc:title><rdf:Alt>
              <rdf:li xml:lang="x-default">Of mills</rdf:li>
              <rdf:li xml:lang="de">Von M&#252;hlen</rdf:li></rdf:Alt></dc:title>
              <dc:creator><rdf:Seq><rdf:li>Anna</rdf:li><rdf:li>Bert</rdf:li></rdf:Seq></dc:creator>
              <pdf:Producer xmlns:pdf="http://ns.adobe.com/pdf/1.3/"> A press </pdf:Producer>
            </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"#;
        let xmp = Xmp::of(packet, &Limits::default());
        assert_eq!(xmp.text("title").as_deref(), Some("Of mills"));
        assert_eq!(xmp.list("creator").as_deref(), Some("Anna, Bert"));
        assert_eq!(xmp.text("Producer").as_deref(), Some("A press"));
        let created = xmp.text("CreateDate");
        assert_eq!(created.as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(xmp.text("ModifyDate"), None);
    }

    #[test]
    fn what_is_no_packet_says_nothing() {
        for packet in [&b""[..], b"\x00\xff<", b"<rdf:Description", b"plain words"] {
            assert_eq!(Xmp::of(packet, &Limits::default()).text("title"), None);
        }
    }
}
