//! Events, requests, removal for good, counts, accounts.

use std::time::Duration;

use catalog::{
    Attempt, Begun, DeliveryState, Error, NewApiKey, NewUpload, NewUser, NewWebhook, Page, Role,
    Status, TenantChange, UploadEnd, UploadState, UserChange, every,
};
use futures::future::join_all;
use model::ContentHash;

use crate::World;

pub async fn events_come_in_the_order_of_commits(world: &World) {
    let now = world.clock.now();
    let names: Vec<String> = (0..32).map(|at| format!("{at}.txt")).collect();
    let writing = join_all(
        names
            .iter()
            .map(|name| world.take(world.place.file(name, "text", now))),
    );
    let reading = async {
        let (mut after, mut seen) = (0, Vec::new());
        while seen.len() < 32 {
            let page = world
                .catalog
                .events_after(world.place.tenant, after, 5)
                .await
                .unwrap();
            after = page.last().map_or(after, |event| event.id);
            seen.extend(page);
            tokio::task::yield_now().await;
        }
        seen
    };
    let (_, seen) = tokio::join!(writing, reading);
    let ids: Vec<i64> = seen.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=32).collect::<Vec<_>>(), "none missed, none twice");
    assert!(seen.iter().all(|event| event.kind == "run.queued"));
    let last = world.catalog.last_event(world.place.tenant).await.unwrap();
    assert_eq!(last, 32);
}

pub async fn a_request_made_twice_is_answered_once(world: &World) {
    let (catalog, tenant, now) = (&world.catalog, world.place.tenant, world.clock.now());
    let (request, keep) = (ContentHash::of(b"request"), Duration::from_secs(60));
    let begin = |request, now| catalog.begin_request(tenant, "key", request, keep, now);
    let begun = join_all((0..8).map(|_| begin(request, now))).await;
    let fresh = begun
        .iter()
        .filter(|begun| matches!(begun, Ok(Begun::Fresh)))
        .count();
    assert_eq!(fresh, 1);
    assert_eq!(begin(request, now).await.unwrap(), Begun::UnderWay);
    catalog
        .finish_request(tenant, "key", serde_json::json!({ "ok": true }))
        .await
        .unwrap();
    let answer = Begun::Finished(serde_json::json!({ "ok": true }));
    assert_eq!(begin(request, now).await.unwrap(), answer);
    let other = ContentHash::of(b"another");
    assert_eq!(begin(other, now).await.unwrap(), Begun::OtherRequest);
    assert_eq!(
        begin(other, now + keep).await.unwrap(),
        Begun::Fresh,
        "keys expire"
    );
    catalog.abandon_request(tenant, "key").await.unwrap();
    assert_eq!(begin(request, now).await.unwrap(), Begun::Fresh);
}

pub async fn a_purged_document_leaves_its_ledger_and_nothing_else(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.admit("b.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    let now = world.clock.now();
    let removing = catalog
        .begin_purge(tenant, first.document, None, now)
        .await
        .unwrap();
    assert_eq!(removing.len(), 2);
    assert_eq!(world.answering().await.len(), 1);
    assert!(world.claim(9).await.is_empty());
    let ids: Vec<_> = removing.iter().map(|version| version.version).collect();
    assert!(
        catalog.rows_left(&ids).await.unwrap() > 2,
        "versions and units"
    );
    let free = catalog.forget_versions(tenant, &ids).await.unwrap();
    assert_eq!(
        free,
        [ContentHash::of(b"two")],
        "bytes another document has are kept"
    );
    assert_eq!(catalog.rows_left(&ids).await.unwrap(), 0);
    assert!(matches!(
        catalog.document(tenant, first.document).await,
        Err(Error::NotFound { .. })
    ));
    let ledger = every(|page| catalog.ledger(tenant, first.document, page));
    let ledger = ledger.await.unwrap();
    assert_eq!(ledger.last().unwrap().kind, catalog::LedgerKind::Purged);
    assert!(
        catalog
            .forget_versions(tenant, &ids)
            .await
            .unwrap()
            .is_empty(),
        "again is nothing"
    );
}

pub async fn an_original_is_free_when_no_version_refers_to_it(world: &World) {
    world.admit("a.txt", "one").await;
    let (kept, free) = (ContentHash::of(b"one"), ContentHash::of(b"two"));
    let asked = [kept, free];
    let tenant = world.place.tenant;
    let found = world.catalog.unreferenced(tenant, &asked).await.unwrap();
    assert_eq!(found, [free]);
    let other = world
        .catalog
        .create_tenant("other", world.clock.now())
        .await
        .unwrap();
    let found = world.catalog.unreferenced(other.id, &asked).await.unwrap();
    assert_eq!(
        found, asked,
        "another tenant's versions keep nothing of ours"
    );
}

pub async fn an_original_is_kept_for_a_run_that_never_answered(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let asked = [ContentHash::of(b"one")];
    let admitted = world.admit("a.txt", "one").await;
    let is_kept = async |what: &str| {
        let free = catalog.unreferenced(tenant, &asked).await.unwrap();
        assert_eq!(free, [], "{what}");
    };
    let untouched = catalog::Untouched {
        queued: Duration::ZERO,
        running: Duration::ZERO,
    };
    world.vandalise("DELETE FROM work").await;
    world.vandalise("DELETE FROM document_versions").await;
    is_kept("it is queued").await;
    // It fails, as its version is lost.
    let now = world.clock.pass(Duration::from_secs(9));
    let recreated = catalog.recreate_missing_work(untouched, now).await;
    assert_eq!(recreated.unwrap(), []);
    is_kept("it has failed").await;
    world.vandalise("DELETE FROM ingestion_runs").await;
    is_kept("it was noted").await;
    let other = catalog.create_tenant("other", now).await.unwrap();
    let free = catalog.unreferenced(other.id, &asked).await.unwrap();
    assert_eq!(free, asked, "another tenant's runs keep nothing of ours");
    let document = admitted.document;
    let purged = catalog.begin_purge(tenant, document, None, now);
    purged.await.unwrap();
    let free = catalog.unreferenced(tenant, &asked).await.unwrap();
    assert_eq!(free, asked, "what was let go on purpose is kept no longer");
}

pub async fn a_tally_that_was_tampered_with_is_told_and_put_right(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.admit("a.txt", "one").await;
    world.admit("b.txt", "two").await;
    world.work_off().await;
    let as_it_is = catalog.status(tenant, world.clock.now()).await.unwrap();
    assert_eq!(catalog.recount_tallies().await.unwrap(), []);

    world.vandalise("DELETE FROM tallies").await;
    world.admit("c.txt", "three").await;
    world.work_off().await;
    let found = catalog.miscounted(tenant).await.unwrap();
    let miscounted = catalog.recount_tallies().await.unwrap();
    assert_eq!(found, miscounted, "all of it is this tenant's");
    assert_eq!(catalog.miscounted(tenant).await.unwrap(), []);
    let documents = miscounted.iter().find(|tally| tally.kind == "documents");
    assert_eq!(
        documents.map(|tally| (tally.told, tally.counted)),
        Some((1, 3))
    );
    assert_eq!(catalog.recount_tallies().await.unwrap(), []);
    let put_right = catalog.status(tenant, world.clock.now()).await.unwrap();
    let expected = Status {
        documents: 3,
        documents_active: 3,
        chunks_active: 6,
        runs_succeeded: 3,
        ..as_it_is
    };
    assert_eq!(put_right, expected);

    // Whatever takes rows away, the tallies follow.
    world.vandalise("DELETE FROM activations").await;
    world.vandalise("DELETE FROM ingestion_runs").await;
    assert_eq!(catalog.recount_tallies().await.unwrap(), []);
    let emptied = catalog.status(tenant, world.clock.now()).await.unwrap();
    let expected = Status {
        documents: 3,
        ..Status::default()
    };
    assert_eq!(emptied, expected);
}

pub async fn status_counts_what_there_is(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.admit("a.txt", "one").await;
    world.admit("b.txt", "two").await;
    world.work_off().await;
    world.admit("a.txt", "three").await;
    let now = world.clock.now();
    let status = catalog.status(tenant, now).await.unwrap();
    let queue = catalog::QueueDepth {
        ready: 1,
        oldest_due: Some(now),
        ..Default::default()
    };
    let expected = Status {
        documents: 2,
        documents_active: 2,
        chunks_active: 4,
        runs_queued: 1,
        runs_succeeded: 2,
        queue,
        ..Status::default()
    };
    assert_eq!(status, expected);

    let expires_at = now + Duration::from_secs(60);
    let upload = NewUpload {
        kb: world.place.kb,
        object_key: "staging/1".into(),
        filename: "a.pdf".into(),
        size: 3,
        media_type: None,
        initiated_by: None,
        expires_at,
    };
    let upload = catalog.create_upload(tenant, upload, now).await.unwrap();
    assert_eq!(
        catalog.upload_by_key("staging/1").await.unwrap(),
        Some(upload.clone())
    );
    assert!(catalog.overdue_uploads(now, 10).await.unwrap().is_empty());
    assert_eq!(
        catalog.overdue_uploads(expires_at, 10).await.unwrap(),
        std::slice::from_ref(&upload)
    );
    let ended = catalog
        .finish_upload(tenant, upload.id, UploadEnd::Expired, now)
        .await
        .unwrap();
    assert_eq!(ended.state, UploadState::Expired);
}

pub async fn accounts_are_kept_apart(world: &World) {
    let (catalog, tenant, now) = (&world.catalog, world.place.tenant, world.clock.now());
    let again = catalog
        .ensure_first_start(testkit::first_start(), now)
        .await
        .unwrap();
    assert_eq!((again.tenant, again.created), (tenant, false));
    let user = NewUser {
        login: "ada".into(),
        role: Role::User,
        password_hash: "x".into(),
    };
    let ada = catalog
        .create_user(tenant, user.clone(), now)
        .await
        .unwrap();
    assert!(matches!(
        catalog.create_user(tenant, user, now).await,
        Err(Error::Conflict { .. })
    ));
    let change = UserChange {
        disabled: Some(true),
        ..UserChange::default()
    };
    let changed = catalog
        .update_user(tenant, ada.id, change.clone())
        .await
        .unwrap();
    assert_eq!((changed.disabled, changed.role), (true, Role::User));
    let other = catalog.create_tenant("other", now).await.unwrap().id;
    let foreign = catalog.update_user(other, ada.id, change).await;
    assert!(matches!(foreign, Err(Error::NotFound { .. })));

    let hash = ContentHash::of(b"secret");
    let key = NewApiKey {
        name: "ci".into(),
        hash,
        role: Role::User,
        scopes: vec!["search".into()],
        created_by: Some(ada.id),
        expires_at: None,
    };
    let key = catalog.create_api_key(tenant, key, now).await.unwrap();
    assert!(catalog.revoke_api_key(other, key.id, now).await.is_err());
    catalog.revoke_api_key(tenant, key.id, now).await.unwrap();
    let found = catalog.api_key_by_hash(hash).await.unwrap().unwrap();
    assert_eq!(
        (found.revoked_at, found.scopes),
        (Some(now), vec!["search".to_owned()])
    );
}

pub async fn a_key_opens_nothing_while_its_maker_is_disabled(world: &World) {
    let (catalog, tenant, now) = (&world.catalog, world.place.tenant, world.clock.now());
    let user = NewUser {
        login: "ada".into(),
        role: Role::User,
        password_hash: "x".into(),
    };
    let ada = catalog.create_user(tenant, user, now).await.unwrap().id;
    let key = |secret: &str, created_by| NewApiKey {
        name: "ci".into(),
        hash: ContentHash::of(secret.as_bytes()),
        role: Role::User,
        scopes: Vec::new(),
        created_by,
        expires_at: None,
    };
    let hers = catalog.create_api_key(tenant, key("hers", Some(ada)), now);
    assert!(hers.await.unwrap().opens(now));
    let nobodys = catalog.create_api_key(tenant, key("nobodys", None), now);
    nobodys.await.unwrap();
    for disabled in [true, false] {
        let change = UserChange {
            disabled: Some(disabled),
            ..UserChange::default()
        };
        catalog.update_user(tenant, ada, change).await.unwrap();
        let hers = catalog.api_key_by_hash(ContentHash::of(b"hers")).await;
        assert_eq!(hers.unwrap().unwrap().opens(now), !disabled);
        let nobodys = catalog.api_key_by_hash(ContentHash::of(b"nobodys")).await;
        assert!(nobodys.unwrap().unwrap().opens(now));
        let listed = catalog.api_keys(tenant, Page::first(9)).await.unwrap();
        let shut = listed.items.iter().filter(|key| key.maker_disabled);
        assert_eq!(shut.count(), usize::from(disabled));
    }
}

pub async fn a_disabled_tenant_lets_nobody_in_and_its_work_goes_on(world: &World) {
    let (catalog, tenant, now) = (&world.catalog, world.place.tenant, world.clock.now());
    let other = catalog.create_tenant("other", now).await.unwrap().id;
    let renamed = |name: &str| TenantChange {
        name: Some(name.into()),
        disabled: None,
    };
    let taken = catalog.update_tenant(tenant, renamed("other")).await;
    assert!(matches!(taken, Err(Error::Conflict { .. })));
    let named = catalog
        .update_tenant(tenant, renamed("mill"))
        .await
        .unwrap();
    assert_eq!((named.name.as_str(), named.disabled), ("mill", false));

    let key = NewApiKey {
        name: "ci".into(),
        hash: ContentHash::of(b"secret"),
        role: Role::User,
        scopes: Vec::new(),
        created_by: None,
        expires_at: None,
    };
    catalog.create_api_key(tenant, key, now).await.unwrap();
    let user = NewUser {
        login: "ada".into(),
        role: Role::User,
        password_hash: "x".into(),
    };
    let ada = catalog.create_user(tenant, user, now).await.unwrap();
    let begun = world.admit("a.txt", "one").await;
    for disabled in [true, false] {
        let change = TenantChange {
            name: None,
            disabled: Some(disabled),
        };
        let changed = catalog.update_tenant(tenant, change).await.unwrap();
        assert_eq!(
            (changed.name.as_str(), changed.disabled),
            ("mill", disabled)
        );
        assert_eq!(catalog.tenant(tenant).await.unwrap(), changed);
        assert!(!catalog.tenant(other).await.unwrap().disabled);
        let key = catalog.api_key_by_hash(ContentHash::of(b"secret")).await;
        assert_eq!(key.unwrap().unwrap().opens(now), !disabled);
        let by_login = catalog.user_by_login("ada").await.unwrap().unwrap();
        let by_id = catalog.user(tenant, ada.id).await.unwrap();
        assert_eq!(
            [by_login.may_come_in(), by_id.may_come_in()],
            [!disabled; 2]
        );
        world.work_off().await;
        assert_eq!(world.answering().await, [begun.version]);
    }
    let nobody = model::TenantId::from_uuid(uuid::Uuid::from_u128(7));
    let unknown = catalog.update_tenant(nobody, renamed("x")).await;
    assert!(matches!(unknown, Err(Error::NotFound { .. })));
}

pub async fn what_ends_is_on_its_way_to_who_asked_until_it_has_arrived(world: &World) {
    let (catalog, tenant, now) = (&world.catalog, world.place.tenant, world.clock.now());
    let hook = |kinds: &[&str]| NewWebhook {
        url: "https://example.org/hook".into(),
        kinds: kinds.iter().map(ToString::to_string).collect(),
        secret: "whsec_x".into(),
        created_by: None,
    };
    let create = |hook| catalog.create_webhook(tenant, hook, now);
    let wanted = create(hook(&["run.succeeded"])).await.unwrap();
    create(hook(&["job.completed"])).await.unwrap();
    world.admit("a.txt", "one").await;
    world.work_off().await;
    let (now, lease) = (world.clock.now(), Duration::from_secs(60));
    let due = join_all((0..4).map(|_| catalog.due_deliveries(10, lease, now))).await;
    let due: Vec<_> = due.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(due.len(), 1, "one hook wants it, one sender takes it");
    assert_eq!(due[0].delivery.webhook, wanted.id);
    assert_eq!(due[0].delivery.payload["type"], "run.succeeded");
    let id = due[0].delivery.id;
    let failed = Attempt {
        state: DeliveryState::Pending,
        status: Some(500),
        error: None,
        again_at: now + lease / 2,
    };
    catalog.attempted(id, failed, now).await.unwrap();
    assert!(
        catalog
            .due_deliveries(10, lease, now)
            .await
            .unwrap()
            .is_empty()
    );
    let later = now + lease / 2;
    let again = catalog.due_deliveries(10, lease, later).await.unwrap();
    assert_eq!((again.len(), again[0].delivery.attempts), (1, 2));
    let arrived = Attempt {
        state: DeliveryState::Delivered,
        status: Some(200),
        error: None,
        again_at: later,
    };
    catalog.attempted(id, arrived, later).await.unwrap();
    let much_later = later + 10 * lease;
    assert!(
        catalog
            .due_deliveries(10, lease, much_later)
            .await
            .unwrap()
            .is_empty()
    );
    let listed = catalog
        .deliveries(tenant, wanted.id, Page::first(10))
        .await
        .unwrap();
    assert_eq!(listed.items[0].state, DeliveryState::Delivered);
    let stranger = catalog.create_tenant("stranger", now).await.unwrap().id;
    assert!(catalog.delete_webhook(stranger, wanted.id).await.is_err());
    catalog.delete_webhook(tenant, wanted.id).await.unwrap();
}
