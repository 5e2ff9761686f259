//! Lists, read to their end.

use crate::{Error, Listed, Page};

/// Every row of a list, a page at a time: for who needs them all, and holds them all.
pub async fn every<T, F>(read: impl Fn(Page) -> F) -> Result<Vec<T>, Error>
where
    F: Future<Output = Result<Listed<T>, Error>>,
{
    let mut all = Vec::new();
    let mut page = Page::first(Page::MAX);
    loop {
        let listed = read(page).await?;
        all.extend(listed.items);
        match listed.next {
            Some(cursor) => page = Page::following(cursor, Page::MAX),
            None => return Ok(all),
        }
    }
}
