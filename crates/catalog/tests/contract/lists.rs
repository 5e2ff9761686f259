//! Lists, read a page at a time while others write.

use std::fmt::Debug;

use catalog::{
    Error, GenerationSpec, Listed, NewApiKey, NewSource, NewUser, NewWebhook, Page, Role, every,
};
use model::{ChunkPolicy, ContentHash, Strategy};

use crate::World;

impl World {
    async fn source_named(&self, name: &str) {
        let source = NewSource {
            kb: self.place.kb,
            kind: "folder".into(),
            name: name.into(),
            config: serde_json::json!({}),
        };
        let made = self
            .catalog
            .create_source(self.place.tenant, source, self.clock.now());
        made.await.unwrap();
    }

    async fn webhook_at(&self, url: &str) -> catalog::Webhook {
        let webhook = NewWebhook {
            url: url.into(),
            kinds: Vec::new(),
            secret: "whsec_x".into(),
            created_by: None,
        };
        let made = self
            .catalog
            .create_webhook(self.place.tenant, webhook, self.clock.now());
        made.await.unwrap()
    }

    /// One of everything that is listed, named after a number.
    async fn furnish(&self, n: u32) {
        let (catalog, tenant, now) = (&self.catalog, self.place.tenant, self.clock.now());
        let name = format!("n{n}");
        catalog.create_tenant(&name, now).await.unwrap();
        let user = NewUser {
            login: name.clone(),
            role: Role::User,
            password_hash: "x".into(),
        };
        catalog.create_user(tenant, user, now).await.unwrap();
        let key = NewApiKey {
            name: name.clone(),
            hash: ContentHash::of(name.as_bytes()),
            role: Role::User,
            scopes: Vec::new(),
            created_by: None,
            expires_at: None,
        };
        catalog.create_api_key(tenant, key, now).await.unwrap();
        let kb = catalog.create_kb(tenant, &name, testkit::generation(), now);
        kb.await.unwrap();
        self.source_named(&name).await;
        self.webhook_at(&format!("https://example.org/{n}")).await;
        self.admit("a.txt", &name).await;
        self.work_off().await;
    }
}

/// Read two at a time it is what it is at once, and no page but its own is answered.
async fn comes_in_pages<T, F>(what: &str, read: impl Fn(Page) -> F)
where
    T: PartialEq + Debug,
    F: Future<Output = Result<Listed<T>, Error>>,
{
    let whole = every(&read).await.unwrap();
    assert!(whole.len() >= 5, "{what}: {}", whole.len());
    let (mut seen, mut page) = (Vec::new(), Page::first(2));
    loop {
        let listed = read(page).await.unwrap();
        assert!((1..=2).contains(&listed.items.len()), "{what}");
        seen.extend(listed.items);
        match listed.next {
            Some(cursor) => page = Page::following(cursor, 2),
            None => break,
        }
    }
    assert_eq!(seen, whole, "{what}");
    for foreign in ["nonsense", "", "-1", "1.x", "00~"] {
        let refused = read(Page::following(foreign, 2)).await;
        let refused = matches!(refused, Err(Error::NotFound { .. }));
        assert!(refused, "{what}: `{foreign}` is no cursor of ours");
    }
}

pub async fn every_list_comes_in_pages(world: &World) {
    for n in 0..5 {
        world.furnish(n).await;
    }
    // One with two rows to its name.
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let kb = catalog.kb_by_name(tenant, "n1").await.unwrap();
    let spec = GenerationSpec {
        policy: ChunkPolicy::for_limit(254).with_strategy(Strategy::Sentence),
        ..testkit::generation()
    };
    let begun = catalog.begin_generation(tenant, kb.id, spec, world.clock.now());
    begun.await.unwrap();
    let document = catalog.documents(tenant, Default::default(), Page::first(1));
    let document = document.await.unwrap().items[0].id;

    comes_in_pages("tenants", |page| catalog.tenants(page)).await;
    comes_in_pages("users", |page| catalog.users(tenant, page)).await;
    comes_in_pages("keys", |page| catalog.api_keys(tenant, page)).await;
    comes_in_pages("knowledge bases", |page| catalog.kbs(tenant, page)).await;
    comes_in_pages("sources", |page| catalog.sources(tenant, page)).await;
    comes_in_pages("webhooks", |page| catalog.webhooks(tenant, page)).await;
    comes_in_pages("versions", |page| catalog.versions(tenant, document, page)).await;
    comes_in_pages("activations", |page| {
        catalog.activations(tenant, document, page)
    })
    .await;
    comes_in_pages("ledger", |page| catalog.ledger(tenant, document, page)).await;

    let other = catalog.create_tenant("other", world.clock.now());
    let other = other.await.unwrap().id;
    assert_eq!(catalog.kbs(other, Page::first(9)).await.unwrap().items, []);
    let users = catalog.users(other, Page::first(9)).await.unwrap().items;
    assert_eq!(users, []);
    let versions = catalog.versions(other, document, Page::first(9)).await;
    assert_eq!(versions.unwrap().items, []);
}

pub async fn a_cursor_stays_where_it_was_whatever_comes_and_goes(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let mut hooks = Vec::new();
    for n in 0..5 {
        hooks.push(world.webhook_at(&format!("https://example.org/{n}")).await);
    }
    let first = catalog.webhooks(tenant, Page::first(2)).await.unwrap();
    let ids = |listed: &Listed<catalog::Webhook>| -> Vec<_> {
        listed.items.iter().map(|hook| hook.id).collect()
    };
    assert_eq!(ids(&first), [hooks[4].id, hooks[3].id], "newest first");
    // The row the cursor names goes, and another comes before it.
    catalog.delete_webhook(tenant, hooks[3].id).await.unwrap();
    world.webhook_at("https://example.org/new").await;
    let next = Page::following(first.next.unwrap(), 2);
    let second = catalog.webhooks(tenant, next).await.unwrap();
    assert_eq!(ids(&second), [hooks[2].id, hooks[1].id]);

    for name in ["birch", "elm", "oak", "yew"] {
        world.source_named(name).await;
    }
    let first = catalog.sources(tenant, Page::first(2)).await.unwrap();
    for name in ["ash", "Ulm, Donau", "fir"] {
        world.source_named(name).await;
    }
    let next = Page::following(first.next.unwrap(), 9);
    let second = catalog.sources(tenant, next).await.unwrap().items;
    let names: Vec<_> = second.iter().map(|source| source.name.as_str()).collect();
    for once in ["fir", "oak", "yew"] {
        assert!(names.contains(&once), "{once} is not among {names:?}");
    }
    for seen in ["birch", "elm", "ash"] {
        assert!(!names.contains(&seen), "{seen} is shown again");
    }
}
