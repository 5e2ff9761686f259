//! Prose as it is set: blanks collapsed, line by line, and links moved along with their words.

use crate::builder::Leads;

/// Links are in the order of their words and do not overlap.
pub(crate) fn prose(text: &str, links: Vec<Leads>) -> (String, Vec<Leads>) {
    let mut out = String::with_capacity(text.len());
    let mut moving = Moving::new(links);
    let mut blank = None;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            let ends_line = c == '\n' || blank == Some('\n');
            blank = Some(if ends_line { '\n' } else { ' ' });
            continue;
        }
        let behind = out.len();
        out.extend(blank.take().filter(|_| behind > 0));
        moving.reach(at, behind, out.len());
        out.push(c);
    }
    moving.reach(text.len(), out.len(), out.len());
    (out, moving.moved)
}

/// Links on their way from the text as written to the text as set.
struct Moving {
    waiting: std::vec::IntoIter<Leads>,
    /// The link that is not moved yet, and where it begins once that is known.
    next: Option<(Leads, Option<usize>)>,
    moved: Vec<Leads>,
}

impl Moving {
    fn new(links: Vec<Leads>) -> Self {
        let mut waiting = links.into_iter();
        Self {
            next: waiting.next().map(|link| (link, None)),
            waiting,
            moved: Vec::new(),
        }
    }

    /// A letter written at `at` is set at `here`; the one before it ends at `behind`.
    fn reach(&mut self, at: usize, behind: usize, here: usize) {
        while let Some((link, start)) = &mut self.next {
            if link.words.start <= at {
                start.get_or_insert(here);
            }
            if link.words.end > at {
                return;
            }
            let start = start.unwrap_or(here);
            if let Some((link, _)) = self.next.take()
                && start < behind
            {
                self.moved.push(Leads {
                    words: start..behind,
                    target: link.target,
                });
            }
            self.next = self.waiting.next().map(|link| (link, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, links: &[(usize, usize)]) -> (String, Vec<String>) {
        let leads = |(start, end): &(usize, usize)| Leads {
            words: *start..*end,
            target: String::new(),
        };
        let (out, links) = prose(text, links.iter().map(leads).collect());
        let words = links.iter().map(|link| out[link.words.clone()].to_owned());
        let words = words.collect();
        (out, words)
    }

    #[test]
    fn links_keep_their_words_when_blanks_collapse() {
        let text = "  see \n\n  the  mill , or  \u{e4}hren ";
        let (out, links) = set(text, &[(10, 21), (22, text.len())]);
        assert_eq!(out, "see\nthe mill , or \u{e4}hren");
        assert_eq!(links, ["the mill ,", "or \u{e4}hren"]);
    }

    #[test]
    fn a_link_of_blanks_is_none() {
        let (out, links) = set("a   b", &[(1, 4)]);
        assert_eq!((out.as_str(), links.len()), ("a b", 0));
        let (_, links) = set("a b  ", &[(3, 5)]);
        assert!(links.is_empty());
    }
}
