//! Finds the pages that kill their reader and reads the rest.
//!
//! A child says which page it begins, so the page it died on is known at once: it is
//! left out and the document is read again. When memory or time was used up, that page
//! may only have been the last straw: if leaving it out does not help, the document is read
//! up to there and the rest is one gap. So it is when too many pages hurt, or when the time of
//! the whole document runs out.

use bytes::Bytes;
use model::{Gap, Parsed};
use parse::pdf::Recognised;
use parse::{Hints, Options};

use crate::allowance::{Allowance, Time};
use crate::error::{Death, Error};
use crate::pool::Pool;
use crate::protocol::{Answer, Request, Want};
use crate::settings::Settings;

pub(crate) async fn parse(
    pool: &Pool,
    bytes: &Bytes,
    hints: &Hints,
    recognised: &[Recognised],
) -> Result<Parsed, Error> {
    let mut plan = Plan::new(pool.settings());
    loop {
        let options = Options {
            recognised: recognised.to_vec(),
            ..plan.options()
        };
        let request = Request {
            want: Want::Parse(options),
            ..Request::parse(hints.clone(), pool.settings())
        };
        match pool.ask(&request.within(plan.time()), bytes).await? {
            Answer::Parsed(parsed) => return Ok(plan.disclose(*parsed)),
            Answer::Refused(error) => return Err(error.into()),
            Answer::Died { death, page, used } => {
                tracing::warn!(page, reason = %death, "a document killed its reader");
                plan.learn(death, page, used)?;
            }
            Answer::Image(_) => return Err(Error::Protocol("text was asked for".to_owned())),
        }
    }
}

/// Which pages to read next time. Counted from 0, but for `lost`, which people see.
#[derive(Debug)]
struct Plan {
    lost: Vec<(u32, Death)>,
    /// Read only so far, and why.
    end: Option<(u32, String)>,
    /// How many pages may be lost one by one.
    poison: usize,
    allowance: Allowance,
}

impl Plan {
    fn new(settings: &Settings) -> Self {
        Self {
            lost: Vec::new(),
            end: None,
            poison: settings.poison_pages,
            allowance: Allowance::new(settings.attempt()),
        }
    }

    fn options(&self) -> Options {
        Options {
            pages: self.end.as_ref().map(|(end, _)| 0..*end),
            skip: self.lost.iter().map(|(page, _)| page - 1).collect(),
            ..Options::default()
        }
    }

    /// What the next attempt may take.
    fn time(&self) -> Time {
        let to_search = self.allowance.to_search().filter(|_| self.end.is_none());
        to_search.unwrap_or_else(|| self.allowance.to_end())
    }

    /// Takes a death into account; fails when there is nothing left to try.
    fn learn(&mut self, death: Death, page: Option<u32>, used: Time) -> Result<(), Error> {
        self.allowance.spend(used);
        let known = |page: u32| self.lost.iter().any(|(lost, _)| *lost == page);
        let page = match page {
            Some(page) if self.end.is_none() && !known(page) => page,
            _ => return Err(Error::Deadly { death }),
        };
        let straw = self.lost.iter().find(|(_, earlier)| earlier.adds_up());
        let first = straw.map(|(page, _)| *page);
        match first {
            Some(first) if death.adds_up() && first < page => {
                self.stop_before(first, death.to_string());
            }
            // All pages before it, but for those known to hurt, have just been read.
            _ if self.allowance.to_search().is_none() => {
                let reason = format!("the document's time was used up before them: {death}");
                self.stop_before(page, reason);
            }
            _ if self.lost.len() >= self.poison => {
                let first = self.lost.iter().map(|(page, _)| *page).min();
                self.stop_before(first.unwrap_or(page), death.to_string());
            }
            _ => self.lost.push((page, death)),
        }
        Ok(())
    }

    fn stop_before(&mut self, page: u32, reason: String) {
        self.end = Some((page - 1, reason));
        self.lost.retain(|(lost, _)| *lost < page);
    }

    fn disclose(self, mut parsed: Parsed) -> Parsed {
        let gap = |pages: (u32, u32), reason: String| Gap {
            pages: Some(pages),
            reason,
        };
        let lost = self.lost.iter();
        parsed
            .gaps
            .extend(lost.map(|(page, death)| gap((*page, *page), death.to_string())));
        if let Some((end, reason)) = self.end {
            let last = (parsed.pages.len() as u32).max(end + 1);
            parsed.gaps.push(gap((end + 1, last), reason));
        }
        parsed.gaps.sort_by_key(|gap| gap.pages);
        parsed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    const QUICK: Time = Time {
        cpu: Duration::from_secs(1),
        wall: Duration::from_secs(1),
    };

    fn plan(poison_pages: usize) -> Plan {
        Plan::new(&Settings {
            poison_pages,
            ..Settings::default()
        })
    }

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
        let mut plan = plan(8);
        plan.learn(crash(), Some(3), QUICK).unwrap();
        plan.learn(Death::Silence, Some(7), QUICK).unwrap();
        assert_eq!(plan.options().skip, [2, 6]);
        assert_eq!(gaps(plan, 9), [(3, 3), (7, 7)]);
    }

    #[test]
    fn memory_used_up_page_by_page_ends_the_reading_where_it_first_ran_out() {
        let mut plan = plan(8);
        plan.learn(Death::Memory, Some(5), QUICK).unwrap();
        plan.learn(Death::Memory, Some(6), QUICK).unwrap();
        assert_eq!(plan.options().pages, Some(0..4));
        assert_eq!(gaps(plan, 9), [(5, 9)]);
    }

    #[test]
    fn a_document_that_dies_outside_its_pages_is_given_up() {
        let mut plan = plan(8);
        assert!(plan.learn(crash(), None, QUICK).is_err());
    }

    #[test]
    fn too_many_poison_pages_end_the_reading_before_the_first() {
        let mut plan = plan(2);
        for page in [4, 6, 8] {
            plan.learn(crash(), Some(page), QUICK).unwrap();
        }
        assert_eq!(gaps(plan, 9), [(4, 9)]);
    }

    /// Reads a document in which these pages hang until somebody ends it, and every other one
    /// takes some time. What became of it, and the time it took.
    fn read(settings: &Settings, pages: u32, each: Duration, bad: &[u32]) -> (Vec<Gap>, Time) {
        let mut plan = Plan::new(settings);
        let mut total = Time::default();
        loop {
            let (options, allowed) = (plan.options(), plan.time());
            let wanted = options.pages.unwrap_or(0..pages);
            let skipped: BTreeSet<u32> = options.skip.into_iter().collect();
            let mut took = Duration::ZERO;
            let mut death = None;
            for page in wanted.filter(|page| !skipped.contains(page)) {
                let hangs = bad.contains(&(page + 1));
                took += if hangs { settings.silence } else { each };
                let over = took >= allowed.wall.min(allowed.cpu);
                if hangs || over {
                    took = took.min(allowed.wall).min(allowed.cpu);
                    let why = if over { Death::Cpu } else { Death::Silence };
                    death = Some((why, page + 1));
                    break;
                }
            }
            total.cpu += took;
            total.wall += took;
            let used = Time {
                cpu: took,
                wall: took,
            };
            match death {
                Some((death, page)) => plan.learn(death, Some(page), used).unwrap(),
                None => {
                    let size = model::PageSize {
                        width: 1.0,
                        height: 1.0,
                    };
                    let parsed = Parsed {
                        pages: vec![size; pages as usize],
                        ..Parsed::default()
                    };
                    return (plan.disclose(parsed).gaps, total);
                }
            }
        }
    }

    #[test]
    fn a_document_whose_pages_all_hang_is_given_up_within_its_time() {
        let settings = Settings::default();
        let each = Duration::from_millis(20);
        let bad: Vec<u32> = (3..=500).collect();
        let (gaps, took) = read(&settings, 500, each, &bad);
        assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
        assert!(took.wall <= settings.wall_in_all(), "{took:?}");
        let (first, last) = (gaps[0].pages, gaps[gaps.len() - 1].pages);
        assert_eq!((first, last.map(|last| last.1)), (Some((3, 3)), Some(500)));
        let reason = &gaps[gaps.len() - 1].reason;
        assert!(
            reason.starts_with("the document's time was used up"),
            "{reason}"
        );
    }

    #[test]
    fn what_was_read_before_the_time_ran_out_is_kept() {
        let settings = Settings::default();
        let bad: Vec<u32> = (1..=10).map(|page| page * 40).collect();
        let (gaps, took) = read(&settings, 500, Duration::from_millis(20), &bad);
        assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
        let gaps: Vec<_> = gaps.iter().filter_map(|gap| gap.pages).collect();
        assert_eq!(gaps, [(40, 40), (80, 80), (120, 120), (160, 500)]);
    }

    #[test]
    fn a_machine_too_slow_for_the_whole_document_costs_three_attempts() {
        let settings = Settings::default();
        let (gaps, took) = read(&settings, 500, settings.cpu / 300, &[]);
        assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
        let gaps: Vec<_> = gaps.iter().filter_map(|gap| gap.pages).collect();
        assert_eq!(gaps.len(), 1);
        assert!((290..=300).contains(&gaps[0].0), "{gaps:?}");
    }
}
