//! Stands before the HTML parser, whose time grows with the square of nesting and
//! of attributes: elements nested too deep are left out, their text is not.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, LocalName, Namespace, QualName, TokenizerResult};
use scraper::{Html, HtmlTreeSink};

use super::places::{Now, Places, Placing, is_format};

/// No page a person wrote nests its elements this deep.
const DEEPEST: usize = 512;
/// Nor so many that only format: where they are not closed, each block holds them all again.
const MOST_FORMATS: usize = 64;

/// A tag longer than this is looked at for the number of its attributes.
const LONG_TAG: usize = 16 << 10;
const MOST_ATTRIBUTES: usize = 512;

/// The tree, and where its text stands in `html`.
pub(super) fn parse(html: &str) -> (Html, Places) {
    let html = without_monster_tags(html);
    let now = Rc::new(Now::default());
    let sink = Placing::new(HtmlTreeSink::new(Html::new_document()), Rc::clone(&now));
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(&html));
    let guard = Guard {
        inner: TreeBuilder::new(sink, TreeBuilderOpts::default()),
        left_out: RefCell::default(),
        input: &input,
        length: html.len(),
        now,
    };
    let tokenizer = Tokenizer::new(guard, TokenizerOpts::default());
    // A script would stop the tokenizer; scripts are not run, so it goes on.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.inner.sink.finish()
}

struct Guard<'i, Sink> {
    inner: Sink,
    /// How many elements were left out that have not ended, by name.
    left_out: RefCell<HashMap<LocalName, usize>>,
    input: &'i BufferQueue,
    length: usize,
    now: Rc<Now>,
}

impl<Sink: TokenSink> TokenSink for Guard<'_, Sink> {
    type Handle = Sink::Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Self::Handle> {
        self.note(&token);
        match &token {
            Token::TagToken(tag) if is_empty_anchor(tag) => self.anchor(tag, line),
            Token::TagToken(tag) if !self.admits(tag) => TokenSinkResult::Continue,
            _ => self.inner.process_token(token, line),
        }
    }

    fn end(&self) {
        self.inner.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.inner
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl<Sink: TokenSink> Guard<'_, Sink> {
    /// XHTML may write an anchor as empty. HTML would read on for its end, and end a link around
    /// it: what it names is kept as that of an element that does neither.
    fn anchor(&self, tag: &Tag, line: u64) -> TokenSinkResult<Sink::Handle> {
        let is = |name: &str| tag.attrs.iter().find(|given| *given.name.local == *name);
        let named = is("id").or_else(|| is("name")).map(|given| &given.value);
        let in_drawing = self.adjusted_current_node_present_but_not_in_html_namespace();
        let Some(name) = named.filter(|_| !in_drawing) else {
            return TokenSinkResult::Continue;
        };
        let [start, end] = marking(name);
        // What it asks of the tokenizer, if anything, its end takes back.
        let _ = self.inner.process_token(Token::TagToken(start), line);
        self.inner.process_token(Token::TagToken(end), line)
    }
}

impl<Sink> Guard<'_, Sink> {
    /// A token reaches from where the one before ended to what has been read.
    fn note(&self, token: &Token) {
        if matches!(token, Token::ParseError(_)) {
            return;
        }
        let (_, start) = self.now.token.get();
        self.now.token.set((start, self.length - self.unread()));
        let is_text = matches!(token, Token::CharacterTokens(_) | Token::NullCharacterToken);
        self.now.is_text.set(is_text);
        if is_text && self.now.held_from.get().is_none() {
            self.now.held_from.set(Some(start));
        }
    }

    /// The queue does not tell how long it is: it is looked through and left as it was.
    fn unread(&self) -> usize {
        let Some(first) = self.input.pop_front() else {
            return 0;
        };
        let length = first.len();
        let rest = if self.input.is_empty() {
            0
        } else {
            self.unread()
        };
        self.input.push_front(first);
        length + rest
    }

    fn admits(&self, tag: &Tag) -> bool {
        // XHTML may close these at once; HTML would read on for their end. An end tag always
        // ends: with it left out the tree builder would wait on for one, and meet a tag.
        if tag.kind == TagKind::StartTag
            && tag.self_closing
            && matches!(
                &*tag.name,
                "title" | "script" | "style" | "textarea" | "iframe"
            )
        {
            return false;
        }
        // Those that may do without an end tag come and go by themselves.
        if !needs_end(&tag.name) {
            return true;
        }
        match tag.kind {
            TagKind::StartTag => self.admits_start(tag),
            TagKind::EndTag => self.admits_end(tag),
        }
    }

    /// The tree tells how deep we are: to count tags would mean to believe that all are closed.
    fn admits_start(&self, tag: &Tag) -> bool {
        let depth = self.now.depth.get();
        let too_deep = depth.elements >= DEEPEST;
        let fits = !too_deep && (depth.formats < MOST_FORMATS || !is_format(&tag.name));
        if !fits && !tag.self_closing {
            *self
                .left_out
                .borrow_mut()
                .entry(tag.name.clone())
                .or_default() += 1;
        }
        fits
    }

    /// The end of what was left out must not end anything else.
    fn admits_end(&self, tag: &Tag) -> bool {
        if let Some(count) = self.left_out.borrow_mut().get_mut(&tag.name)
            && *count > 0
        {
            *count -= 1;
            return false;
        }
        // True until the tree tells better, with the next element put into it.
        let mut depth = self.now.depth.get();
        depth.elements = depth.elements.saturating_sub(1);
        depth.formats -= usize::from(is_format(&tag.name)).min(depth.formats);
        self.now.depth.set(depth);
        // What was left out ends with the element it stood in.
        if depth.elements < DEEPEST && !is_format(&tag.name) {
            self.left_out.borrow_mut().clear();
        }
        true
    }
}

fn is_empty_anchor(tag: &Tag) -> bool {
    tag.kind == TagKind::StartTag && tag.self_closing && &*tag.name == "a"
}

/// An element that holds nothing, of this name.
fn marking(name: &StrTendril) -> [Tag; 2] {
    let tag = |kind, attrs| Tag {
        kind,
        name: LocalName::from("span"),
        self_closing: false,
        attrs,
        had_duplicate_attributes: false,
    };
    let id = Attribute {
        name: QualName::new(None, Namespace::from(""), LocalName::from("id")),
        value: name.clone(),
    };
    [
        tag(TagKind::StartTag, vec![id]),
        tag(TagKind::EndTag, Vec::new()),
    ]
}

fn needs_end(name: &str) -> bool {
    const FREE: &[&str] = &[
        "html", "head", "body", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot",
        "colgroup", "caption", "option", "optgroup", "rb", "rt", "rtc", "rp", "area", "base", "br",
        "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
        // Nothing nests in these.
        "script", "style", "title", "textarea", "iframe", "xmp", "noembed", "noframes", "noscript",
    ];
    !FREE.contains(&name)
}

/// A tag with more attributes than anyone writes is reduced to its name, and blanks, so that
/// everything stays in its place.
fn without_monster_tags(html: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut from = 0;
    while let Some(open) = html[from..].find('<').map(|at| from + at) {
        let tag = &html[open..];
        let Some(length) = tag_length(tag) else {
            break;
        };
        if length > LONG_TAG && tag[..length].matches(['=', ' ']).count() > MOST_ATTRIBUTES {
            let name = tag
                .find(|c: char| c.is_whitespace())
                .unwrap_or(length)
                .min(length - 1);
            out.push_str(&html[kept..open + name]);
            kept = open + length - 1;
            out.extend(std::iter::repeat_n(' ', kept - open - name));
        }
        from = open + length;
    }
    if kept == 0 {
        return Cow::Borrowed(html);
    }
    out.push_str(&html[kept..]);
    Cow::Owned(out)
}

/// From `<` to the `>` that closes the tag, quoted values apart; 1 for what is no
/// tag, `None` for one that is never closed.
fn tag_length(tag: &str) -> Option<usize> {
    let bytes = tag.as_bytes();
    if !bytes.get(1).is_some_and(u8::is_ascii_alphabetic) {
        return Some(1);
    }
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') if bytes[at - 1] == b'=' => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
    }
    None
}
