//! How far out the text itself reaches on the pages of a document.
//!
//! A title that comes again and again, `Examples` say, stands first on its page sooner or
//! later, and in a long document at the same height on several of them. What tells it from a
//! running head is that text stands there on other pages.

use super::block::Body;
use super::edge::EdgeLine;

/// Text reaches as far as it does on one of so many pages: a title page may differ.
const PAGES_PER_ODD_ONE: usize = 20;
/// And on no fewer than these.
const FEWEST_PAGES: usize = 3;

/// The outermost heights at which text stands, from the top and from the bottom.
#[derive(Debug)]
pub(super) struct TextArea {
    top: Option<i32>,
    bottom: Option<i32>,
}

impl TextArea {
    /// `lines` come page by page; a line that is `running` is none of the text, and one that
    /// stands by itself may be either.
    pub(super) fn of(lines: &[EdgeLine], running: &[bool], body: &Body, pages: usize) -> Self {
        let is_text = |line: &EdgeLine| line.number.is_none() && line.is_attached(body);
        let text = lines.iter().zip(running);
        let text = text.filter(|(line, running)| !**running && is_text(line));
        let (mut tops, mut bottoms) = (Vec::new(), Vec::new());
        let (mut last_top, mut last_bottom) = (None, None);
        // The outermost comes first on its page.
        for (line, _) in text {
            let is_top = line.slot >= 0;
            let (last, outermost) = if is_top {
                (&mut last_top, &mut tops)
            } else {
                (&mut last_bottom, &mut bottoms)
            };
            if last.replace(line.page) != Some(line.page) {
                outermost.push(line.slot);
            }
        }
        tops.sort_unstable();
        bottoms.sort_unstable_by_key(|slot| -slot);
        let enough = (pages / PAGES_PER_ODD_ONE).max(FEWEST_PAGES);
        Self {
            top: tops.get(enough - 1).copied(),
            bottom: bottoms.get(enough - 1).copied(),
        }
    }

    pub(super) fn holds(&self, slot: i32) -> bool {
        if slot >= 0 {
            self.top.is_some_and(|top| slot >= top)
        } else {
            self.bottom.is_some_and(|bottom| slot <= bottom)
        }
    }
}
