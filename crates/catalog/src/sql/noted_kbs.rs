//! Notes of knowledge bases and their generations, beside their rows.
//!
//! Written where a knowledge base is made; from then on whoever begins, switches or gives up a
//! generation changes that part of the note.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use model::{GenerationId, KbId, TenantId};
use sqlx::query;
use uuid::Uuid;

use super::Tx;
use super::cells::{Cells, json};
use super::dialect::Dialect;
use super::notes::{self, Noted, Of};
use super::renamed::give_back;
use crate::{Error, GenerationFacts, GenerationState, KbFacts, NotedKb, Now, Told};

impl Noted for KbFacts {
    const KIND: &'static str = "kb";
}

fn of(tenant: TenantId, kb: KbId) -> Of {
    (tenant.as_uuid(), kb.as_uuid())
}

/// Notes a knowledge base as its rows have it.
pub async fn write<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, kb: KbId) -> Result<(), Error> {
    match rows::<DB>(c, tenant).await?.remove(&kb) {
        Some(Now::Is(facts)) => notes::put::<DB, _>(c, of(tenant, kb), &facts).await,
        // One that cannot be read is named for that.
        Some(Now::Unreadable | Now::Gone) | None => Ok(()),
    }
}

/// Notes every knowledge base, when notes are new to a catalog.
pub async fn write_all<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    let all = query("SELECT id, tenant_id FROM knowledge_bases")
        .fetch_all(&mut *c)
        .await?;
    for row in &all {
        let row = Cells::<DB>(row);
        let tenant = row.id("tenant_id", TenantId::from_uuid)?;
        write::<DB>(c, tenant, row.id("id", KbId::from_uuid)?).await?;
    }
    Ok(())
}

/// Notes a generation that is new.
pub async fn add<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, kb): (TenantId, KbId),
    generation: GenerationFacts,
) -> Result<(), Error> {
    change::<DB>(c, of(tenant, kb), |facts| {
        facts.generations.push(generation);
    })
    .await
}

/// Notes that a generation serves since now, in the place of the one that did.
pub async fn switch<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, kb): (TenantId, KbId),
    to: GenerationId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    change::<DB>(c, of(tenant, kb), |facts| {
        for one in &mut facts.generations {
            if one.id == to {
                one.state = GenerationState::Serving;
                one.serving_since = Some(now);
            } else {
                one.state = GenerationState::Retired;
            }
        }
    })
    .await
}

/// Notes that a generation will never serve.
pub async fn retire<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, kb): (TenantId, KbId),
    generation: GenerationId,
) -> Result<(), Error> {
    change::<DB>(c, of(tenant, kb), |facts| {
        let mut all = facts.generations.iter_mut();
        if let Some(one) = all.find(|one| one.id == generation) {
            one.state = GenerationState::Retired;
        }
    })
    .await
}

/// Changes a part of what is noted, if that is still what was noted.
async fn change<DB: Dialect>(
    c: &mut Tx<DB>,
    of: Of,
    change: impl FnOnce(&mut KbFacts),
) -> Result<(), Error> {
    match notes::standing::<DB, KbFacts>(c, of).await? {
        Some(mut facts) => {
            change(&mut facts);
            notes::put::<DB, _>(c, of, &facts).await
        }
        None => Ok(()),
    }
}

/// Whether a knowledge base of this name is noted, so that repair would write its row again.
pub async fn is_noted<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    name: &str,
) -> Result<bool, Error> {
    let noted = notes::of_owners::<DB, KbFacts>(c, &[tenant.as_uuid()]).await?;
    let mut noted = noted.iter();
    Ok(noted.any(|one| matches!(&one.told, Told::Was(facts) if facts.name == name)))
}

/// Every knowledge base of a tenant, as it is and as it was noted.
pub async fn gather<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<Vec<NotedKb>, Error> {
    let mut found = BTreeMap::new();
    for (kb, now) in rows::<DB>(c, tenant).await? {
        found.insert(kb, unnoted(kb, now));
    }
    for written in notes::of_owners::<DB, KbFacts>(c, &[tenant.as_uuid()]).await? {
        let kb = KbId::from_uuid(written.of.1);
        // One that names another than it was written for is missed there, and named for that.
        let strange = |of_kb: &KbId| written.was_of(of(tenant, *of_kb));
        if !written.stands() && found.keys().any(strange) {
            continue;
        }
        let gone = || unnoted(kb, Now::Gone);
        found.entry(kb).or_insert_with(gone).noted = Some(written.told);
    }
    leave_to_others::<DB>(c, tenant, &mut found).await?;
    find_renamed(&mut found);
    for one in found.values_mut() {
        if one.now == Now::Gone && one.noted == Some(Told::Changed) {
            one.of_nobody = !is_named::<DB>(c, one.kb).await?;
        }
    }
    Ok(found.into_values().collect())
}

/// A row that says it is this tenant's, and was noted as another's, is missed there and put right
/// with that.
async fn leave_to_others<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    found: &mut BTreeMap<KbId, NotedKb>,
) -> Result<(), Error> {
    let unnoted = found.values().filter(|one| one.noted.is_none());
    for kb in unnoted.map(|one| one.kb).collect::<Vec<_>>() {
        if notes::is_anothers::<DB, KbFacts>(c, of(tenant, kb)).await? {
            found.remove(&kb);
        }
    }
    Ok(())
}

/// Which of some knowledge bases were noted as another tenant's, and not as this one's.
pub async fn of_others<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    mut kbs: BTreeSet<KbId>,
) -> Result<BTreeSet<KbId>, Error> {
    for written in notes::of_owners::<DB, KbFacts>(c, &[tenant.as_uuid()]).await? {
        if written.stands() {
            kbs.remove(&KbId::from_uuid(written.of.1));
        }
    }
    let mut others = BTreeSet::new();
    for kb in kbs {
        if notes::is_anothers::<DB, KbFacts>(c, of(tenant, kb)).await? {
            others.insert(kb);
        }
    }
    Ok(others)
}

fn unnoted(kb: KbId, now: Now<KbFacts>) -> NotedKb {
    NotedKb {
        kb,
        now,
        noted: None,
        goes_by: None,
        of_nobody: false,
    }
}

/// A row that nothing was noted of and that has no generation is that of one that is gone, where it
/// is called as that was, or came in the same moment.
fn find_renamed(found: &mut BTreeMap<KbId, NotedKb>) {
    let lost = found.values().filter(|one| one.now == Now::Gone);
    let pairs = lost.filter_map(|one| {
        let noted = one.facts()?;
        let alike = |other: &&NotedKb| match (&other.now, &other.noted) {
            (Now::Is(now), None) => {
                let alike = now.name == noted.name || now.created_at == noted.created_at;
                now.generations.is_empty() && alike
            }
            _ => false,
        };
        Some((found.values().find(alike)?.kb, one.kb))
    });
    for (is, was) in pairs.collect::<Vec<_>>() {
        if found.remove(&is).is_some()
            && let Some(one) = found.get_mut(&was)
        {
            one.goes_by = Some(is);
        }
    }
}

/// Whether anything but a note names it.
async fn is_named<DB: Dialect>(c: &mut Tx<DB>, kb: KbId) -> Result<bool, Error> {
    let row = query(
        "SELECT 1 AS named WHERE EXISTS (SELECT 1 FROM generations WHERE kb_id = $1)
             OR EXISTS (SELECT 1 FROM documents WHERE kb_id = $1)
             OR EXISTS (SELECT 1 FROM document_versions WHERE kb_id = $1)
             OR EXISTS (SELECT 1 FROM jobs WHERE kb_id = $1)
             OR EXISTS (SELECT 1 FROM ingestion_runs WHERE kb_id = $1)
             OR EXISTS (SELECT 1 FROM ingestion_sources WHERE kb_id = $1)",
    )
    .bind(kb.as_uuid())
    .fetch_optional(c)
    .await?;
    Ok(row.is_some())
}

/// Rows as they were noted, or, where no note stands, notes as the rows have it.
pub async fn put_right<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<(), Error> {
    for one in gather::<DB>(c, tenant).await? {
        let (is, was) = (one.goes_by.map(KbId::as_uuid), one.kb.as_uuid());
        if let Some(is) = is {
            give_back::<DB>(c, "knowledge_bases", (is, was)).await?;
        }
        if one.noted.is_none() {
            notes::bring_back::<DB, KbFacts>(c, of(tenant, one.kb)).await?;
        }
        if one.of_nobody {
            notes::forget::<DB, KbFacts>(c, of(tenant, one.kb)).await?;
        }
    }
    let found = gather::<DB>(c, tenant).await?;
    free_names::<DB>(c, &found).await?;
    for one in found {
        match (&one.now, &one.noted) {
            (Now::Is(now), Some(Told::Was(noted))) if now == noted => {}
            (_, Some(Told::Was(noted))) => set::<DB>(c, tenant, one.kb, noted).await?,
            (_, None | Some(Told::Changed)) => write::<DB>(c, tenant, one.kb).await?,
        }
    }
    Ok(())
}

/// No name is taken by a row that is about to get another.
async fn free_names<DB: Dialect>(c: &mut Tx<DB>, found: &[NotedKb]) -> Result<(), Error> {
    for one in found {
        if let (Now::Is(now), Some(Told::Was(noted))) = (&one.now, &one.noted)
            && now.name != noted.name
        {
            query("UPDATE knowledge_bases SET name = $2 WHERE id = $1")
                .bind(one.kb.as_uuid())
                .bind(one.kb.to_string())
                .execute(&mut *c)
                .await?;
        }
    }
    Ok(())
}

/// What a lost row has counted is counted anew.
async fn set<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    kb: KbId,
    facts: &KbFacts,
) -> Result<(), Error> {
    query(
        "INSERT INTO knowledge_bases (id, tenant_id, name, retention, created_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (id) DO UPDATE SET tenant_id = $2, name = $3, retention = $4, created_at = $5",
    )
    .bind(kb.as_uuid())
    .bind(tenant.as_uuid())
    .bind(&*facts.name)
    .bind(json(&facts.retention))
    .bind(facts.created_at)
    .execute(&mut *c)
    .await?;
    make_way::<DB>(c, kb, &facts.generations).await?;
    for generation in &facts.generations {
        set_generation::<DB>(c, kb, generation).await?;
    }
    Ok(())
}

/// No number and no state is taken by a row that is about to get another, nor by one that
/// nothing was noted of.
async fn make_way<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: KbId,
    noted: &[GenerationFacts],
) -> Result<(), Error> {
    if !DB::KEEPS_IDS {
        // Without an id, and of nothing, it is what is left of the row of one that was noted.
        for sql in [
            "DELETE FROM generations WHERE kb_id = $1 AND length(id) <> 16
               AND NOT EXISTS (SELECT 1 FROM activations a WHERE a.generation_id = generations.id)
               AND NOT EXISTS (SELECT 1 FROM document_versions v
                   WHERE v.generation_id = generations.id)
               AND NOT EXISTS (SELECT 1 FROM ingestion_runs r
                   WHERE r.generation_id = generations.id)",
            "UPDATE generations SET state = 'retired', number = -1 - number
             WHERE kb_id = $1 AND length(id) <> 16",
        ] {
            query(sql).bind(kb.as_uuid()).execute(&mut *c).await?;
        }
    }
    let there = query("SELECT id FROM generations WHERE kb_id = $1")
        .bind(kb.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    for row in &there {
        let Ok(id) = Cells::<DB>(row).get::<Uuid>("id") else {
            continue;
        };
        let sql = match noted.iter().any(|one| one.id.as_uuid() == id) {
            true => "UPDATE generations SET state = 'retired', number = -1 - number WHERE id = $1",
            false => "DELETE FROM generations WHERE id = $1",
        };
        query(sql).bind(id).execute(&mut *c).await?;
    }
    Ok(())
}

async fn set_generation<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: KbId,
    facts: &GenerationFacts,
) -> Result<(), Error> {
    query(
        "INSERT INTO generations (id, kb_id, number, spec, state, created_at, serving_since,
             changes, rebuilt)
         VALUES ($1, $2, $3, $4, $5, $6, $7,
             (SELECT coalesce(max(change), 0) FROM activations WHERE generation_id = $1),
             (SELECT coalesce(max(change), 0) FROM activations WHERE generation_id = $1))
         ON CONFLICT (id) DO UPDATE SET kb_id = $2, number = $3, spec = $4, state = $5,
             created_at = $6, serving_since = $7",
    )
    .bind(facts.id.as_uuid())
    .bind(kb.as_uuid())
    .bind(i64::from(facts.number))
    .bind(json(&facts.spec))
    .bind(facts.state.as_str())
    .bind(facts.created_at)
    .bind(facts.serving_since)
    .execute(c)
    .await?;
    Ok(())
}

async fn rows<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<BTreeMap<KbId, Now<KbFacts>>, Error> {
    let kbs = query("SELECT * FROM knowledge_bases WHERE tenant_id = $1")
        .bind(tenant.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    let generations = query(
        "SELECT g.* FROM generations g JOIN knowledge_bases k ON k.id = g.kb_id
         WHERE k.tenant_id = $1 ORDER BY g.number",
    )
    .bind(tenant.as_uuid())
    .fetch_all(c)
    .await?;
    let mut found = BTreeMap::new();
    for row in &kbs {
        let Ok(kb) = Cells::<DB>(row).id("id", KbId::from_uuid) else {
            continue;
        };
        found.insert(kb, read::<DB>(row).map_or(Now::Unreadable, Now::Is));
    }
    for row in &generations {
        let Ok(kb) = Cells::<DB>(row).id("kb_id", KbId::from_uuid) else {
            continue;
        };
        let generation = read_generation::<DB>(row);
        if let Some(now) = found.get_mut(&kb) {
            match (&mut *now, generation) {
                (Now::Is(facts), Ok(generation)) => facts.generations.push(generation),
                (_, _) => *now = Now::Unreadable,
            }
        }
    }
    Ok(found)
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<KbFacts, Error> {
    let row = Cells::<DB>(row);
    Ok(KbFacts {
        name: row.text("name")?,
        retention: row.json("retention")?,
        created_at: row.at("created_at")?,
        generations: Vec::new(),
    })
}

fn read_generation<DB: Dialect>(row: &DB::Row) -> Result<GenerationFacts, Error> {
    let row = Cells::<DB>(row);
    Ok(GenerationFacts {
        id: row.id("id", GenerationId::from_uuid)?,
        number: row.small("number")?,
        spec: row.json("spec")?,
        state: row.word("state")?,
        created_at: row.at("created_at")?,
        serving_since: row.maybe_at("serving_since")?,
    })
}
