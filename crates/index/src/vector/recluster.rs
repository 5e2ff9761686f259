//! Clusters a whole space anew.
//!
//! Centroids are found on a sample that fits in memory; then every vector goes by
//! once and leaves its code. What was set aside as cold stays aside. Done when a
//! space outgrows the scan and whenever half as many vectors have come since, each is
//! coded about three times more than it would be without, and searches find postings
//! that fit what is there rather than what was there first.

use std::collections::HashMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::Error;
use crate::slate::key;
use crate::slate::store::Rows as Records;
use crate::text::shelf::blocking;
use crate::vector::cluster::{self, Closest, Rows};
use crate::vector::code::Codes;
use crate::vector::grow::{FIRST, Grow, LONGEST, Member, turn};
use crate::vector::posting::Table;
use crate::vector::rotate::Rotation;

/// Vectors in memory at a time.
const AT_ONCE: usize = 8192;
/// Bytes of vectors that centroids are found on, at most: 128 Ki of 384 dimensions.
const SAMPLED: usize = 192 << 20;

/// One side of a space in the making: the hot or the cold.
struct Side {
    cold: bool,
    centroids: Rows,
    codes: Vec<Codes>,
}

impl Grow<'_> {
    pub(super) async fn cluster_all(
        &mut self,
        added: Vec<Member>,
        valid: u64,
    ) -> Result<(), Error> {
        if let Some(old) = self.view.table.take() {
            self.removed(&old);
        }
        let mut table = Table::new(self.view.dimensions());
        let mut sides = self.train(&table, &added, valid).await?;
        let mut rows = Vectors::of(self).await?;
        loop {
            let members = rows.some(self).await?;
            if members.is_empty() {
                break;
            }
            sides = self.code(&table, sides, members).await?;
        }
        sides = self.code(&table, sides, added.clone()).await?;
        let added: HashMap<u32, Member> = added.into_iter().map(|one| (one.id, one)).collect();
        for side in sides {
            let filled = side.codes.into_iter().enumerate();
            for (at, codes) in filled.filter(|(_, codes)| codes.len() > 0) {
                let centroid = side.centroids.row(at);
                if codes.len() <= LONGEST {
                    self.put(&mut table, centroid, codes, side.cold);
                } else {
                    let long = (centroid, &codes, side.cold);
                    self.put_long(&mut table, long, &added).await?;
                }
            }
        }
        self.view.table = Some(Arc::new(table));
        self.view.record.clustered = u32::try_from(valid).unwrap_or(u32::MAX);
        self.view.record.clustered_next = self.view.record.next_id;
        Ok(())
    }

    /// Centroids of both sides, found on every so many-th vector.
    async fn train(&self, table: &Table, added: &[Member], valid: u64) -> Result<[Side; 2], Error> {
        let held = SAMPLED / (4 * self.view.dimensions().max(1));
        let most = held.min(valid as usize / FIRST * cluster::SAMPLE).max(1);
        let step = (valid as usize).div_ceil(most);
        let mut sample = Sample::new(self, table);
        let mut rows = Vectors::of(self).await?;
        let mut seen = 0;
        loop {
            let members = rows.some(self).await?;
            if members.is_empty() {
                break;
            }
            let nth = |_: &Member| {
                seen += 1;
                seen % step == 0
            };
            let members = members.into_iter().filter(nth).collect();
            sample = sample.take(members).await?;
        }
        let added = added.iter().step_by(step).cloned().collect();
        let Sample { sides, .. } = sample.take(added).await?;
        let trained = blocking(move || {
            let [hot, cold] = sides;
            let hot = Side::train(&hot, false, step);
            Ok([hot, Side::train(&cold, true, step)])
        });
        trained.await
    }

    /// Vectors that are alike all go to one centroid, however many of them there are. They are
    /// parted like any that grew too many, some at a time: no memory would hold them all.
    async fn put_long(
        &mut self,
        table: &mut Table,
        (centroid, codes, cold): (&[f32], &Codes, bool),
        added: &HashMap<u32, Member>,
    ) -> Result<(), Error> {
        let entries: Vec<u32> = (0..codes.len() as u32).collect();
        for some in entries.chunks(AT_ONCE) {
            let is_new = |at: &u32| added.contains_key(&codes.ids[*at as usize]);
            let (new, stored): (Vec<u32>, Vec<u32>) = some.iter().copied().partition(is_new);
            let new = new.iter().map(|at| added[&codes.ids[*at as usize]].clone());
            let (rotation, new) = (Arc::clone(&table.rotation), new.collect());
            let turned = blocking(move || Ok(turn(&rotation, new)));
            let mut members = self.members_of(table, codes, &stored).await?;
            members.extend(turned.await?);
            self.put_parted(table, centroid.to_vec(), members, cold)
                .await?;
        }
        Ok(())
    }

    /// Leaves the codes of members with their sides.
    async fn code(
        &self,
        table: &Table,
        mut sides: [Side; 2],
        members: Vec<Member>,
    ) -> Result<[Side; 2], Error> {
        let rotation = Arc::clone(&table.rotation);
        let cold = Arc::clone(&self.view.cold);
        blocking(move || {
            let members = turn(&rotation, members);
            for side in &mut sides {
                let is_cold = side.cold;
                let mine = |member: &&Member| cold.contains(member.number) == is_cold;
                side.code(members.iter().filter(mine).collect());
            }
            Ok(sides)
        })
        .await
    }
}

/// Rotated vectors of the hot and of the cold side, each held once: there may be many.
struct Sample {
    rotation: Arc<Rotation>,
    cold: Arc<RoaringBitmap>,
    sides: [Rows; 2],
}

impl Sample {
    fn new(grow: &Grow<'_>, table: &Table) -> Self {
        let none = || Rows::new(grow.view.dimensions());
        Self {
            rotation: Arc::clone(&table.rotation),
            cold: Arc::clone(&grow.view.cold),
            sides: [none(), none()],
        }
    }

    async fn take(mut self, members: Vec<Member>) -> Result<Self, Error> {
        blocking(move || {
            for member in turn(&self.rotation, members) {
                let is_cold = self.cold.contains(member.number);
                self.sides[usize::from(is_cold)].push(&member.vector);
            }
            Ok(self)
        })
        .await
    }
}

impl Side {
    /// One of `step` vectors was sampled. A centroid that would have too many entries is parted.
    fn train(vectors: &Rows, cold: bool, step: usize) -> Self {
        let mut found = Rows::new(vectors.dimensions());
        if vectors.len() > 0 {
            let centroids = cluster::many(vectors, (vectors.len() * step).div_ceil(FIRST));
            let mut groups = vec![Vec::new(); centroids.len()];
            let mut closest = Closest::of(&centroids);
            for at in 0..vectors.len() {
                groups[closest.to(vectors.row(at))].push(at);
            }
            // Few members make a centroid that is nearly a vector: long, and so far from every
            // other that searches would come to it last. They do better with their neighbours.
            let least = (FIRST / 8 / step).min(vectors.len());
            let worth = |(_, group): &(usize, &Vec<usize>)| group.len() >= least.max(1);
            for (at, group) in groups.iter().enumerate().filter(worth) {
                part(
                    vectors,
                    group,
                    centroids.row(at),
                    LONGEST.div_ceil(step),
                    &mut found,
                );
            }
        }
        Self {
            cold,
            codes: vec![Codes::default(); found.len()],
            centroids: found,
        }
    }

    fn code(&mut self, members: Vec<&Member>) {
        // The sample may have missed a side that has but a few.
        if let (0, Some(member)) = (self.centroids.len(), members.first()) {
            self.centroids.push(&member.vector);
            self.codes.push(Codes::default());
        }
        let mut closest = Closest::of(&self.centroids);
        for member in members {
            let at = closest.to(&member.vector);
            let centroid = self.centroids.row(at);
            self.codes[at].push(member.id, member.number, &member.vector, centroid);
        }
    }
}

/// Parts a group of vectors until none is too long, and adds their centroids.
fn part(vectors: &Rows, group: &[usize], centroid: &[f32], longest: usize, into: &mut Rows) {
    if group.len() <= longest.max(1) {
        into.push(centroid);
        return;
    }
    let mut own = Rows::new(vectors.dimensions());
    group.iter().for_each(|at| own.push(vectors.row(*at)));
    let (centroids, second) = cluster::in_two(&own);
    for half in [false, true] {
        let mine = group.iter().zip(&second).filter(|(_, is)| **is == half);
        let mine: Vec<usize> = mine.map(|(at, _)| *at).collect();
        let centroid = centroids.row(usize::from(half));
        part(vectors, &mine, centroid, longest, into);
    }
}

/// Every valid vector the store has and that can be read, some at a time.
struct Vectors<'a>(Records<'a>);

impl<'a> Vectors<'a> {
    async fn of(grow: &Grow<'a>) -> Result<Self, Error> {
        let prefix = key::of_space(key::VECTOR, &grow.view.space);
        Ok(Self(Records::passing(grow.db, &prefix).await?))
    }

    async fn some(&mut self, grow: &Grow<'_>) -> Result<Vec<Member>, Error> {
        let mut members = Vec::with_capacity(AT_ONCE);
        while members.len() < AT_ONCE
            && let Some((key, bytes)) = self.0.next().await?
        {
            let id = key::read_number(&key)
                .ok_or_else(|| Error::corrupt("vector", "its key has no id"))?;
            if grow.view.deleted_bits.contains(id) {
                continue;
            }
            if let Some(record) = grow.view.read_vector(id, &bytes) {
                members.push(Member {
                    id,
                    number: record.number,
                    vector: record.vector.to_vec(),
                });
            }
        }
        Ok(members)
    }
}
