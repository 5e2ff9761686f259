//! What would be embedded with the vector of a chunk.
//!
//! A chunk's vector is reused for its own input, under its own model. An entry that leads there
//! from another would hand the vector on to another text, where nobody could tell any more.

use std::collections::HashMap;

use model::{ContentHash, ModelName};

use crate::Error;
use crate::place::Space;
use crate::slate::key;
use crate::slate::store::Rows;
use crate::snapshot::Snapshot;

/// By the id of the vector, what leads to it.
pub struct Reuse(HashMap<u32, Leads>);

struct Leads {
    /// Of model and input.
    from: u64,
    more: bool,
}

impl Reuse {
    pub async fn read(snapshot: &Snapshot, space: Space) -> Result<Self, Error> {
        let mut found: HashMap<u32, Leads> = HashMap::new();
        let mut rows = Rows::under(snapshot.db(), &key::reuse_in(space.tenant)).await?;
        while let Some((key, _)) = rows.next().await? {
            let Some((_, id)) = key::read_reuse(&key).filter(|(of, _)| *of == space) else {
                continue;
            };
            let from = hash(key::reuse_source(&key));
            let leads = found.entry(id).or_insert(Leads { from, more: false });
            leads.more |= leads.from != from;
        }
        Ok(Self(found))
    }

    /// Whether another input leads to this vector. One nothing leads to is not reused, and
    /// loses nobody anything.
    pub fn is_anothers(
        &self,
        space: &Space,
        id: u32,
        model: &ModelName,
        input: &ContentHash,
    ) -> bool {
        let own = key::reuse(space, model, input, id);
        let own = hash(key::reuse_source(&own));
        let anothers = |leads: &Leads| leads.more || leads.from != own;
        self.0.get(&id).is_some_and(anothers)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
