//! Documents made by hand: a few parts laid out as PDF or as a Word file, and a small
//! library of them to show and to search.

mod docx;
mod library;
mod pdf;

pub use docx::docx;
pub use library::{HANDBOOK_SENTENCE, REPORT_SENTENCE, handbook, library, report};
pub use pdf::pdf;

/// What a document is made of.
#[derive(Debug, Clone, Copy)]
pub enum Part<'t> {
    Title(&'t str),
    Heading(&'t str),
    Text(&'t str),
    /// By row; the first is the head. Only Word files draw it.
    Table(&'t [&'t [&'t str]]),
    /// A picture that fills the page, as scanners leave one. Only PDF files show it.
    Scan,
}
