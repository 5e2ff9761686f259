//! Rows that go by another id than they were given are known by what else tells of them, and get
//! their own back.

use catalog::{Dossier, Error, Mend, Now, Renamed, Told, VersionFacts};
use model::{ContentHash, TenantId};

use crate::World;

impl World {
    async fn gets_ids_back(&self, sql: &'static str, found: usize) {
        let (catalog, tenant) = (&self.catalog, self.place.tenant);
        let whole = self.dossiers().await;
        assert!(whole.iter().all(|one| one.renamed.is_empty()));
        self.vandalise_beyond_references(sql).await;
        let spoilt = self.dossiers().await;
        let renamed: Vec<(_, Renamed)> = spoilt
            .iter()
            .flat_map(|one| one.renamed.iter().map(|it| (one.document, *it)))
            .collect();
        assert_eq!(renamed.len(), found, "{sql}: {spoilt:#?}");
        for (document, one) in renamed {
            let mended = catalog.mend(tenant, document, vec![Mend::Renamed(one)], self.clock.now());
            mended.await.unwrap();
        }
        assert_eq!(self.dossiers().await, whole, "{sql}");
    }
}

pub async fn a_version_or_a_run_gets_its_own_id_back(world: &World) {
    world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    world.work_off().await;
    world
        .gets_ids_back("UPDATE document_versions SET id = run_id", 2)
        .await;
    world
        .gets_ids_back("UPDATE ingestion_runs SET id = version_id", 2)
        .await;
    world.is_as_noted("whole").await;
}

/// Of what is under way nothing but its own rows tells: which of them was changed, nobody knows.
pub async fn of_what_is_under_way_no_row_is_taken_for_another(world: &World) {
    world.admit("a.txt", "one").await;
    world
        .gets_no_id_back("UPDATE ingestion_runs SET version_id = id")
        .await;
}

impl World {
    async fn gets_no_id_back(&self, sql: &'static str) {
        self.vandalise_beyond_references(sql).await;
        for one in self.dossiers().await {
            assert_eq!(one.renamed, [], "{one:#?}");
            assert_eq!(one.versions.len(), 1);
        }
    }
}

pub async fn a_job_gets_its_own_id_back_with_all_it_counted(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let claim = world.job("brings them").await;
    world
        .bring(&claim, &[("a.txt", "one"), ("b.txt", "two")], true)
        .await;
    world.work_off().await;
    let whole = world.shown(&claim).await;
    world
        .vandalise_beyond_references("UPDATE jobs SET id = tenant_id")
        .await;
    let told = catalog.miscounted_jobs(tenant).await.unwrap();
    let jobs: Vec<_> = told.iter().map(|one| one.job).collect();
    assert_eq!(jobs, [claim.job], "it is named, and nothing else");
    catalog.recount_met(tenant).await.unwrap();
    assert_eq!(catalog.miscounted_jobs(tenant).await.unwrap(), []);
    assert_eq!(world.shown(&claim).await, whole);
}

async fn kbs_are_whole(world: &World, tenant: TenantId) {
    for one in world.catalog.noted_kbs(tenant).await.unwrap() {
        match (&one.now, &one.noted) {
            (Now::Is(now), Some(Told::Was(noted))) => assert_eq!(now, noted),
            _ => panic!("{one:?}"),
        }
    }
}

pub async fn a_knowledge_base_gets_back_its_own_id_or_its_note(world: &World) {
    let (catalog, tenant, kb) = (&world.catalog, world.place.tenant, world.place.kb);
    world.admit("a.txt", "one").await;
    world.work_off().await;
    let whole = catalog.noted_kbs(tenant).await.unwrap();
    let answering = world.answering().await;
    for damage in [
        "UPDATE knowledge_bases SET id = tenant_id",
        "UPDATE knowledge_bases SET id = tenant_id, name = 'other'",
        "UPDATE witnesses SET subject = owner WHERE kind = 'kb'",
    ] {
        world.vandalise_beyond_references(damage).await;
        let found = catalog.noted_kbs(tenant).await.unwrap();
        let named: Vec<_> = found.iter().map(|one| one.kb).collect();
        assert_eq!(named, [kb], "{damage}: {found:?}");
        assert_ne!(found, whole, "{damage}");
        catalog.mend_kbs(tenant).await.unwrap();
        assert_eq!(catalog.noted_kbs(tenant).await.unwrap(), whole, "{damage}");
        kbs_are_whole(world, tenant).await;
        assert_eq!(world.answering().await, answering, "{damage}");
        let again = world.admit("a.txt", damage).await;
        world.work_off().await;
        let dossier = catalog.dossier(tenant, again.document).await.unwrap();
        let newest = dossier.versions.last().unwrap();
        assert_eq!(newest.content_hash, ContentHash::of(damage.as_bytes()));
        // As before, for the next damage.
        let (gone, now) = (again.version, world.clock.now());
        assert_eq!(world.answering().await, [gone]);
        let back = catalog.rollback(tenant, again.document, answering[0], None, now);
        back.await.unwrap();
    }
}

pub async fn a_lost_knowledge_base_is_not_made_a_second_time(world: &World) {
    let (catalog, tenant, kb) = (&world.catalog, world.place.tenant, world.place.kb);
    world.admit("a.txt", "one").await;
    world.work_off().await;
    let name = catalog.kb(tenant, kb).await.unwrap().name;
    let answering = world.answering().await;
    for damage in [
        "DELETE FROM knowledge_bases",
        "UPDATE knowledge_bases SET name = 'other'",
    ] {
        world.vandalise_beyond_references(damage).await;
        let now = world.clock.now();
        let made = catalog.create_kb(tenant, &name, testkit::generation(), now);
        let refused = made.await.unwrap_err();
        assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
        assert!(refused.to_string().contains("gristmill repair"));
        catalog.mend_kbs(tenant).await.unwrap();
        kbs_are_whole(world, tenant).await;
        let mended = catalog.kb_by_name(tenant, &name).await.unwrap();
        assert_eq!(mended.id, kb, "{damage}");
        assert_eq!(world.answering().await, answering, "{damage}");
    }
}

pub async fn a_note_of_nobody_is_known_and_goes(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let whole = catalog.noted_kbs(tenant).await.unwrap();
    world
        .vandalise(
            "INSERT INTO witnesses (owner, kind, subject, facts, sum)
             SELECT owner, kind, owner, '{}', sum FROM witnesses WHERE kind = 'kb'",
        )
        .await;
    let found = catalog.noted_kbs(tenant).await.unwrap();
    assert_eq!(found.iter().filter(|one| one.of_nobody).count(), 1);
    catalog.mend_kbs(tenant).await.unwrap();
    assert_eq!(catalog.noted_kbs(tenant).await.unwrap(), whole);
}

pub async fn a_document_has_one_note_of_its_row(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let admitted = world.admit("a.txt", "one").await;
    world.work_off().await;
    let whole = world.dossiers().await;
    for damage in [
        "UPDATE witnesses SET subject = (SELECT id FROM tenants) WHERE kind = 'document'",
        "INSERT INTO witnesses (owner, kind, subject, facts, sum)
         SELECT owner, kind, (SELECT id FROM tenants), '{}', sum FROM witnesses
         WHERE kind = 'document'",
    ] {
        world.vandalise(damage).await;
        assert_ne!(world.dossiers().await, whole, "{damage}");
        let mends = vec![Mend::Noted];
        let now = world.clock.now();
        let mended = catalog.mend(tenant, admitted.document, mends, now);
        mended.await.unwrap();
        assert_eq!(world.dossiers().await, whole, "{damage}");
    }
}

pub async fn a_lost_version_gets_back_its_number_though_another_has_it(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let lost = world.admit("a.txt", "one").await;
    world.admit("b.txt", "two").await;
    world.work_off().await;
    let whole = catalog.dossier(tenant, lost.document).await.unwrap();
    let row = &whole.versions[0];
    assert_eq!(row.number, 0);
    for damage in [
        "DELETE FROM document_versions WHERE number = 0",
        "UPDATE document_versions SET number = 0",
    ] {
        world.vandalise_beyond_references(damage).await;
    }
    let facts = VersionFacts {
        id: row.id,
        kb: row.kb,
        generation: row.generation,
        run: row.run,
        number: Some(row.number),
        content_hash: row.content_hash,
        size: row.size,
        filename: row.filename.clone(),
        order: row.order.clone(),
        state: row.state,
        root_hash: row.root_hash,
        created_at: row.created_at,
    };
    let mends = vec![Mend::Version(facts)];
    let mended = catalog.mend(tenant, lost.document, mends, world.clock.now());
    mended.await.unwrap();
    let numbers = |dossier: &Dossier| dossier.versions[0].number;
    let numbers: Vec<u32> = world.dossiers().await.iter().map(numbers).collect();
    assert_eq!(numbers, [0, 2], "the other has one that nobody had");
}
