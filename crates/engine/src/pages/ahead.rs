//! Pages are drawn while the one before them is being read.
//!
//! A wish never waits and may be dropped: what it would have drawn is drawn on demand. One
//! page is drawn at a time, by a process that stands back for all others, and none while
//! documents keep every reader busy. Who turns the pages on has a new wish in the place of the
//! old one.

use std::collections::VecDeque;
use std::sync::Arc;

use catalog::Version;
use model::VersionId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Settings;
use super::artist::Artist;
use super::counts::Outcome;

/// More readers than this at a time are not served ahead.
const WISHES: usize = 16;

pub(crate) struct Ahead {
    pages: u32,
    artist: Arc<Artist>,
    wishes: mpsc::Sender<Wish>,
    task: JoinHandle<()>,
}

struct Wish {
    version: Version,
    next: u32,
    left: u32,
}

impl Ahead {
    /// What is under way ends with this.
    pub(crate) fn start(settings: Settings, artist: Arc<Artist>) -> Self {
        let (wishes, incoming) = mpsc::channel(WISHES);
        Self {
            pages: settings.ahead,
            task: tokio::spawn(grant(incoming, artist.clone())),
            artist,
            wishes,
        }
    }

    /// Somebody looks at this page, or at none yet.
    pub(super) fn draw_after(&self, version: &Version, page: u32) {
        if self.pages == 0 {
            return;
        }
        let wish = Wish {
            version: version.clone(),
            next: page.saturating_add(1),
            left: self.pages,
        };
        if self.wishes.try_send(wish).is_err() {
            self.artist.counts.add(Outcome::GaveWay);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn grant(mut incoming: mpsc::Receiver<Wish>, artist: Arc<Artist>) {
    let mut open = Open::default();
    let hear = |open: &mut Open<Wish>, wish: Wish| {
        if !open.take(wish.version.id, wish) {
            artist.counts.add(Outcome::GaveWay);
        }
    };
    loop {
        // Between two pages whoever came meanwhile is heard.
        while let Ok(wish) = incoming.try_recv() {
            hear(&mut open, wish);
        }
        let Some(wish) = open.first() else {
            match incoming.recv().await {
                Some(wish) => hear(&mut open, wish),
                None => return,
            }
            continue;
        };
        if !wish.goes_on(&artist).await {
            open.end_first();
        }
    }
}

/// Wishes to be granted, the oldest first, one for a version.
struct Open<W>(VecDeque<(VersionId, W)>);

impl<W> Default for Open<W> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<W> Open<W> {
    /// In the place of the one for the same version; `false` if another had to go for it.
    fn take(&mut self, version: VersionId, wish: W) -> bool {
        self.0.retain(|(other, _)| *other != version);
        let full = self.0.len() == WISHES;
        if full {
            self.0.pop_front();
        }
        self.0.push_back((version, wish));
        !full
    }

    fn first(&mut self) -> Option<&mut W> {
        self.0.front_mut().map(|(_, wish)| wish)
    }

    fn end_first(&mut self) {
        self.0.pop_front();
    }
}

impl Wish {
    /// Draws its next page; `false` when there is nothing more to do for it.
    async fn goes_on(&mut self, artist: &Arc<Artist>) -> bool {
        if self.left == 0 {
            return false;
        }
        if !artist.is_free() {
            artist.counts.add(Outcome::GaveWay);
            return false;
        }
        match artist.draw_ahead(&self.version, self.next).await {
            Ok(true) => {
                (self.next, self.left) = (self.next.saturating_add(1), self.left - 1);
                true
            }
            Ok(false) => false,
            Err(error) => {
                let error = error.explain();
                tracing::debug!(version_id = %self.version.id, error, "pages were not drawn ahead");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_has_one_wish_and_too_many_readers_cost_the_oldest_theirs() {
        let version = |n: usize| VersionId::from_uuid(uuid::Uuid::from_u128(n as u128));
        let mut open = Open::default();
        assert!(open.take(version(1), 2));
        assert!(open.take(version(2), 9));
        assert!(open.take(version(1), 7), "turned the page");
        assert_eq!(open.first(), Some(&mut 9));
        open.end_first();
        assert_eq!(open.first(), Some(&mut 7));
        for n in 2..=WISHES {
            assert!(open.take(version(n), 1));
        }
        assert!(!open.take(version(0), 1));
        assert_ne!(open.first(), Some(&mut 7), "the oldest went");
    }
}
