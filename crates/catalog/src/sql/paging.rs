//! Pages of rows by their keys.
//!
//! A cursor is the key of the last row shown, never a count: rows that come or go meanwhile
//! move no other row to another page, and the row it names need not be there any more.

use std::fmt;

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::cells::Cells;
use super::dialect::Dialect;
use super::nameless::named;
use crate::{Error, Listed, Page};

/// Newest first, one row more than asked for: whether there is a next page. Rows without an id are
/// not among them.
pub fn page_by_id<DB: Dialect>(
    select: &mut QueryBuilder<DB>,
    column: &'static str,
    page: &Page,
) -> Result<u32, Error> {
    if let Some(id) = after::<Uuid>(page)? {
        select.push(format_args!(" AND {column} < ")).push_bind(id);
    }
    select.push(named::<DB>(column));
    select.push(format_args!(" ORDER BY {column} DESC"));
    Ok(limit(select, page))
}

/// By a name that is the tenant's only one.
pub fn page_by_name<DB: Dialect>(select: &mut QueryBuilder<DB>, page: &Page) -> Result<u32, Error> {
    if let Some(cursor) = &page.after {
        let name = name_of(cursor).ok_or_else(|| foreign(cursor))?;
        select.push(" AND name > ").push_bind(name);
    }
    select.push(" ORDER BY name");
    Ok(limit(select, page))
}

/// One row more than asked for.
pub fn limit<DB: Dialect>(select: &mut QueryBuilder<DB>, page: &Page) -> u32 {
    let limit = page.limit.clamp(1, Page::MAX);
    select.push(" LIMIT ").push_bind(i64::from(limit) + 1);
    limit
}

/// Cuts the row too many, which only told that there is a next page.
pub fn cut<T, C: fmt::Display>(
    mut items: Vec<T>,
    limit: u32,
    cursor: impl Fn(&T) -> C,
) -> Listed<T> {
    let more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let last = items.last().filter(|_| more);
    let next = last.map(|last| cursor(last).to_string());
    Listed { items, next }
}

/// A page of rows by their ids. One that cannot be read is named by `verify`, and keeps no other
/// from being shown.
pub fn shown<DB: Dialect, T>(
    rows: &[DB::Row],
    limit: u32,
    what: &'static str,
    read: impl Fn(&DB::Row) -> Result<T, Error>,
) -> Result<Listed<T>, Error> {
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        items.push((Cells::<DB>(row).get::<Uuid>("id")?, read(row)));
    }
    let page = cut(items, limit, |(id, _)| *id);
    let readable = page.items.into_iter().filter_map(|(id, item)| {
        item.inspect_err(|error| tracing::error!(what, %id, %error, "it cannot be read"))
            .ok()
    });
    Ok(Listed {
        items: readable.collect(),
        next: page.next,
    })
}

/// What a cursor that is one plain value says.
pub fn after<T: std::str::FromStr>(page: &Page) -> Result<Option<T>, Error> {
    let read = |cursor: &String| cursor.parse().map_err(|_| foreign(cursor));
    page.after.as_ref().map(read).transpose()
}

/// As if there were no such page.
fn foreign(cursor: &str) -> Error {
    Error::not_found("page", cursor)
}

/// A name as a cursor: in hex, so that it is one word wherever it is put.
pub fn of_name(name: &str) -> String {
    use fmt::Write as _;
    name.bytes().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written to it");
        text
    })
}

fn name_of(cursor: &str) -> Option<String> {
    let hex = cursor.bytes().all(|digit| digit.is_ascii_hexdigit());
    if cursor.is_empty() || !hex || !cursor.len().is_multiple_of(2) {
        return None;
    }
    let pairs = cursor.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let name = String::from_utf8(pairs.map(byte).collect::<Option<_>>()?).ok()?;
    // PostgreSQL's text cannot hold it, so no name does.
    (!name.contains('\0')).then_some(name)
}

/// From 1970 to the year 9999, in microseconds: what both databases and everybody's clock know.
const MOMENTS: std::ops::Range<i64> = 0..253_402_300_800_000_000;

/// A moment, and what tells things of the same moment apart.
pub struct AtMoment(pub DateTime<Utc>, pub Uuid);

impl fmt::Display for AtMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.timestamp_micros(), self.1)
    }
}

impl std::str::FromStr for AtMoment {
    type Err = Error;

    fn from_str(cursor: &str) -> Result<Self, Error> {
        let read = || {
            let (micros, id) = cursor.split_once('.')?;
            let micros = micros.parse().ok().filter(|at| MOMENTS.contains(at))?;
            Some(Self(
                DateTime::from_timestamp_micros(micros)?,
                id.parse().ok()?,
            ))
        };
        read().ok_or_else(|| foreign(cursor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_made_of_a_name_gives_the_name_back() {
        for name in ["a", "Müller & Söhne", "100 %", "日本"] {
            let cursor = of_name(name);
            assert!(cursor.bytes().all(|c| c.is_ascii_alphanumeric()));
            assert_eq!(name_of(&cursor).as_deref(), Some(name));
        }
        for foreign in ["", "nonsense", "6", "+f", "00", "ff", "é"] {
            assert_eq!(name_of(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_cursor_made_of_a_moment_gives_the_moment_back() {
        let moment = DateTime::from_timestamp_micros(1_700_000_000_123_456).unwrap();
        let cursor = AtMoment(moment, Uuid::from_u128(7)).to_string();
        let AtMoment(at, id) = cursor.parse().unwrap();
        assert_eq!((at, id), (moment, Uuid::from_u128(7)));
        for foreign in [
            "",
            ".",
            "1",
            "x.y",
            "-1.00000000-0000-0000-0000-000000000000",
        ] {
            assert!(foreign.parse::<AtMoment>().is_err(), "{foreign}");
        }
    }
}
