//! Threads that embed, one group of inputs at a time each.
//!
//! A call is cut into groups; each lane takes the next group, whosever it is, and
//! works on it alone, so cores never wait for each other within a group. Queries
//! go first. A call nobody waits for any more is dropped at the next group.
//! Memory is a lane's scratch, whatever is queued.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::GROUP_TOKENS;
use super::bert::{Bert, Scratch};
use crate::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    Query,
    Passage,
}

pub struct Lanes {
    queue: Arc<Queue>,
    threads: usize,
}

/// Some inputs of one call, and where their vectors go.
struct Group {
    /// The place of each input in its call, and its tokens.
    inputs: Vec<(usize, Vec<u32>)>,
    call: Arc<Call>,
}

/// What one caller waits for.
struct Call {
    state: Mutex<Answers>,
}

struct Answers {
    vectors: Vec<Vec<f32>>,
    missing: usize,
    tell: Option<oneshot::Sender<Vec<Vec<f32>>>>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

#[derive(Default)]
struct Waiting {
    queries: VecDeque<Group>,
    passages: VecDeque<Group>,
    closed: bool,
}

impl Lanes {
    pub fn start(bert: Arc<Bert>, threads: usize) -> Self {
        let queue = Arc::new(Queue::default());
        for lane in 0..threads {
            let (bert, queue) = (Arc::clone(&bert), Arc::clone(&queue));
            std::thread::Builder::new()
                .name(format!("embed-{lane}"))
                .spawn(move || work(&bert, &queue))
                .expect("the system starts a thread");
        }
        Self { queue, threads }
    }

    /// The vectors of `inputs`, in their order.
    pub async fn embed(
        &self,
        inputs: Vec<Vec<u32>>,
        urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, Error> {
        if inputs.is_empty() {
            return Ok(Vec::new());
        }
        let (tell, told) = oneshot::channel();
        let call = Arc::new(Call {
            state: Mutex::new(Answers {
                vectors: vec![Vec::new(); inputs.len()],
                missing: inputs.len(),
                tell: Some(tell),
            }),
        });
        self.queue.push(group(inputs, self.threads, &call), urgency);
        told.await.map_err(|_| Error::Stopped)
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.queue.waiting().closed = true;
        self.queue.news.notify_all();
    }
}

impl Queue {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, groups: Vec<Group>, urgency: Urgency) {
        let mut waiting = self.waiting();
        match urgency {
            Urgency::Query => waiting.queries.extend(groups),
            Urgency::Passage => waiting.passages.extend(groups),
        }
        self.news.notify_all();
    }

    /// `None` once there is nobody left to ask.
    fn next(&self) -> Option<Group> {
        let mut waiting = self.waiting();
        loop {
            if waiting.closed {
                return None;
            }
            let query = waiting.queries.pop_front();
            if let Some(group) = query.or_else(|| waiting.passages.pop_front()) {
                return Some(group);
            }
            waiting = self
                .news
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Call {
    fn state(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_awaited(&self) -> bool {
        let state = self.state();
        state.tell.as_ref().is_some_and(|tell| !tell.is_closed())
    }

    fn give_up(&self) {
        self.state().tell = None;
    }

    fn answer(&self, vectors: Vec<(usize, Vec<f32>)>) {
        let mut state = self.state();
        state.missing -= vectors.len();
        for (index, vector) in vectors {
            state.vectors[index] = vector;
        }
        if state.missing > 0 {
            return;
        }
        let vectors = std::mem::take(&mut state.vectors);
        if let Some(tell) = state.tell.take() {
            // A caller that went away wants no answer.
            let _ = tell.send(vectors);
        }
    }
}

/// What is left is shared out so many times over, until groups are small.
const ROUNDS: usize = 2;
const SMALL_GROUP_TOKENS: usize = 128;

/// Longest first, and less in each group towards the end, so that no lane is left with much to
/// do when the others have nothing. A lane that is alone has nobody to wait for.
fn group_tokens(left: usize, lanes: usize) -> usize {
    match lanes {
        1 => GROUP_TOKENS,
        _ => (left / (lanes * ROUNDS)).clamp(SMALL_GROUP_TOKENS, GROUP_TOKENS),
    }
}

fn group(inputs: Vec<Vec<u32>>, lanes: usize, call: &Arc<Call>) -> Vec<Group> {
    let mut left = inputs.iter().map(Vec::len).sum();
    let mut inputs: Vec<_> = inputs.into_iter().enumerate().collect();
    inputs.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    let mut groups = Vec::new();
    let mut open = Vec::new();
    let mut tokens = 0;
    for (index, ids) in inputs {
        if !open.is_empty() && tokens + ids.len() > group_tokens(left, lanes) {
            groups.push(std::mem::take(&mut open));
            left -= tokens;
            tokens = 0;
        }
        tokens += ids.len();
        open.push((index, ids));
    }
    groups.push(open);
    let with_call = |inputs| Group {
        inputs,
        call: Arc::clone(call),
    };
    groups.into_iter().map(with_call).collect()
}

fn work(bert: &Bert, queue: &Queue) {
    // Matrix products ask the current pool how many threads they may use: one.
    let _alone = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build()
        .expect("a pool of the current thread alone");
    let mut scratch = Scratch::default();
    while let Some(Group { inputs, call }) = queue.next() {
        if !call.is_awaited() {
            continue;
        }
        let (places, ids): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
        // A lane outlives a fault in one group; its caller is told there is no answer.
        let embed = AssertUnwindSafe(|| bert.embed(&ids, &mut scratch));
        match catch_unwind(embed) {
            Ok(vectors) => call.answer(places.into_iter().zip(vectors).collect()),
            Err(_) => call.give_up(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(lengths: &[usize], lanes: usize) -> Vec<usize> {
        let (tell, _told) = oneshot::channel();
        let call = Arc::new(Call {
            state: Mutex::new(Answers {
                vectors: Vec::new(),
                missing: 0,
                tell: Some(tell),
            }),
        });
        let inputs = lengths.iter().map(|length| vec![0; *length]).collect();
        let tokens = |group: &Group| group.inputs.iter().map(|(_, ids)| ids.len()).sum();
        group(inputs, lanes, &call).iter().map(tokens).collect()
    }

    #[test]
    fn groups_grow_smaller_towards_the_end_where_lanes_share_the_work() {
        let sizes = sizes(&[32; 128], 2);
        assert_eq!(sizes.iter().sum::<usize>(), 128 * 32);
        assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
        assert_eq!(sizes.first(), Some(&GROUP_TOKENS));
        assert!(sizes.last() <= Some(&SMALL_GROUP_TOKENS));
    }

    #[test]
    fn a_lane_alone_works_on_full_groups() {
        assert_eq!(sizes(&[256; 5], 1), [512, 512, 256]);
    }

    #[test]
    fn an_input_larger_than_a_group_is_one_by_itself() {
        assert_eq!(sizes(&[100, 600], 2), [600, 100]);
    }
}
