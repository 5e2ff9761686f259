//! Comments of readers below an article, and comments that are part of it.
//!
//! Both are called `comment`. Readers' stand in a section made for them, one beside the other,
//! and say who wrote them and when, or offer a reply; an author's note on a law or on a line of
//! code does nothing of that.

use super::chrome;
use super::dom::{Dom, Id};

/// Words in the names of what comes with a reader's comment.
const READERS: &[&str] = &[
    "author",
    "avatar",
    "commenter",
    "date",
    "gravatar",
    "meta",
    "permalink",
    "reply",
    "timestamp",
    "user",
    "username",
    "vcard",
    "vote",
    "votes",
];

/// Holders further out than this are not asked.
const DEEP: usize = 512;

/// Whether what is called a comment is the author's, a part of the content.
pub(super) fn is_the_authors(dom: &Dom, id: Id) -> bool {
    is_one_comment(dom, id)
        && !dom
            .ancestors(id)
            .take(DEEP)
            .any(|holder| is_called_so(dom, holder))
        && !stands_in_a_row(dom, id)
        && !(id..dom.node(id).end).any(|part| is_of_readers(dom, part))
}

/// A comment by its class, `comment` or `legal-comment`, and by nothing else: one with an id is
/// one of many.
fn is_one_comment(dom: &Dom, id: Id) -> bool {
    let class = dom.attribute(id, "class").unwrap_or_default();
    let own_id = dom.attribute(id, "id").unwrap_or_default();
    let is_one = |name: &str| {
        let last = name.rsplit(['-', '_']).next();
        last.is_some_and(|word| word.eq_ignore_ascii_case("comment"))
    };
    let mut names = class.split_whitespace().filter(|name| has_comment(name));
    dom.tag(id) != "li" && !has_comment(own_id) && names.all(is_one)
}

fn has_comment(name: &str) -> bool {
    name.to_ascii_lowercase().contains("comment")
}

fn is_called_so(dom: &Dom, id: Id) -> bool {
    has_comment(&chrome::telling_names(dom, id))
}

/// Whether the element before or behind it is a comment too, dropped by now or not.
fn stands_in_a_row(dom: &Dom, id: Id) -> bool {
    let Some(parent) = dom.parent(id) else {
        return false;
    };
    let end = dom.node(parent).end;
    let within = |at: Id| (at < end).then_some(at);
    let behind = std::iter::successors(within(dom.node(id).end), |at| within(dom.node(*at).end))
        .find(|at| dom.is_element(*at));
    let child_that_holds = |at: Id| {
        let holders = std::iter::once(at).chain(dom.ancestors(at));
        holders
            .take_while(|holder| *holder > parent)
            .last()
            .filter(|child| *child < id)
    };
    let before = std::iter::successors(child_that_holds(id - 1), |at| child_that_holds(at - 1))
        .find(|at| dom.is_element(*at));
    let mut beside = before.into_iter().chain(behind);
    beside.any(|beside| is_called_so(dom, beside))
}

fn is_of_readers(dom: &Dom, id: Id) -> bool {
    let names = dom.names(id);
    let mut words = names.split(|c: char| !c.is_alphanumeric());
    matches!(
        dom.tag(id),
        "form" | "textarea" | "button" | "input" | "time"
    ) || words.any(|word| READERS.contains(&word))
}
