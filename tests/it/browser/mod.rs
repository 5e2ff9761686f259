//! The pages in a real browser, used the way people use them: a mouse, a keyboard, files
//! dragged from the desktop. Whatever a test does, its tabs must end blameless: no error
//! in the console, no other host asked, every document under a strict policy.
//!
//! Where no Chromium is installed these tests say so and pass; `make browser` insists.

mod account;
mod chromium;
mod every_page;
mod first_use;
mod hostile;
mod inspector;
mod jobs;
mod letters;
mod phone;
mod sources;
mod tab;

use std::sync::Arc;

use chromium::Chromium;
use tab::Tab;

use crate::served::{PASSWORD, Served};

/// A server on a fresh data folder, and a browser to look at it with.
struct Room {
    served: Served,
    chromium: Arc<Chromium>,
}

impl Room {
    /// `None` where there is no browser, said aloud.
    fn open(test: &str) -> Option<Self> {
        Self::open_with(test, &[])
    }

    fn open_with(test: &str, settings: &[(&str, &str)]) -> Option<Self> {
        let Some(program) = chromium::find() else {
            assert!(
                std::env::var_os("GRISTMILL_BROWSER").is_none(),
                "no chromium is installed; `scripts/fetch-browser` says what is needed"
            );
            eprintln!("SKIPPED {test}: no chromium is installed");
            return None;
        };
        Some(Self {
            served: Served::start_with(settings),
            chromium: Arc::new(Chromium::start(program)),
        })
    }

    async fn tab(&self) -> Tab {
        Tab::open(self.chromium.clone(), &self.served.base).await
    }

    /// A tab in which somebody has signed in, by hand.
    async fn signed_in(&self, login: &str) -> Tab {
        let tab = self.tab().await;
        tab.go("/sign-in").await;
        tab.fill("[name=login]", login).await;
        tab.fill("[name=password]", PASSWORD).await;
        tab.press("Enter").await;
        tab.until("document.querySelector('header.top')").await;
        tab
    }
}
