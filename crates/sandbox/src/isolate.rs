//! Finds the pages that kill their reader and reads the rest.
//!
//! A child says which page it begins, so the page it died on is known at once: it is
//! left out and the document is read again. When memory was used up, that page may only have
//! been the last straw: if leaving it out does not help, the document is read up to there and
//! the rest is one gap. So it is when too many pages hurt, or when the time of the whole
//! document runs out. Where no page took most of the time, or where it died over putting
//! pages together, half of what it had read is read again.

use bytes::Bytes;
use model::{Gap, Parsed};
use parse::pdf::Recognised;
use parse::{Hints, Options};

use crate::allowance::{Allowance, Time};
use crate::error::{Death, Error};
use crate::pool::Pool;
use crate::protocol::{Answer, Reached, Request, Want};
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
        match pool.ask(&request.within(plan.time), bytes).await? {
            Answer::Parsed(parsed) => return Ok(plan.disclose(*parsed)),
            Answer::Refused(error) => return Err(error.into()),
            Answer::Died {
                death,
                reached,
                used,
            } => {
                tracing::warn!(?reached, reason = %death, "a document killed its reader");
                plan.learn(death, reached, used)?;
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
    /// What the next attempt may take.
    time: Time,
    /// No further page is looked for: all that is asked for has been read before.
    ending: bool,
}

impl Plan {
    fn new(settings: &Settings) -> Self {
        Self {
            lost: Vec::new(),
            end: None,
            poison: settings.poison_pages,
            allowance: Allowance::new(settings.attempt()),
            time: settings.attempt(),
            ending: false,
        }
    }

    fn options(&self) -> Options {
        Options {
            pages: self.end.as_ref().map(|(end, _)| 0..*end),
            skip: self.lost.iter().map(|(page, _)| page - 1).collect(),
            ..Options::default()
        }
    }

    /// Takes a death into account; fails when there is nothing left to try.
    fn learn(&mut self, death: Death, reached: Reached, used: Time) -> Result<(), Error> {
        self.allowance.spend(used);
        let last_words = death.clone();
        match reached {
            Reached::NoPage => return Err(Error::Deadly { death }),
            Reached::Page { page, most } if !self.ending => self.blame(death, page, most),
            Reached::Page { page, .. } => self.halve(page - 1, &death),
            Reached::End { last } => self.halve(last, &death),
        }
        let nothing = self.end.as_ref().is_some_and(|(end, _)| *end == 0);
        let time = if self.ending {
            self.allowance.to_end()
        } else {
            self.allowance.to_search()
        };
        let time = time.filter(|_| !nothing);
        self.time = time.ok_or(Error::Deadly { death: last_words })?;
        Ok(())
    }

    /// Leaves out a page, or all from some page on.
    fn blame(&mut self, death: Death, page: u32, most: bool) {
        let mut full = self.lost.iter().filter(|(_, why)| *why == Death::Memory);
        match full.next().map(|(page, _)| *page) {
            // Pages take time one after the other, and this one took no more than others.
            _ if death.is_of_time() && !most => self.halve(page - 1, &death),
            Some(first) if death == Death::Memory && first < page => {
                self.stop_before(first, death.to_string());
            }
            // All pages before it, but for those known to hurt, have just been read.
            _ if self.allowance.to_search().is_none() => {
                let reason = format!("the document's time was used up before them: {death}");
                self.stop_before(page, reason);
            }
            _ if self.lost.len() >= self.poison => {
                let reason = format!("too many pages before them could not be read: {death}");
                self.stop_before(page, reason);
            }
            _ => self.lost.push((page, death)),
        }
    }

    /// To put pages together may take longer than to read them, and takes memory of its own.
    /// An attempt that failed for time leaves far less of it to the next.
    fn halve(&mut self, pages: u32, death: &Death) {
        let part = match self.ending && death.is_of_time() {
            true => 8,
            false => 2,
        };
        self.stop_before(pages / part + 1, death.to_string());
    }

    fn stop_before(&mut self, page: u32, reason: String) {
        self.ending = true;
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
mod tests;
