//! A row nobody can read holds up nothing but what it is about.

use catalog::{Error, JobCount, JobFilter, Mend, NotedRun, Now, Page, UnderWay};
use model::{DocumentId, RunStatus};
use serde_json::json;

use crate::World;
use crate::world::LEASE;

pub async fn a_step_nobody_can_read_is_made_again_and_holds_up_no_other(world: &World) {
    for name in ["a.txt", "b.txt", "c.txt"] {
        world.admit(name, name).await;
    }
    // Each kind of step in turn, and every column it is read from that a database lets be wrong.
    for damage in [
        r#"UPDATE work SET step = '"x"' WHERE id = (SELECT min(id) FROM work)"#,
        r#"UPDATE work SET step = '"x"', number = -1 WHERE id = (SELECT min(id) FROM work)"#,
        r#"UPDATE work SET step = '{}', attempts = -1 WHERE id = (SELECT min(id) FROM work)"#,
    ] {
        world.vandalise(damage).await;
        let mut claims = world.claim(3).await;
        assert_eq!(claims.len(), 2, "the others are handed out: {damage}");
        claims.extend(world.claim(3).await);
        assert_eq!(claims.len(), 3, "and then the one made again: {damage}");
        for claim in &claims {
            world.perform(claim).await.unwrap();
        }
    }
    assert_eq!(world.answering().await.len(), 3);
}

pub async fn a_step_that_can_never_be_read_ends_among_the_dead_letters(world: &World) {
    let hurt = world.admit("a.txt", "one").await;
    let other = world.admit("b.txt", "two").await;
    // What the step is made of again is as wrong.
    world
        .vandalise("UPDATE document_versions SET number = -1 WHERE filename = 'a.txt'")
        .await;
    world
        .vandalise(
            "UPDATE work SET number = -1, deliveries = 99
             WHERE version_id = (SELECT id FROM document_versions WHERE number = -1)",
        )
        .await;
    for _ in 0..20 {
        world.work_off().await;
        world.clock.pass(LEASE * 2);
    }
    let catalog = &world.catalog;
    let tenant = world.place.tenant;
    let run = catalog.run(tenant, hurt.run.unwrap()).await.unwrap();
    assert_eq!(run.status, RunStatus::Failed);
    assert_eq!(run.error.unwrap().code, "step_unreadable");
    let letters = catalog.dead_letters(tenant, Page::first(9)).await.unwrap();
    assert_eq!(letters.items.len(), 1);
    let run = catalog.run(tenant, other.run.unwrap()).await.unwrap();
    assert_eq!(run.status, RunStatus::Succeeded);
}

pub async fn a_job_nobody_can_read_holds_up_no_other(world: &World) {
    let hurt = world.job("first").await;
    world.bring(&hurt, &[("a.txt", "one")], false).await;
    let other = world.job("second").await;
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    catalog.expire_leases(world.clock.now()).await.unwrap();
    world
        .vandalise("UPDATE jobs SET docs_skipped = -1 WHERE cursor IS NOT NULL")
        .await;
    // Nor can what was noted of it, by which it would be put back.
    world
        .vandalise("UPDATE job_witnesses SET facts = facts || ' '")
        .await;
    assert_eq!(world.listing().await.job, other.job);
    let listed = catalog.jobs(tenant, JobFilter::default(), Page::first(9));
    let listed: Vec<_> = listed.await.unwrap().items;
    assert_eq!(
        listed.iter().map(|job| job.id).collect::<Vec<_>>(),
        [other.job]
    );

    world
        .vandalise("UPDATE jobs SET docs_skipped = 0 WHERE cursor IS NOT NULL")
        .await;
    world
        .vandalise("UPDATE job_witnesses SET facts = rtrim(facts)")
        .await;
    world.clock.pass(LEASE * 2);
    // PostgreSQL keeps no text in the place of a cursor.
    if world.url.starts_with("sqlite") {
        world
            .vandalise("UPDATE jobs SET cursor = '{x' WHERE cursor IS NOT NULL")
            .await;
        let listed = catalog.jobs(tenant, JobFilter::default(), Page::first(9));
        assert_eq!(listed.await.unwrap().items.len(), 2);
    }
    let listing = world.listing().await;
    assert_eq!(
        (listing.job, listing.cursor),
        (hurt.job, Some(json!({ "after": "a.txt" })))
    );
}

/// Only where anything can stand in a column.
fn takes_anything(world: &World) -> bool {
    world.url.starts_with("sqlite")
}

pub async fn a_step_that_says_another_is_made_again(world: &World) {
    for name in ["a.txt", "b.txt", "c.txt"] {
        world.admit(name, name).await;
    }
    for damage in [
        "UPDATE work SET step = (SELECT w.step FROM work w ORDER BY w.id DESC LIMIT 1)
         WHERE id = (SELECT min(id) FROM work)",
        "UPDATE work SET step_key = 'another' WHERE id = (SELECT min(id) FROM work)",
    ] {
        world.vandalise(damage).await;
        let mut claims = world.claim(3).await;
        assert_eq!(claims.len(), 2, "the others are handed out: {damage}");
        claims.extend(world.claim(3).await);
        assert_eq!(claims.len(), 3, "and then the one made again: {damage}");
        for claim in &claims {
            world.perform(claim).await.unwrap();
        }
    }
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 3);
}

pub async fn a_run_that_cannot_be_ended_keeps_no_other_from_it(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let mut hurt = Vec::new();
    for (name, damage) in [
        (
            "a.txt",
            "UPDATE ingestion_runs SET run_type = 'zz' WHERE status = 'queued'",
        ),
        (
            "b.txt",
            "UPDATE ingestion_runs SET chunks_created = -1, tokens_total = -1
             WHERE status = 'queued' AND run_type <> 'zz'",
        ),
    ] {
        hurt.push(world.admit(name, name).await);
        world.vandalise(damage).await;
    }
    let whole = world.admit("c.txt", "c.txt").await;
    world
        .vandalise(
            "UPDATE work SET deliveries = 100 WHERE version_id IN
             (SELECT id FROM document_versions WHERE filename <> 'c.txt')",
        )
        .await;
    // The second is ended with counts of its own, so nothing of it is in the way.
    world.work_off().await;
    assert_eq!(world.answering().await, [whole.version]);
    let dossier = catalog.dossier(tenant, hurt[0].document).await.unwrap();
    let version = &dossier.versions[0];
    assert!(dossier.is_under_way(version));
    assert!(matches!(dossier.noted_runs[0].now, Now::Unreadable));

    let mend = Mend::UnderWay(UnderWay {
        version: version.id,
        source_uri: dossier.source_uri().unwrap(),
        config: json!({}),
    });
    let now = world.clock.pass(LEASE * 2);
    let mended = catalog.mend(tenant, hurt[0].document, vec![mend], now);
    mended.await.unwrap();
    world.vandalise("UPDATE work SET deliveries = 0").await;
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 2);
    let letters = catalog.dead_letters(tenant, Page::first(9)).await.unwrap();
    assert_eq!(letters.items.len(), 1);
    world.is_as_noted("all have ended").await;
}

pub async fn a_run_that_began_at_no_time_keeps_no_other_from_beginning(world: &World) {
    world.admit("a.txt", "one").await;
    world.admit("b.txt", "two").await;
    if takes_anything(world) {
        world
            .vandalise(
                "UPDATE ingestion_runs SET started_at = 'no time'
                 WHERE id = (SELECT min(id) FROM ingestion_runs)",
            )
            .await;
    }
    assert_eq!(world.claim(2).await.len(), 2);
}

pub async fn a_list_is_shown_without_what_nobody_can_read(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    for name in ["a.txt", "b.txt", "c.txt"] {
        world.admit(name, name).await;
    }
    world.work_off().await;
    for damage in [
        "UPDATE ingestion_runs SET run_type = 'zz'
         WHERE version_id = (SELECT id FROM document_versions WHERE filename = 'b.txt')",
        "UPDATE document_versions SET chunks = -1 WHERE filename = 'b.txt'",
    ] {
        world.vandalise(damage).await;
    }
    let one = |after: Option<String>| match after {
        Some(after) => Page::following(after, 1),
        None => Page::first(1),
    };
    let (mut runs, mut documents) = (Vec::new(), Vec::new());
    let mut next = None;
    loop {
        let page = catalog.runs(tenant, Default::default(), one(next)).await;
        let page = page.unwrap();
        runs.extend(page.items.into_iter().filter_map(|run| run.filename));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    loop {
        let page = catalog.documents(tenant, Default::default(), one(next));
        let page = page.await.unwrap();
        documents.extend(page.items.into_iter().filter_map(|one| one.filename));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(
        runs,
        ["c.txt", "a.txt"],
        "a page without it is not the last"
    );
    assert_eq!(documents, ["c.txt", "a.txt"]);
}

pub async fn what_nothing_else_tells_of_is_put_back_where_it_cannot_be_read(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let claim = world.job("brings it").await;
    world.bring(&claim, &[("a.txt", "one")], true).await;
    world.work_off().await;
    let whole = world.shown(&claim).await;
    let mut damages = vec![
        "UPDATE jobs SET paused_ms = -5",
        "UPDATE jobs SET chunks_seen = -1, chunks_skipped = -1, chunks_processed = 0",
    ];
    if takes_anything(world) {
        damages.push("UPDATE jobs SET updated_at = 'no time', heartbeat_at = 'no time'");
    }
    for damage in damages {
        world.vandalise(damage).await;
        let told = catalog.miscounted_jobs(tenant).await.unwrap();
        assert!(told.iter().any(|one| one.of == JobCount::Row), "{damage}");
        catalog.recount_met(tenant).await.unwrap();
        assert_eq!(catalog.miscounted_jobs(tenant).await.unwrap(), []);
        let shown = world.shown(&claim).await;
        assert_eq!(shown.counters, whole.counters, "{damage}");
        assert_eq!((shown.paused_ms, shown.status), (0, whole.status));
    }
    if !takes_anything(world) {
        return;
    }
    let document = world.dossiers().await[0].document;
    let unread = |runs: &[NotedRun]| runs.iter().all(|run| run.now == Now::Unreadable);
    for damage in [
        "UPDATE ingestion_runs SET updated_at = 'no time', waiting_until = 'no time'",
        "UPDATE documents SET updated_at = 'no time', created_at = 'no time'",
    ] {
        world.vandalise(damage).await;
        let spoilt = world.dossiers().await.remove(0);
        assert!(
            spoilt.head.is_none() || unread(&spoilt.noted_runs),
            "{damage}"
        );
        let run = spoilt.noted_runs[0].run;
        let mends = vec![Mend::NotedRun(run), Mend::Noted];
        let now = world.clock.now();
        catalog.mend(tenant, document, mends, now).await.unwrap();
        world.is_as_noted(damage).await;
        catalog.run(tenant, run).await.unwrap();
        catalog.document(tenant, document).await.unwrap();
    }
}

pub async fn a_job_of_nobody_keeps_no_other_from_being_listed(world: &World) {
    let hurt = world.job("first").await;
    let other = world.job("second").await;
    world
        .catalog
        .expire_leases(world.clock.now())
        .await
        .unwrap();
    assert_ne!(hurt.job, other.job);
    if takes_anything(world) {
        world
            .vandalise_beyond_references(
                "UPDATE jobs SET tenant_id = zeroblob(7) WHERE id = (SELECT min(id) FROM jobs)",
            )
            .await;
        assert_eq!(world.listing().await.job, other.job);
    }
}

/// What `verify` asks of a catalog.
async fn audited(world: &World) -> Result<(Vec<DocumentId>, Vec<&'static str>), Error> {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let mut documents = Vec::new();
    let mut page = Page::first(1);
    loop {
        let listed = catalog.dossiers(tenant, page).await?;
        documents.extend(listed.items.iter().map(|one| one.document));
        match listed.next {
            Some(next) => page = Page::following(next, 1),
            None => break,
        }
    }
    catalog.held(tenant).await?;
    catalog.miscounted(tenant).await?;
    catalog.miscounted_jobs(tenant).await?;
    catalog.noted_kbs(tenant).await?;
    catalog
        .runs(tenant, Default::default(), Page::first(9))
        .await?;
    catalog
        .documents(tenant, Default::default(), Page::first(9))
        .await?;
    catalog
        .jobs(tenant, Default::default(), Page::first(9))
        .await?;
    Ok((documents, catalog.nameless(tenant).await?))
}

pub async fn what_is_no_id_hides_nothing_else_and_is_told(world: &World) {
    let claim = world.job("brings them").await;
    let files = [("a.txt", "one"), ("b.txt", "two"), ("c.txt", "three")];
    world.bring(&claim, &files, true).await;
    world.work_off().await;
    world.finds_b_gone(&claim).await;
    let (documents, nameless) = audited(world).await.unwrap();
    assert_eq!(nameless, [""; 0]);
    let last = *documents.last().unwrap();
    let catalog = &world.catalog;
    let other = catalog.dossier(world.place.tenant, last).await.unwrap();
    if !takes_anything(world) {
        return;
    }
    // What is deeper comes first: each finds its row by those above.
    for (table, damage) in [
        (
            "",
            "UPDATE document_versions SET content_hash = zeroblob(7) WHERE filename = 'a.txt'",
        ),
        (
            "",
            "UPDATE document_versions SET pass = -1 WHERE filename = 'a.txt'",
        ),
        (
            "job_versions",
            "UPDATE job_versions SET job_id = zeroblob(7) WHERE (job_id, version_id) IN (SELECT job_id, version_id FROM job_versions LIMIT 1)",
        ),
        (
            "job_removals",
            "UPDATE job_removals SET job_id = zeroblob(7)",
        ),
        (
            "witnesses",
            "UPDATE witnesses SET subject = zeroblob(7) WHERE owner = (SELECT min(id) FROM documents)",
        ),
        (
            "run_witnesses",
            "UPDATE run_witnesses SET run_id = zeroblob(7) WHERE document_id = (SELECT min(id) FROM documents)",
        ),
        (
            "job_witnesses",
            "UPDATE job_witnesses SET job_id = zeroblob(7) WHERE job_id = (SELECT min(id) FROM jobs)",
        ),
        (
            "activations",
            "UPDATE activations SET generation_id = zeroblob(6) WHERE document_id = (SELECT min(id) FROM documents)",
        ),
        (
            "activations",
            "UPDATE activations SET document_id = zeroblob(7) WHERE document_id = (SELECT min(id) FROM documents)",
        ),
        (
            "ledger",
            "UPDATE ledger SET document_id = zeroblob(7) WHERE document_id = (SELECT min(id) FROM documents)",
        ),
        (
            "ingestion_runs",
            "UPDATE ingestion_runs SET id = zeroblob(7) WHERE document_id = (SELECT min(id) FROM documents)",
        ),
        (
            "ingestion_runs",
            "UPDATE ingestion_runs SET tenant_id = zeroblob(7) WHERE length(id) = 7",
        ),
        (
            "document_versions",
            "UPDATE document_versions SET document_id = zeroblob(7) WHERE filename = 'a.txt'",
        ),
        (
            "document_versions",
            "UPDATE document_versions SET id = zeroblob(7) WHERE filename = 'a.txt'",
        ),
        (
            "documents",
            "UPDATE documents SET id = zeroblob(7) WHERE id = (SELECT min(id) FROM documents)",
        ),
        (
            "documents",
            "UPDATE documents SET tenant_id = zeroblob(7) WHERE length(id) = 7",
        ),
        (
            "jobs",
            "UPDATE jobs SET id = zeroblob(7) WHERE id = (SELECT min(id) FROM jobs)",
        ),
        ("generations", "UPDATE generations SET id = zeroblob(7)"),
    ] {
        world.vandalise_beyond_references(damage).await;
        let (left, nameless) = audited(world)
            .await
            .unwrap_or_else(|error| panic!("{damage}: {error:?}"));
        assert!(left.contains(&last), "{damage}");
        assert!(
            table.is_empty() || nameless.contains(&table),
            "{damage}: {nameless:?}"
        );
    }
    let still = catalog.dossier(world.place.tenant, last).await.unwrap();
    assert_eq!(
        (still.head, still.versions.len()),
        (other.head, other.versions.len())
    );
    // What can be put back is, and what cannot is in nobody's way.
    catalog.mend_kbs(world.place.tenant).await.unwrap();
    catalog.recount_met(world.place.tenant).await.unwrap();
    assert!(
        !catalog
            .nameless(world.place.tenant)
            .await
            .unwrap()
            .contains(&"generations")
    );
}

pub async fn events_go_on_after_a_count_of_them_that_was_set_back(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.admit("a.txt", "one").await;
    world.work_off().await;
    let before = catalog.events_after(tenant, 0, 99).await.unwrap();
    world.vandalise("UPDATE tenants SET last_event = 0").await;
    world.admit("b.txt", "two").await;
    world.work_off().await;
    let after = catalog.events_after(tenant, 0, 99).await.unwrap();
    assert_eq!(after.len(), 2 * before.len());
    let ids: Vec<_> = after.iter().map(|event| event.id).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    assert_eq!(
        catalog.last_event(tenant).await.unwrap(),
        *ids.last().unwrap()
    );
}
