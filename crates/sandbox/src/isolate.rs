//! Finds the pages that kill their reader and reads the rest.
//!
//! A child says which page it begins, so the page it died on is known at once: it is
//! left out and the document is read again. When memory or CPU time was used up, that page
//! may only have been the last straw: if leaving it out does not help, the document is read
//! up to there and the rest is one gap.

use bytes::Bytes;
use model::{Gap, Parsed};
use parse::pdf::Recognised;
use parse::{Hints, Options};

use crate::error::{Death, Error};
use crate::pool::Pool;
use crate::protocol::{Answer, Request, Want};

pub(crate) async fn parse(
    pool: &Pool,
    bytes: &Bytes,
    hints: &Hints,
    recognised: &[Recognised],
) -> Result<Parsed, Error> {
    let mut plan = Plan::default();
    loop {
        let options = Options {
            recognised: recognised.to_vec(),
            ..plan.options()
        };
        let request = Request {
            want: Want::Parse(options),
            ..Request::parse(hints.clone(), pool.settings())
        };
        match pool.ask(&request, bytes).await? {
            Answer::Parsed(parsed) => return Ok(plan.disclose(*parsed)),
            Answer::Refused(error) => return Err(error.into()),
            Answer::Died { death, page } => {
                tracing::warn!(page, reason = %death, "a document killed its reader");
                plan.learn(death, page, pool.settings().poison_pages)?;
            }
            Answer::Image(_) => return Err(Error::Protocol("text was asked for".to_owned())),
        }
    }
}

/// Which pages to read next time. Counted from 0, but for `lost`, which people see.
#[derive(Debug, Default)]
struct Plan {
    lost: Vec<(u32, Death)>,
    /// Read only so far, and why.
    end: Option<(u32, Death)>,
}

impl Plan {
    fn options(&self) -> Options {
        Options {
            pages: self.end.as_ref().map(|(end, _)| 0..*end),
            skip: self.lost.iter().map(|(page, _)| page - 1).collect(),
            ..Options::default()
        }
    }

    /// Takes a death into account; fails when there is nothing left to try.
    fn learn(&mut self, death: Death, page: Option<u32>, poison: usize) -> Result<(), Error> {
        let known = |page: u32| self.lost.iter().any(|(lost, _)| *lost == page);
        let page = match page {
            Some(page) if self.end.is_none() && !known(page) => page,
            _ => return Err(Error::Deadly { death }),
        };
        let straw = self.lost.iter().find(|(_, earlier)| earlier.adds_up());
        let first = straw.map(|(page, _)| *page);
        match first {
            Some(first) if death.adds_up() && first < page => self.stop_before(first, death),
            _ if self.lost.len() >= poison => {
                let first = self.lost.iter().map(|(page, _)| *page).min();
                self.stop_before(first.unwrap_or(page), death);
            }
            _ => self.lost.push((page, death)),
        }
        Ok(())
    }

    fn stop_before(&mut self, page: u32, death: Death) {
        self.end = Some((page - 1, death));
        self.lost.retain(|(lost, _)| *lost < page);
    }

    fn disclose(self, mut parsed: Parsed) -> Parsed {
        let gap = |pages: (u32, u32), death: &Death| Gap {
            pages: Some(pages),
            reason: death.to_string(),
        };
        let lost = self.lost.iter();
        parsed
            .gaps
            .extend(lost.map(|(page, death)| gap((*page, *page), death)));
        if let Some((end, death)) = &self.end {
            let last = (parsed.pages.len() as u32).max(end + 1);
            parsed.gaps.push(gap((end + 1, last), death));
        }
        parsed.gaps.sort_by_key(|gap| gap.pages);
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crash() -> Death {
        Death::Crashed("signal 11".to_owned())
    }

    fn gaps(plan: Plan, pages: usize) -> Vec<(u32, u32)> {
        let size = model::PageSize {
            width: 1.0,
            height: 1.0,
        };
        let parsed = Parsed {
            pages: vec![size; pages],
            ..Parsed::default()
        };
        let gaps = plan.disclose(parsed).gaps;
        gaps.into_iter().filter_map(|gap| gap.pages).collect()
    }

    #[test]
    fn a_page_that_crashes_is_left_out_alone() {
        let mut plan = Plan::default();
        plan.learn(crash(), Some(3), 8).unwrap();
        plan.learn(Death::Silence, Some(7), 8).unwrap();
        assert_eq!(plan.options().skip, [2, 6]);
        assert_eq!(gaps(plan, 9), [(3, 3), (7, 7)]);
    }

    #[test]
    fn memory_used_up_page_by_page_ends_the_reading_where_it_first_ran_out() {
        let mut plan = Plan::default();
        plan.learn(Death::Memory, Some(5), 8).unwrap();
        plan.learn(Death::Memory, Some(6), 8).unwrap();
        assert_eq!(plan.options().pages, Some(0..4));
        assert_eq!(gaps(plan, 9), [(5, 9)]);
    }

    #[test]
    fn a_document_that_dies_outside_its_pages_is_given_up() {
        let mut plan = Plan::default();
        assert!(plan.learn(crash(), None, 8).is_err());
    }

    #[test]
    fn too_many_poison_pages_end_the_reading_before_the_first() {
        let mut plan = Plan::default();
        for page in [4, 6, 8] {
            plan.learn(crash(), Some(page), 2).unwrap();
        }
        assert_eq!(gaps(plan, 9), [(4, 9)]);
    }
}
