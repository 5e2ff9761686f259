//! Where in the source the text of a page stands, noted while its tree is built.
//!
//! The tree builder asks for text to be appended while it works on the token the text came in;
//! only text that strays between the rows of a table is held back until the next tag.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use ego_tree::NodeId;
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, QualName};
use scraper::node::Element;
use scraper::{Html, HtmlTreeSink};

/// Bytes of the page, by node: text, and elements that speak through an attribute.
pub(super) type Places = HashMap<NodeId, (usize, usize)>;

/// The token at hand, as the tokenizer's sink sees it.
#[derive(Debug, Default)]
pub(super) struct Now {
    pub(super) token: Cell<(usize, usize)>,
    pub(super) is_text: Cell<bool>,
    /// Where the first text began of which it is not known that it was appended.
    pub(super) held_from: Cell<Option<usize>>,
    /// How deep the last element was put into the tree.
    pub(super) depth: Cell<Depth>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Depth {
    pub(super) elements: usize,
    /// Elements that only format, which the tree builder opens again where a block closed them.
    pub(super) formats: usize,
}

pub(super) struct Placing {
    inner: HtmlTreeSink,
    now: Rc<Now>,
    places: RefCell<Places>,
}

impl Placing {
    pub(super) fn new(inner: HtmlTreeSink, now: Rc<Now>) -> Self {
        Self {
            inner,
            now,
            places: RefCell::default(),
        }
    }

    fn note_text(&self, node: Option<NodeId>) {
        let (mut start, mut end) = self.now.token.get();
        if !self.now.is_text.get() {
            (start, end) = (self.now.held_from.get().unwrap_or(start), start);
        }
        self.now.held_from.set(None);
        if let Some(node) = node {
            let mut places = self.places.borrow_mut();
            let place = places.entry(node).or_insert((start, end));
            *place = (place.0.min(start), place.1.max(end));
        }
    }

    fn note_depth(&self, id: NodeId) {
        let html = self.inner.0.borrow();
        let node = html.tree.get(id);
        let Some((node, own)) = node.and_then(|n| Some((n, n.value().as_element()?))) else {
            return;
        };
        let mut depth = Depth::default();
        for inner in std::iter::once(node).chain(node.ancestors()) {
            let name = inner.value().as_element().map(Element::name);
            depth.elements += usize::from(name.is_some());
            depth.formats += usize::from(name.is_some_and(is_format));
        }
        // A block in which none was opened again yet does not tell how many wait for that.
        if !is_format(own.name()) {
            depth.formats = self.now.depth.get().formats;
        }
        self.now.depth.set(depth);
    }

    fn last_child(&self, parent: NodeId) -> Option<NodeId> {
        let html = self.inner.0.borrow();
        html.tree.get(parent)?.last_child().map(|node| node.id())
    }

    fn before(&self, sibling: NodeId) -> Option<NodeId> {
        let html = self.inner.0.borrow();
        html.tree.get(sibling)?.prev_sibling().map(|node| node.id())
    }
}

impl TreeSink for Placing {
    type Handle = NodeId;
    type Output = (Html, Places);
    type ElemName<'a> = std::cell::Ref<'a, QualName>;

    fn finish(self) -> Self::Output {
        (self.inner.finish(), self.places.into_inner())
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> NodeId {
        let speaks = matches!(&*name.local, "img" | "math");
        let id = self.inner.create_element(name, attributes, flags);
        if speaks {
            self.places.borrow_mut().insert(id, self.now.token.get());
        }
        id
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        match child {
            NodeOrText::AppendText(_) => {
                self.inner.append(parent, child);
                self.note_text(self.last_child(*parent));
            }
            NodeOrText::AppendNode(id) => {
                self.inner.append(parent, child);
                self.note_depth(id);
            }
        }
    }

    fn append_before_sibling(&self, sibling: &NodeId, node: NodeOrText<NodeId>) {
        match node {
            NodeOrText::AppendText(_) => {
                self.inner.append_before_sibling(sibling, node);
                self.note_text(self.before(*sibling));
            }
            NodeOrText::AppendNode(id) => {
                self.inner.append_before_sibling(sibling, node);
                self.note_depth(id);
            }
        }
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        before: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        let has_parent = {
            let html = self.inner.0.borrow();
            html.tree
                .get(*element)
                .is_some_and(|e| e.parent().is_some())
        };
        match has_parent {
            true => self.append_before_sibling(element, child),
            false => self.append(before, child),
        }
    }

    fn parse_error(&self, message: Cow<'static, str>) {
        self.inner.parse_error(message);
    }

    fn get_document(&self) -> NodeId {
        self.inner.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Self::ElemName<'a> {
        self.inner.elem_name(target)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.inner.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.inner.create_pi(target, data)
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.inner.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.inner.get_template_contents(target)
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        self.inner.same_node(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.inner.set_quirks_mode(mode);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        self.inner.add_attrs_if_missing(target, attributes);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.inner.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.inner.reparent_children(node, new_parent);
    }
}

pub(super) fn is_format(name: &str) -> bool {
    matches!(
        name,
        "a" | "b"
            | "big"
            | "code"
            | "em"
            | "font"
            | "i"
            | "nobr"
            | "s"
            | "small"
            | "strike"
            | "strong"
            | "tt"
            | "u"
    )
}
