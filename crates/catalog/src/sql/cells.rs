//! Reading rows into types, and binding types into statements.

use std::str::FromStr;

use chrono::{DateTime, SubsecRound, Utc};
use model::{ContentHash, SourceOrder, SourceUri};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::Row;
use sqlx::types::Json;
use uuid::Uuid;

use super::dialect::{Column, Dialect};
use crate::{Error, Note};

/// The finest time both databases keep.
pub fn micros(at: DateTime<Utc>) -> DateTime<Utc> {
    at.trunc_subsecs(6)
}

pub fn bytes(hash: &ContentHash) -> Vec<u8> {
    hash.as_bytes().to_vec()
}

pub fn json(value: &impl Serialize) -> Json<Value> {
    Json(serde_json::to_value(value).expect("our records have string keys and finite numbers"))
}

/// PostgreSQL's text cannot hold NUL; nothing worth keeping is lost with it.
pub fn text(value: &str) -> String {
    value.replace('\0', "")
}

/// A row, read by the names of its columns.
pub struct Cells<'r, DB: Dialect>(pub &'r DB::Row);

impl<DB: Dialect> Cells<'_, DB> {
    pub fn get<T: Column<DB>>(&self, name: &str) -> Result<T, Error> {
        Ok(self.0.try_get(name)?)
    }

    pub fn id<T>(&self, name: &str, of: impl Fn(Uuid) -> T) -> Result<T, Error> {
        self.get::<Uuid>(name).map(of)
    }

    pub fn maybe_id<T>(&self, name: &str, of: impl Fn(Uuid) -> T) -> Result<Option<T>, Error> {
        Ok(self.get::<Option<Uuid>>(name)?.map(of))
    }

    pub fn text(&self, name: &str) -> Result<String, Error> {
        self.get(name)
    }

    pub fn maybe_text(&self, name: &str) -> Result<Option<String>, Error> {
        self.get(name)
    }

    pub fn count(&self, name: &str) -> Result<u64, Error> {
        let stored = self.get::<i64>(name)?;
        u64::try_from(stored).map_err(|_| Error::corrupt(format_args!("{name} is {stored}")))
    }

    pub fn small(&self, name: &str) -> Result<u32, Error> {
        let stored = self.get::<i64>(name)?;
        u32::try_from(stored).map_err(|_| Error::corrupt(format_args!("{name} is {stored}")))
    }

    pub fn maybe_count(&self, name: &str) -> Result<Option<u64>, Error> {
        Ok(self.get::<Option<i64>>(name)?.map(i64::cast_unsigned))
    }

    pub fn at(&self, name: &str) -> Result<DateTime<Utc>, Error> {
        self.get(name)
    }

    pub fn maybe_at(&self, name: &str) -> Result<Option<DateTime<Utc>>, Error> {
        self.get(name)
    }

    /// A word of one of our enums.
    pub fn word<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<T, Error> {
        parse(&self.text(name)?)
    }

    pub fn maybe_word<T: FromStr<Err: std::fmt::Display>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, Error> {
        self.maybe_text(name)?.map(|text| parse(&text)).transpose()
    }

    pub fn hash(&self, name: &str) -> Result<ContentHash, Error> {
        as_hash(&self.get::<Vec<u8>>(name)?)
    }

    pub fn maybe_hash(&self, name: &str) -> Result<Option<ContentHash>, Error> {
        self.get::<Option<Vec<u8>>>(name)?
            .map(|bytes| as_hash(&bytes))
            .transpose()
    }

    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let Json(value) = self.get::<Json<Value>>(name)?;
        serde_json::from_value(value)
            .map_err(|error| Error::corrupt(format_args!("{name}: {error}")))
    }

    pub fn maybe_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let Some(Json(value)) = self.get::<Option<Json<Value>>>(name)? else {
            return Ok(None);
        };
        let read = serde_json::from_value(value).map(Some);
        read.map_err(|error| Error::corrupt(format_args!("{name}: {error}")))
    }

    pub fn uri(&self, name: &str) -> Result<SourceUri, Error> {
        SourceUri::new(self.text(name)?).map_err(Error::corrupt)
    }

    pub fn note(&self) -> Result<Note, Error> {
        Ok(Note {
            facts: self.text("facts")?,
            sum: self.hash("sum")?,
        })
    }

    pub fn order(&self, name: &str) -> Result<SourceOrder, Error> {
        self.text(name).map(SourceOrder::from_stored)
    }
}

fn parse<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Error> {
    text.parse().map_err(Error::corrupt)
}

fn as_hash(bytes: &[u8]) -> Result<ContentHash, Error> {
    let bytes = bytes
        .try_into()
        .map_err(|_| Error::corrupt(format_args!("a hash of {} bytes", bytes.len())))?;
    Ok(ContentHash::from_bytes(bytes))
}
