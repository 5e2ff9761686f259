//! The document as one flat array in document order.
//!
//! A node's subtree is the run from itself to its `end`; walking is counting. What
//! is dropped is marked and passed over with all that is in it.

use ego_tree::iter::Edge;
use scraper::Node as Parsed;

use crate::{Budget, Error, Limits};

pub(super) type Id = usize;

#[derive(Debug)]
pub(super) struct Node {
    kind: Kind,
    pub(super) parent: Id,
    /// One past the last node of its subtree.
    pub(super) end: Id,
    pub(super) dropped: bool,
    /// The bytes of the page its text stands in, or an attribute that speaks for it.
    source: Option<(usize, usize)>,
}

#[derive(Debug)]
enum Kind {
    Element {
        tag: String,
        attributes: Vec<(&'static str, String)>,
    },
    Text(String),
}

pub(super) struct Dom {
    nodes: Vec<Node>,
}

/// Attributes anyone here asks for; a hundred thousand others cost nothing.
const KEPT: &[&str] = &[
    "id",
    "class",
    "role",
    "hidden",
    "style",
    "aria-hidden",
    "aria-modal",
    "alt",
    "alttext",
    "display",
    "encoding",
    "href",
    "start",
    "value",
    "colspan",
    "rowspan",
    "lang",
    "content",
    "name",
    "property",
    "rel",
    "itemprop",
    "type",
    "summary",
    "data-lang",
    "itemtype",
];

/// Attribute values longer than this are data, not names.
const LONGEST_VALUE: usize = 4096;

impl Dom {
    pub(super) fn read(html: &str, limits: &Limits) -> Result<Self, Error> {
        let (parsed, places) = super::guard::parse(html);
        let mut dom = Self { nodes: Vec::new() };
        let mut open: Vec<Id> = Vec::new();
        for edge in parsed.tree.root().traverse() {
            match edge {
                Edge::Open(node) => {
                    if let Some(kind) = kind(node.value()) {
                        let is_element = matches!(kind, Kind::Element { .. });
                        let id = dom.add(kind, open.last().copied().unwrap_or(0));
                        dom.nodes[id].source = places.get(&node.id()).copied();
                        if is_element {
                            open.push(id);
                        }
                    }
                }
                Edge::Close(node) => {
                    if node.value().is_element() {
                        let id = open.pop().expect("every element was opened");
                        dom.nodes[id].end = dom.nodes.len();
                    }
                }
            }
            if dom.nodes.len() as u64 > limits.atoms * 4 {
                return Err(Error::OverBudget {
                    budget: Budget::Atoms,
                    limit: limits.atoms,
                });
            }
        }
        dom.drop_invisible();
        Ok(dom)
    }

    fn add(&mut self, kind: Kind, parent: Id) -> Id {
        let id = self.nodes.len();
        self.nodes.push(Node {
            kind,
            parent,
            end: id + 1,
            dropped: false,
            source: None,
        });
        id
    }

    fn drop_invisible(&mut self) {
        let mut id = 0;
        while id < self.nodes.len() {
            if self.is_invisible(id) {
                self.nodes[id].dropped = true;
                id = self.nodes[id].end;
            } else {
                id += 1;
            }
        }
    }

    fn is_invisible(&self, id: Id) -> bool {
        const NEVER_TEXT: &[&str] = &[
            "script", "style", "noscript", "template", "iframe", "object", "embed", "svg",
            "canvas", "audio", "video", "select", "textarea", "datalist", "button", "map",
            "dialog",
        ];
        let style = || {
            self.attribute(id, "style")
                .map(squeezed)
                .unwrap_or_default()
        };
        NEVER_TEXT.contains(&self.tag(id))
            || self
                .attribute(id, "hidden")
                .is_some_and(|h| h != "until-found")
            || self.attribute(id, "style").is_some()
                && (style().contains("display:none") || style().contains("visibility:hidden"))
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn all(&self) -> std::ops::Range<Id> {
        0..self.nodes.len()
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    pub(super) fn drop(&mut self, id: Id) {
        self.nodes[id].dropped = true;
    }

    pub(super) fn restore(&mut self, dropped: &[bool]) {
        for (node, dropped) in self.nodes.iter_mut().zip(dropped) {
            node.dropped = *dropped;
        }
    }

    pub(super) fn dropped(&self) -> Vec<bool> {
        self.nodes.iter().map(|node| node.dropped).collect()
    }

    /// Empty for text.
    pub(super) fn tag(&self, id: Id) -> &str {
        match &self.nodes[id].kind {
            Kind::Element { tag, .. } => tag,
            Kind::Text(_) => "",
        }
    }

    pub(super) fn is_element(&self, id: Id) -> bool {
        matches!(self.nodes[id].kind, Kind::Element { .. })
    }

    pub(super) fn own_text(&self, id: Id) -> Option<&str> {
        match &self.nodes[id].kind {
            Kind::Text(text) => Some(text),
            Kind::Element { .. } => None,
        }
    }

    pub(super) fn attribute(&self, id: Id, name: &str) -> Option<&str> {
        let Kind::Element { attributes, .. } = &self.nodes[id].kind else {
            return None;
        };
        let found = attributes.iter().find(|(kept, _)| *kept == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Class and id as one string of lower case, for looking at names.
    pub(super) fn names(&self, id: Id) -> String {
        let class = self.attribute(id, "class").unwrap_or_default();
        let own = self.attribute(id, "id").unwrap_or_default();
        format!("{class} {own}").to_ascii_lowercase()
    }

    pub(super) fn parent(&self, id: Id) -> Option<Id> {
        (id > 0).then(|| self.nodes[id].parent)
    }

    pub(super) fn ancestors(&self, id: Id) -> impl Iterator<Item = Id> {
        std::iter::successors(self.parent(id), |id| self.parent(*id))
    }

    pub(super) fn has_ancestor(&self, id: Id, tags: &[&str]) -> bool {
        self.ancestors(id)
            .take(512)
            .any(|id| tags.contains(&self.tag(id)))
    }

    /// Children that are not dropped.
    pub(super) fn children(&self, id: Id) -> impl Iterator<Item = Id> {
        let end = self.nodes[id].end;
        let mut next = id + 1;
        std::iter::from_fn(move || {
            while next < end {
                let child = next;
                next = self.nodes[child].end;
                if !self.nodes[child].dropped {
                    return Some(child);
                }
            }
            None
        })
    }

    /// The node and all in it that is not dropped, in document order.
    pub(super) fn subtree(&self, id: Id) -> impl Iterator<Item = Id> {
        let end = self.nodes[id].end;
        let mut next = id;
        std::iter::from_fn(move || {
            while next < end {
                let node = next;
                if self.nodes[node].dropped {
                    next = self.nodes[node].end;
                } else {
                    next += 1;
                    return Some(node);
                }
            }
            None
        })
    }

    /// Text below, as it stands in the source.
    pub(super) fn text(&self, id: Id) -> String {
        self.subtree(id)
            .filter_map(|id| self.own_text(id))
            .collect()
    }

    /// From the first to the last byte of what an element says.
    pub(super) fn source(&self, id: Id) -> Option<(usize, usize)> {
        let places = self.subtree(id).filter(|id| !self.is_blank(*id));
        let places = places.filter_map(|id| self.nodes[id].source);
        places.reduce(|(start, end), (s, e)| (start.min(s), end.max(e)))
    }

    fn is_blank(&self, id: Id) -> bool {
        self.own_text(id).is_some_and(|text| text.trim().is_empty())
    }

    pub(super) fn body(&self) -> Id {
        self.all().find(|id| self.tag(*id) == "body").unwrap_or(0)
    }
}

fn squeezed(style: &str) -> String {
    let plain = style.chars().filter(|c| !c.is_whitespace());
    plain.flat_map(char::to_lowercase).collect()
}

fn kind(node: &Parsed) -> Option<Kind> {
    match node {
        Parsed::Text(text) => Some(Kind::Text(text.to_string())),
        Parsed::Element(element) => {
            let kept = |name: &str| KEPT.iter().find(|kept| **kept == name).copied();
            let attributes = element.attrs().filter_map(|(name, value)| {
                let value = &value[..value.floor_char_boundary(LONGEST_VALUE)];
                Some((kept(name)?, value.to_owned()))
            });
            Some(Kind::Element {
                tag: element.name().to_owned(),
                attributes: attributes.collect(),
            })
        }
        _ => None,
    }
}
