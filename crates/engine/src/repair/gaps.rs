//! Whether a document reads as well as it did: what is left out today and was not before.

use model::Gap;

use crate::Error;

/// The first gap that is none of those known before, nor a part of them.
pub fn new<'r>(known: &[Gap], read: &'r [Gap]) -> Option<&'r Gap> {
    read.iter().find(|gap| !is_known(known, gap))
}

fn is_known(known: &[Gap], gap: &Gap) -> bool {
    let Some((first, last)) = gap.pages else {
        return known.contains(gap);
    };
    let left_out = |page: u32| {
        let mut pages = known.iter().filter_map(|known| known.pages);
        pages.any(|(first, last)| (first..=last).contains(&page))
    };
    (first..=last).all(left_out)
}

pub fn refused(gap: &Gap) -> Error {
    let place = match gap.pages {
        Some((first, last)) if first == last => format!("page {first} (\"{}\")", gap.reason),
        Some((first, last)) => format!("pages {first} to {last} (\"{}\")", gap.reason),
        None => format!("a part (\"{}\")", gap.reason),
    };
    Error::BadRequest {
        what: "the original",
        why: format!(
            "read today it lacks {place}, which it did not lack when it was taken in, so it is \
             left as it is; let it be read as it was then (parse.memory_mb, \
             parse.timeout_seconds, parse.ocr), and repair again"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(pages: impl Into<Option<(u32, u32)>>, reason: &str) -> Gap {
        Gap {
            pages: pages.into(),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn a_gap_is_new_where_it_leaves_out_a_page_that_was_read() {
        let known = [gap((3, 4), "a picture"), gap((5, 7), "too large")];
        let cases = [
            ((3, 3), false),
            ((4, 6), false),
            ((7, 8), true),
            ((1, 1), true),
        ];
        for (pages, is_new) in cases {
            let read = [gap(pages, "it took too long")];
            assert_eq!(new(&known, &read).is_some(), is_new, "{pages:?}");
        }
    }

    #[test]
    fn a_gap_without_pages_is_known_by_its_reason() {
        let known = [gap(None, "the part `a` is damaged")];
        assert_eq!(new(&known, &known), None);
        let read = [known[0].clone(), gap(None, "the part `b` is damaged")];
        assert_eq!(new(&known, &read), Some(&read[1]));
    }
}
