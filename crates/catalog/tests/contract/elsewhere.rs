//! Rows that say they are of another document or tenant are missed by their own, and the other makes
//! nothing of them.

use catalog::{Mend, RunError, every};

use crate::World;

pub async fn a_row_that_says_it_is_another_documents_is_missed_by_its_own_alone(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.admit("a.txt", "one").await;
    world.admit("b.txt", "two").await;
    world.work_off().await;
    let whole = world.dossiers().await;
    for sql in [
        "UPDATE document_versions SET document_id = (SELECT id FROM documents ORDER BY id LIMIT 1)",
        "UPDATE document_versions SET document_id =
             (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
        "UPDATE ingestion_runs SET document_id = (SELECT id FROM documents ORDER BY id LIMIT 1)",
        "UPDATE ingestion_runs SET document_id =
             (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
    ] {
        world.vandalise(sql).await;
        let spoilt = world.dossiers().await;
        let pairs = whole.iter().zip(&spoilt);
        let (mut its_own, mut other): (Vec<_>, Vec<_>) = pairs.partition(|(was, is)| was != is);
        assert_eq!((its_own.len(), other.len()), (1, 1), "{sql}: {spoilt:#?}");
        let ((its_own, _), (other, _)) = (its_own.remove(0), other.remove(0));
        let run = its_own.runs[0].clone();
        // The other is not given it, though it is asked to take it.
        let noted = Mend::NotedRun(run.id);
        for (document, mend) in [(other.document, Mend::Run(run)), (its_own.document, noted)] {
            let mended = catalog.mend(tenant, document, vec![mend], world.clock.now());
            mended.await.unwrap();
        }
        assert_eq!(world.dossiers().await, whole, "{sql}");
    }
}

pub async fn a_row_that_says_it_is_another_tenants_is_missed_by_its_own_alone(world: &World) {
    let (catalog, tenant, now) = (&world.catalog, world.place.tenant, world.clock.now());
    let other = catalog.create_tenant("zinc", now).await.unwrap().id;
    let claim = world.job("brings it").await;
    world.bring(&claim, &[("a.txt", "one")], true).await;
    world.work_off().await;
    let whole = (
        catalog.noted_kbs(tenant).await.unwrap(),
        world.shown(&claim).await,
    );
    for sql in [
        "UPDATE knowledge_bases SET tenant_id = (SELECT id FROM tenants WHERE name = 'zinc')",
        "UPDATE jobs SET tenant_id = (SELECT id FROM tenants WHERE name = 'zinc')",
    ] {
        world.vandalise(sql).await;
        for tenant in [other, tenant, other] {
            catalog.mend_kbs(tenant).await.unwrap();
            catalog.recount_met(tenant).await.unwrap();
        }
        let now = (
            catalog.noted_kbs(tenant).await.unwrap(),
            world.shown(&claim).await,
        );
        assert_eq!(now, whole, "{sql}");
        assert_eq!(catalog.noted_kbs(other).await.unwrap(), [], "{sql}");
        for tenant in [other, tenant] {
            let jobs = catalog.miscounted_jobs(tenant).await.unwrap();
            assert_eq!(jobs, [], "{sql}");
        }
    }
}

pub async fn a_document_is_no_other_tenants_whatever_one_of_its_rows_says(world: &World) {
    let (catalog, now) = (&world.catalog, world.clock.now());
    let other = catalog.create_tenant("zinc", now).await.unwrap().id;
    world.admit("answers.txt", "one").await;
    world.work_off().await;
    world.admit("fails.txt", "two").await;
    let error = RunError {
        code: "oops".into(),
        message: "it did not work".into(),
        hint: None,
    };
    let claim = world.one().await;
    let failed = catalog.set_aside(&claim, error, world.clock.now());
    failed.await.unwrap();
    world.admit("waits.txt", "three").await;
    let whole = world.dossiers().await;
    assert_eq!(whole.len(), 3);
    for [away, back] in [
        [
            "UPDATE documents SET tenant_id = (SELECT id FROM tenants WHERE name = 'zinc')",
            "UPDATE documents SET tenant_id = (SELECT id FROM tenants WHERE name <> 'zinc')",
        ],
        [
            "UPDATE document_versions SET tenant_id = (SELECT id FROM tenants WHERE name = 'zinc')",
            "UPDATE document_versions SET tenant_id = (SELECT id FROM tenants WHERE name <> 'zinc')",
        ],
        [
            "UPDATE ingestion_runs SET tenant_id = (SELECT id FROM tenants WHERE name = 'zinc')",
            "UPDATE ingestion_runs SET tenant_id = (SELECT id FROM tenants WHERE name <> 'zinc')",
        ],
        [
            "UPDATE activations SET tenant_id = (SELECT id FROM tenants WHERE name = 'zinc')",
            "UPDATE activations SET tenant_id = (SELECT id FROM tenants WHERE name <> 'zinc')",
        ],
        [
            "UPDATE ledger SET tenant_id = (SELECT id FROM tenants WHERE name = 'zinc')",
            "UPDATE ledger SET tenant_id = (SELECT id FROM tenants WHERE name <> 'zinc')",
        ],
        [
            "UPDATE work SET tenant_id = (SELECT id FROM tenants WHERE name = 'zinc')",
            "UPDATE work SET tenant_id = (SELECT id FROM tenants WHERE name <> 'zinc')",
        ],
    ] {
        world.vandalise(away).await;
        let others = every(|page| catalog.dossiers(other, page)).await.unwrap();
        assert_eq!(others, [], "{away}");
        let spoilt = world.dossiers().await;
        assert_ne!(spoilt, whole, "{away}");
        assert_eq!(spoilt.len(), 3, "{away}");
        world.vandalise(back).await;
        assert_eq!(world.dossiers().await, whole, "{away}");
    }
}
