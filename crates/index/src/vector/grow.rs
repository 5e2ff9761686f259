//! How postings come to be, grow, split and are cleaned.
//!
//! A space is scanned until it is large; then all its vectors are clustered, and
//! again whenever half as many have come since, be it that the space has grown or
//! that others have gone (`recluster`). In between a vector goes to
//! the posting with the closest centroid, and a posting that grows too long is
//! parted in two. Compaction takes out what is deleted, sets aside what is not
//! live and dissolves what became too short.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use slatedb::{DbSnapshot, WriteBatch};

use crate::Error;
use crate::flush::Store;
use crate::slate::key;
use crate::slate::record;
use crate::text::shelf::blocking;
use crate::vector::cache::{Entry, Kind};
use crate::vector::cluster::{self, Closest, Rows};
use crate::vector::code::Codes;
use crate::vector::posting::{self, Posting, Table};
use crate::vector::rotate::Rotation;
use crate::vector::{SpaceView, search};

/// Entries beyond which a posting is parted.
pub(super) const LONGEST: usize = 192;
/// Entries per posting when a space is clustered. Where there are fewer postings than there are
/// heaps of vectors, the heaps without one lie scattered over others and are missed.
pub(super) const FIRST: usize = 64;

/// A vector on its way into a posting.
#[derive(Debug, Clone)]
pub struct Member {
    pub id: u32,
    pub number: u32,
    pub vector: Vec<f32>,
}

pub struct Grow<'a> {
    pub(super) db: &'a DbSnapshot,
    pub(super) store: &'a Store,
    pub(super) view: &'a mut SpaceView,
    pub(super) batch: &'a mut WriteBatch,
    /// Postings written in this flush, which the store does not have yet.
    fresh: HashMap<u32, Arc<Codes>>,
    /// What this flush adds to postings.
    appended: HashMap<u32, Codes>,
}

impl<'a> Grow<'a> {
    pub fn new(
        db: &'a DbSnapshot,
        store: &'a Store,
        view: &'a mut SpaceView,
        batch: &'a mut WriteBatch,
    ) -> Self {
        Self {
            db,
            store,
            view,
            batch,
            fresh: HashMap::new(),
            appended: HashMap::new(),
        }
    }

    /// Puts new vectors where searches look for them.
    pub async fn take_in(&mut self, added: Vec<Member>) -> Result<(), Error> {
        let valid = u64::from(self.view.record.next_id) - self.view.deleted.len();
        let record = &self.view.record;
        let since = record.next_id.saturating_sub(record.clustered_next);
        match &self.view.table {
            None if valid <= u64::from(self.store.settings.exact_up_to) => Ok(()),
            Some(table) if valid == 0 || since < record.clustered / 2 => {
                let rotation = Arc::clone(&table.rotation);
                let turned = blocking(move || Ok(turn(&rotation, added)));
                self.settle(turned.await?, false).await
            }
            _ => self.cluster_all(added, valid).await,
        }
    }

    pub(super) fn removed(&mut self, table: &Table) {
        table
            .postings
            .iter()
            .for_each(|posting| self.remove(*posting));
    }

    /// Finds postings of one side for members, or makes the first.
    pub(super) async fn settle(&mut self, strays: Vec<Member>, cold: bool) -> Result<(), Error> {
        let table = self
            .view
            .table
            .take()
            .expect("a compaction has put it there");
        let has_side = table.postings.iter().any(|posting| posting.cold == cold);
        if has_side || strays.is_empty() {
            return self.assign(table, strays, cold).await;
        }
        let mut table = Arc::unwrap_or_clone(table);
        for (centroid, members) in cluster_members(self.view.dimensions(), strays) {
            self.put_parted(&mut table, centroid, members, cold).await?;
        }
        self.view.table = Some(Arc::new(table));
        Ok(())
    }

    /// Appends vectors to the closest postings of one side, parting what grows too long.
    async fn assign(
        &mut self,
        table: Arc<Table>,
        members: Vec<Member>,
        cold: bool,
    ) -> Result<(), Error> {
        let mut next = Table::clone(&table);
        let mut gone = Vec::new();
        if !members.is_empty() {
            let nearest = move || Ok(by_posting(&table, members, cold));
            for (at, members) in blocking(nearest).await? {
                let posting = next.postings[at];
                if posting.count as usize + members.len() <= LONGEST {
                    self.append(&mut next, at, &members);
                } else {
                    gone.push(at);
                    let mut all = self.members(&next, posting).await?;
                    all.extend(members);
                    let centroid = next.centroids.row(at).to_vec();
                    self.put_parted(&mut next, centroid, all, cold).await?;
                    self.remove(posting);
                }
            }
        }
        next.remove(&gone);
        self.view.table = Some(Arc::new(next));
        Ok(())
    }

    fn append(&mut self, table: &mut Table, at: usize, members: &[Member]) {
        let mut codes = Codes::default();
        for member in members {
            let centroid = table.centroids.row(at);
            codes.push(member.id, member.number, &member.vector, centroid);
        }
        let posting = &mut table.postings[at];
        posting.count += codes.len() as u32;
        let number = posting.number;
        let space = &self.view.space;
        let count = record::write_u32(posting.count);
        self.batch
            .put(key::numbered(key::COUNT, space, number), count);
        let key = key::numbered(key::POSTING, space, number);
        self.batch.merge(key, codes.write());
        self.appended.entry(number).or_default().append(&codes);
    }

    /// A posting's entries, also if they are as new as this flush.
    pub(super) async fn codes(&self, posting: Posting) -> Result<Arc<Codes>, Error> {
        let more = self.appended.get(&posting.number);
        let mut stored = posting;
        stored.count -= more.map_or(0, Codes::len) as u32;
        let codes = match self.fresh.get(&posting.number) {
            Some(codes) => Arc::clone(codes),
            None => posting::codes(self.db, self.view, &self.store.cache, stored).await?,
        };
        let Some(more) = more else { return Ok(codes) };
        let first: Vec<u32> = (0..stored.count).collect();
        let mut all = codes.pick(&first);
        all.append(more);
        Ok(Arc::new(all))
    }

    /// The valid members of a posting, with their rotated vectors.
    async fn members(&self, table: &Table, posting: Posting) -> Result<Vec<Member>, Error> {
        let codes = self.codes(posting).await?;
        let valid = codes.valid(posting.count, &self.view.deleted_bits);
        self.members_of(table, &codes, &valid).await
    }

    /// Those whose vectors can be read: to the others no search comes either.
    pub(super) async fn members_of(
        &self,
        table: &Table,
        codes: &Codes,
        picked: &[u32],
    ) -> Result<Vec<Member>, Error> {
        let mut members = Vec::with_capacity(picked.len());
        for at in picked {
            let (id, number) = (codes.ids[*at as usize], codes.numbers[*at as usize]);
            let vector = search::vector(self.db, self.view, &self.store.cache, id).await?;
            members.extend(vector.map(|record| Member {
                id,
                number,
                vector: table.rotation.apply(&record.vector),
            }));
        }
        Ok(members)
    }

    /// Writes members as one posting, or as several if they are too many for one.
    pub(super) async fn put_parted(
        &mut self,
        table: &mut Table,
        centroid: Vec<f32>,
        members: Vec<Member>,
        cold: bool,
    ) -> Result<(), Error> {
        let parted = blocking(move || Ok(part(centroid, members)));
        for (centroid, members) in parted.await? {
            let mut codes = Codes::default();
            for member in &members {
                codes.push(member.id, member.number, &member.vector, &centroid);
            }
            self.put(table, &centroid, codes, cold);
        }
        Ok(())
    }

    pub(super) fn put(&mut self, table: &mut Table, centroid: &[f32], codes: Codes, cold: bool) {
        let number = self.view.record.next_posting;
        self.view.record.next_posting += 1;
        let key = |kind| key::numbered(kind, &self.view.space, number);
        let count = codes.len() as u32;
        self.batch.put(key(key::POSTING), codes.write());
        self.batch.put(key(key::COUNT), record::write_u32(count));
        self.batch
            .put(key(key::CENTROID), record::write_centroid(cold, centroid));
        table.push(number, count, cold, centroid);
        let codes = Arc::new(codes);
        // Its number is as new as it is, so nobody asks for it before it is there.
        let cached = Entry::Posting(Arc::clone(&codes));
        self.store
            .cache
            .put((self.view.tag, Kind::Posting, number), cached);
        self.fresh.insert(number, codes);
    }

    pub(super) fn remove(&mut self, posting: Posting) {
        for kind in [key::POSTING, key::COUNT, key::CENTROID] {
            let key = key::numbered(kind, &self.view.space, posting.number);
            self.batch.delete(key);
        }
    }
}

pub(super) fn turn(rotation: &Rotation, mut members: Vec<Member>) -> Vec<Member> {
    for member in &mut members {
        member.vector = rotation.apply(&member.vector);
    }
    members
}

/// Centroids for some members, and who is closest to each.
fn cluster_members(dimensions: usize, members: Vec<Member>) -> Vec<(Vec<f32>, Vec<Member>)> {
    let mut vectors = Rows::new(dimensions);
    members
        .iter()
        .for_each(|member| vectors.push(&member.vector));
    let centroids = cluster::many(&vectors, members.len() / FIRST);
    let mut groups = vec![Vec::new(); centroids.len()];
    let mut closest = Closest::of(&centroids);
    for member in members {
        groups[closest.to(&member.vector)].push(member);
    }
    let groups = groups.into_iter().enumerate();
    let clusters = groups.map(|(at, members)| (centroids.row(at).to_vec(), members));
    clusters
        .filter(|(_, members)| !members.is_empty())
        .collect()
}

/// Members by the closest posting of one side.
fn by_posting(table: &Table, members: Vec<Member>, cold: bool) -> BTreeMap<usize, Vec<Member>> {
    let mut groups: BTreeMap<usize, Vec<Member>> = BTreeMap::new();
    let mut scratch = Vec::new();
    for member in members {
        let at = table.nearest(&member.vector, cold, &mut scratch);
        groups.entry(at).or_default().push(member);
    }
    groups
}

/// Their vectors are held a second time for no longer than it takes.
fn in_two(dimensions: usize, members: &[Member]) -> (Rows, Vec<bool>) {
    let mut vectors = Rows::new(dimensions);
    members
        .iter()
        .for_each(|member| vectors.push(&member.vector));
    cluster::in_two(&vectors)
}

/// Parts members until no part is too long.
fn part(centroid: Vec<f32>, members: Vec<Member>) -> Vec<(Vec<f32>, Vec<Member>)> {
    if members.len() <= LONGEST {
        return vec![(centroid, members)];
    }
    let (centroids, second) = in_two(centroid.len(), &members);
    let mut halves = [Vec::new(), Vec::new()];
    for (member, second) in members.into_iter().zip(second) {
        halves[usize::from(second)].push(member);
    }
    let [one, two] = halves;
    let mut parts = part(centroids.row(0).to_vec(), one);
    parts.extend(part(centroids.row(1).to_vec(), two));
    parts
}
