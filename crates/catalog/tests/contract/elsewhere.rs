//! Rows that say they are of another document or tenant are missed by their own, and the other makes
//! nothing of them.

use catalog::Mend;

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
