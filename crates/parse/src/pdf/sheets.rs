//! The pages of a document, counted as its own tree counts them.
//!
//! A page whose object is lost has nothing to be read, but keeps its place: those behind it
//! keep their numbers. How many pages a branch should have is believed only where one of its
//! entries leads nowhere.

use std::collections::HashSet;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier};
use hayro_syntax::page::{Page, Pages};
use hayro_syntax::xref::XRef;
use model::PageSize;

/// Why a page without its object is a gap.
pub(super) const LOST: &str = "the page's own entry in the file is missing or damaged";
/// Branches within branches; deeper, the tree is a trap.
const MAX_DEPTH: u8 = 64;
/// A branch that claims to have lost more pages than this is not believed.
const MAX_LOST: usize = 5000;
/// A4, where no page of the document tells.
const USUAL_SIZE: PageSize = PageSize {
    width: 595.0,
    height: 842.0,
};

pub(super) struct Sheets<'a> {
    pages: &'a Pages<'a>,
    /// Which of the pages each sheet is, unless it is lost.
    found: Vec<Option<usize>>,
}

impl<'a> Sheets<'a> {
    pub(super) fn of(pdf: &'a Pdf) -> Self {
        let (pages, xref) = (pdf.pages(), pdf.xref());
        let root = xref.get::<Dict<'a>>(xref.root_id());
        let root = root.and_then(|root| root.get::<Dict<'a>>(b"Pages"));
        let mut tree = Tree {
            xref,
            seen: root.iter().filter_map(Dict::obj_id).collect(),
        };
        let sheets = root.and_then(|root| tree.sheets(&root, 0));
        // Where the tree could not be followed, the pages were searched for one by one.
        let sheets = sheets
            .filter(|sheets| sheets.iter().filter(|there| **there).count() == pages.len())
            .unwrap_or_else(|| vec![true; pages.len()]);
        let mut next = 0..pages.len();
        let found = sheets
            .into_iter()
            .map(|there| if there { next.next() } else { None });
        Self {
            pages,
            found: found.collect(),
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.found.len() as u32
    }

    /// Each page with its number, counted from 1; none where it is lost.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (u32, Option<&'a Page<'a>>)> {
        (1..).zip(self.found.iter().map(|at| at.map(|at| &self.pages[at])))
    }

    /// The page of this number.
    pub(super) fn page(&self, number: u32) -> Option<&'a Page<'a>> {
        let at = self.found.get(number.checked_sub(1)? as usize)?;
        at.map(|at| &self.pages[at])
    }

    /// How large each is; a lost one as large as the one before it.
    pub(super) fn sizes(&self) -> impl Iterator<Item = PageSize> {
        let first = self.pages.first().map_or(USUAL_SIZE, size_of);
        self.numbered().scan(first, |size, (_, page)| {
            *size = page.map_or(*size, size_of);
            Some(*size)
        })
    }
}

fn size_of(page: &Page<'_>) -> PageSize {
    let (width, height) = page.render_dimensions();
    PageSize { width, height }
}

struct Tree<'a> {
    xref: &'a XRef,
    seen: HashSet<ObjectIdentifier>,
}

impl<'a> Tree<'a> {
    /// The pages under a branch, in order: whether each is there.
    fn sheets(&mut self, branch: &Dict<'a>, depth: u8) -> Option<Vec<bool>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let (mut sheets, mut lost) = (Vec::new(), Vec::new());
        for kid in branch.get::<Array<'a>>(b"Kids")?.raw_iter() {
            let entry = match kid {
                MaybeRef::Ref(id) if !self.seen.insert(id.into()) => continue,
                MaybeRef::Ref(id) => self.xref.get::<Dict<'a>>(id.into()),
                MaybeRef::NotRef(object) => Object::into_dict(object),
            };
            match entry {
                None => lost.push(sheets.len()),
                Some(entry) if is_branch(&entry) => {
                    if !entry.contains_key(b"Kids") {
                        lost.push(sheets.len());
                        continue;
                    }
                    sheets.extend(self.sheets(&entry, depth + 1)?);
                }
                Some(_) => sheets.push(true),
            }
        }
        let missing = missing(branch, sheets.len(), lost.len());
        Some(with_lost(sheets, &lost, missing))
    }
}

fn is_branch(entry: &Dict<'_>) -> bool {
    entry.get::<Name<'_>>(b"Type").as_deref() == Some(b"Pages")
}

/// How many pages the entries that lead nowhere stand for: what deletes a page may leave its
/// entry and count it no more.
fn missing(branch: &Dict<'_>, found: usize, lost: usize) -> usize {
    let count = branch.get::<i32>(b"Count");
    let claimed = count.and_then(|count| usize::try_from(count).ok());
    let missing = claimed.map_or(lost, |claimed| claimed.saturating_sub(found));
    if missing > MAX_LOST { lost } else { missing }
}

/// Puts so many lost pages where entries were lost, one to each, and what is left to the last.
fn with_lost(mut sheets: Vec<bool>, lost: &[usize], missing: usize) -> Vec<bool> {
    for (nth, at) in lost.iter().enumerate().take(missing).rev() {
        let is_last = nth + 1 == lost.len();
        let here = if is_last { missing - nth } else { 1 };
        sheets.splice(at..at, std::iter::repeat_n(false, here));
    }
    sheets
}
