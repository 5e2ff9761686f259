//! What outlives a document that was purged.

use std::time::Duration;

use catalog::{
    Begun, Error, JobClaim, Kb, NewJob, NewUpload, Page, Problem, Removing, RunFilter, UploadEnd,
};
use model::{ContentHash, DocumentId, JobId, RunStatus, SourceUri};
use serde_json::{Value, json};

use crate::World;
use crate::generations::{begin, fill};

impl World {
    /// A job that meets these files, and cannot read another.
    async fn listed(
        &self,
        job: NewJob,
        files: &[(&str, &str)],
        unread: Option<&SourceUri>,
    ) -> JobId {
        let (catalog, tenant, now) = (&self.catalog, self.place.tenant, self.clock.now());
        let job = catalog.create_job(tenant, job, now).await.unwrap();
        catalog.start_job(tenant, job.id, now).await.unwrap();
        let claim = self.listing().await;
        let mut batch = self.batch(&claim, files, true);
        batch.problems.extend(unread.map(|uri| Problem {
            source_uri: Some(uri.clone()),
            message: "it cannot be read".into(),
        }));
        catalog.admit_batch(&claim, batch, now).await.unwrap();
        job.id
    }

    async fn forget(&self, removing: &[Removing]) {
        let ids: Vec<_> = removing.iter().map(|version| version.version).collect();
        let forgotten = self.catalog.forget_versions(self.place.tenant, &ids);
        forgotten.await.unwrap();
    }

    async fn purge(&self, document: DocumentId) {
        let (catalog, tenant) = (&self.catalog, self.place.tenant);
        let now = self.clock.pass(Duration::from_secs(1));
        let removing = catalog.begin_purge(tenant, document, None, now).await;
        self.forget(&removing.unwrap()).await;
        catalog.scrub().await.unwrap();
    }

    /// A job over these roots, started and taken.
    async fn over(&self, roots: Value) -> JobClaim {
        let (catalog, tenant, now) = (&self.catalog, self.place.tenant, self.clock.now());
        let job = NewJob {
            kb: self.place.kb,
            source: None,
            config: json!({ "roots": roots }),
            initiated_by: None,
        };
        let job = catalog.create_job(tenant, job, now).await.unwrap();
        catalog.start_job(tenant, job.id, now).await.unwrap();
        self.listing().await
    }

    /// The document whose version has answered longest.
    async fn oldest(&self) -> DocumentId {
        let version = self.answering().await[0];
        let version = self.catalog.version(self.place.tenant, version).await;
        version.unwrap().document
    }

    /// What all runs say they were of.
    async fn names(&self) -> Vec<String> {
        let all = RunFilter::default();
        let runs = self.catalog.runs(self.place.tenant, all, Page::first(9));
        let runs = runs.await.unwrap().items;
        let mut names: Vec<_> = runs.iter().map(|run| run.source_uri.clone()).collect();
        names.sort();
        names
    }

    async fn shows_mark(&self, text: &str) -> JobClaim {
        let job = self.job(text).await;
        self.bring(&job, &[("mark.txt", text)], true).await;
        self.work_off().await;
        job
    }

    /// Gives up what is being built, and forgets it as the janitor does.
    async fn gives_up(&self, kb: &Kb) {
        let (catalog, now) = (&self.catalog, self.clock.now());
        let generation = kb.building_id().unwrap();
        let given_up = catalog.abandon_generation(kb.tenant, kb.id, generation, now);
        given_up.await.unwrap();
        for retired in catalog.retired_generations().await.unwrap() {
            let copies = catalog.never_served(&retired, 9).await.unwrap();
            self.forget(&copies).await;
        }
    }
}

pub async fn what_outlives_a_purged_document_does_not_name_it(world: &World) {
    let (catalog, tenant, kb) = (&world.catalog, world.place.tenant, world.place.kb);
    let now = world.clock.now();
    let new = |roots: Value| NewJob {
        kb,
        source: None,
        config: json!({ "roots": roots, "metadata": { "secret": "mark" } }),
        initiated_by: None,
    };
    let uri = world.place.file("mark.txt", "", now).source_uri;
    let path = uri.as_str().strip_prefix("file://").unwrap().to_owned();
    // One job brought it alone, another met it besides a second document, a third cannot read it.
    let mark = ("mark.txt", "one");
    let alone = world.listed(new(json!([path])), &[mark], None).await;
    let both = new(json!([path, "/b.txt"]));
    let both = world.listed(both, &[("b.txt", "b"), mark], None).await;
    let third = world.listed(new(json!(["/"])), &[], Some(&uri)).await;
    let admission = world.place.file("mark.txt", "one", now);
    let marked = world.take(admission).await;
    let upload = NewUpload {
        kb,
        object_key: "uploads/mark.txt".into(),
        filename: "mark.txt".into(),
        size: 3,
        media_type: None,
        initiated_by: None,
        expires_at: now + Duration::from_secs(9),
    };
    let upload = catalog.create_upload(tenant, upload, now).await.unwrap();
    let (document, run) = (marked.document, marked.run);
    let end = UploadEnd::Admitted { document, run };
    catalog
        .finish_upload(tenant, upload.id, end, now)
        .await
        .unwrap();
    let (request, keep) = (ContentHash::of(b"request"), Duration::from_secs(9));
    let begin = || catalog.begin_request(tenant, "key", request, keep, now);
    begin().await.unwrap();
    let answer = json!({ "body": format!("mark.txt is {document}") });
    catalog.finish_request(tenant, "key", answer).await.unwrap();
    world.work_off().await;
    let of = || Some((kb, uri.clone()));
    let told = catalog.told_of(tenant, document, of()).await.unwrap();
    assert_eq!(
        (told.rows, told.jobs),
        (4, 0),
        "run, upload, answer, problem"
    );

    let removing = catalog
        .begin_purge(tenant, document, None, now)
        .await
        .unwrap();
    let ids: Vec<_> = removing.iter().map(|version| version.version).collect();
    catalog.forget_versions(tenant, &ids).await.unwrap();
    catalog.scrub().await.unwrap();
    world.is_as_noted("purged").await;

    let told = catalog.told_of(tenant, document, of()).await.unwrap();
    assert_eq!(
        (told.rows, told.jobs),
        (0, 1),
        "another document is of one job"
    );
    let run = catalog.run(tenant, run.unwrap()).await.unwrap();
    assert_eq!(run.source_uri, "purged://");
    assert_eq!(run.status, RunStatus::Succeeded, "that it was is told");
    let upload = catalog.upload(tenant, upload.id).await.unwrap();
    assert_eq!(upload.filename, "purged");
    assert!(!upload.object_key.contains("mark"));
    let purged = Begun::Finished(json!({ "purged": true }));
    assert_eq!(begin().await.unwrap(), purged, "it is not done again");
    let problems = catalog
        .job_problems(tenant, third, Page::first(9))
        .await
        .unwrap();
    assert_eq!(
        problems.items[0].source_uri.as_ref().unwrap().as_str(),
        "purged://"
    );
    let job = |id| catalog.job(tenant, id);
    let kept = job(both).await.unwrap();
    assert_eq!(kept.config["roots"], json!(["/b.txt"]));
    assert_eq!(kept.cursor, None);
    let forgotten = job(alone).await.unwrap();
    assert_eq!(
        (forgotten.config, forgotten.cursor),
        (json!({ "purged": true }), None)
    );
    assert!(matches!(
        catalog.start_job(tenant, alone, now).await,
        Err(Error::Conflict { .. })
    ));
}

pub async fn what_was_gone_before_a_purge_does_not_name_it_either(world: &World) {
    let (catalog, tenant, kb) = (&world.catalog, world.place.tenant, world.place.kb);
    let uri = world.place.file("mark.txt", "", world.clock.now());
    let uri = uri.source_uri;
    let canceled = world.over(json!(["/mark.txt"])).await;
    world.bring(&canceled, &[("mark.txt", "one")], true).await;
    world.work_off().await;
    world.shows_mark("two").await;
    assert_eq!(world.cancel(&canceled).await, 1);
    let building = begin(world).await;
    assert_eq!(fill(world, &building).await, 1);
    world.work_off().await;
    world.gives_up(&building).await;
    // It has grown too large since, and nothing came after it.
    let refusing = world.job("refusing").await;
    let mut batch = world.batch(&refusing, &[], true);
    batch.cursor = json!({ "after": uri });
    batch.problems.push(Problem {
        source_uri: Some(uri.clone()),
        message: "it is too large".into(),
    });
    let refused = catalog.admit_batch(&refusing, batch, world.clock.now());
    refused.await.unwrap();

    let version = world.answering().await[0];
    let document = catalog.version(tenant, version).await.unwrap().document;
    world.purge(document).await;
    let told = catalog.told_of(tenant, document, Some((kb, uri))).await;
    let told = told.unwrap();
    assert_eq!((told.rows, told.jobs), (0, 0));
    let runs = catalog.runs(tenant, RunFilter::default(), Page::first(9));
    let runs = runs.await.unwrap().items;
    let called: Vec<_> = runs.iter().map(|run| run.source_uri.as_str()).collect();
    assert_eq!(called, ["purged://"; 3]);
    let dossier = catalog.dossier(tenant, document).await.unwrap();
    assert!(dossier.noted_runs.iter().all(|run| run.noted.is_none()));
    assert_eq!(world.shown(&refusing).await.cursor, None);
    let config = world.shown(&canceled).await.config;
    assert_eq!(config, json!({ "purged": true }));
}

pub async fn what_a_cancel_emptied_is_purged_with_what_came_again_under_its_address(world: &World) {
    let (catalog, tenant, kb) = (&world.catalog, world.place.tenant, world.place.kb);
    let canceled = world.shows_mark("one").await;
    let (version, before) = (world.answering().await[0], world.oldest().await);
    assert_eq!(world.cancel(&canceled).await, 1);
    world.shows_mark("two").await;
    let document = world.oldest().await;
    assert_ne!(document, before);
    let now = world.clock.pass(Duration::from_secs(1));
    let uri = world.place.file("mark.txt", "", now).source_uri;

    let removing = catalog.begin_purge(tenant, document, None, now).await;
    let removing = removing.unwrap();
    let former = catalog.former(tenant, document).await.unwrap();
    let former: Vec<_> = former.iter().map(|one| one.version).collect();
    assert_eq!(former, [version], "files of the index may hold it");
    world.is_as_noted("while it is purged").await;
    world.forget(&removing).await;
    catalog.scrub().await.unwrap();

    let told = catalog.told_of(tenant, document, Some((kb, uri))).await;
    let told = told.unwrap();
    assert_eq!((told.rows, told.jobs), (0, 0));
    assert_eq!(world.names().await, ["purged://"; 2]);
    for document in [before, document] {
        let dossier = catalog.dossier(tenant, document).await.unwrap();
        assert!(dossier.noted_runs.iter().all(|run| run.noted.is_none()));
    }
    world.is_as_noted("purged").await;
}

pub async fn what_was_canceled_before_goes_though_the_file_comes_anew_during_a_purge(
    world: &World,
) {
    let (catalog, tenant, kb) = (&world.catalog, world.place.tenant, world.place.kb);
    world.shows_mark("one").await;
    let canceled = world.shows_mark("two").await;
    assert_eq!(world.cancel(&canceled).await, 1);
    let document = world.oldest().await;
    let now = world.clock.pass(Duration::from_secs(1));
    let uri = world.place.file("mark.txt", "", now).source_uri;
    let removing = catalog.begin_purge(tenant, document, None, now).await;
    let anew = world.shows_mark("three").await;
    assert_eq!(world.oldest().await, document);
    world.forget(&removing.unwrap()).await;

    let told = catalog.told_of(tenant, document, Some((kb, uri))).await;
    assert_eq!(told.unwrap().rows, 0);
    let named = ["file:///mark.txt", "purged://", "purged://"];
    assert_eq!(world.names().await, named);
    world.is_as_noted("come anew").await;

    // A cancel of what came since is one like any other.
    let now = world.clock.now();
    catalog.begin_cancel(tenant, anew.job, now).await.unwrap();
    let removing = catalog.cancel_some(tenant, anew.job, 9, now).await.unwrap();
    assert_eq!(removing.len(), 1);
    assert_eq!(catalog.purging(9).await.unwrap(), []);
    assert_eq!(world.cancel(&anew).await, 1);
    assert_eq!(world.names().await, named);
}

pub async fn a_canceled_job_over_a_folder_may_start_again_after_the_purge_of_one_file(
    world: &World,
) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.shows_mark("one").await;
    let document = world.oldest().await;
    let other = world.job("other").await;
    world.bring(&other, &[("b.txt", "one")], true).await;
    world.work_off().await;
    let folder = world.over(json!(["/", "/mark.txt"])).await;
    let files = [("b.txt", "two"), ("mark.txt", "two")];
    world.bring(&folder, &files, true).await;
    world.work_off().await;
    assert_eq!(world.cancel(&folder).await, 2);

    world.purge(document).await;
    let config = world.shown(&folder).await.config;
    assert_eq!(config, json!({ "roots": ["/"] }));
    let now = world.clock.now();
    catalog.start_job(tenant, folder.job, now).await.unwrap();
}

pub async fn what_came_since_a_purge_began_is_no_residue_of_it(world: &World) {
    let (catalog, tenant, kb) = (&world.catalog, world.place.tenant, world.place.kb);
    for (name, meanwhile) in [("a.txt", true), ("b.txt", false)] {
        let first = world.job(name).await;
        world.bring(&first, &[(name, "one")], true).await;
        world.work_off().await;
        let version = *world.answering().await.last().unwrap();
        let document = catalog.version(tenant, version).await.unwrap().document;
        let now = world.clock.pass(Duration::from_secs(1));
        let uri = world.place.file(name, "", now).source_uri;
        let removing = catalog.begin_purge(tenant, document, None, now);
        let gone: Vec<_> = removing.await.unwrap().iter().map(|v| v.version).collect();
        let shows_it_again = async || {
            catalog.start_job(tenant, first.job, now).await.unwrap();
            let claim = world.listing().await;
            world.bring(&claim, &[(name, "two")], true).await;
            world.work_off().await;
        };
        if meanwhile {
            shows_it_again().await;
        }
        catalog.forget_versions(tenant, &gone).await.unwrap();
        if !meanwhile {
            shows_it_again().await;
        }
        let told = catalog.told_of(tenant, document, Some((kb, uri))).await;
        assert_eq!(told.unwrap().rows, 0, "{name}");
        assert_eq!(catalog.rows_left(&gone).await.unwrap(), 0, "{name}");
    }
    assert_eq!(world.answering().await.len(), 2, "both came again");
}
