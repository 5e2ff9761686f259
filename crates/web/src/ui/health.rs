//! How the parts of the house are, in plain words.

use catalog::Status;

use super::shown::{State as Word, count, duration, size};
use crate::gateway::Gateway;

/// From here on a step that is due counts as late.
const LATE: i64 = 120;

/// One part, whether it is well, and what makes one think so.
pub struct Check {
    pub what: &'static str,
    pub state: Word,
    pub why: String,
}

impl Check {
    fn new(what: &'static str, well: bool, why: String) -> Self {
        let state = match well {
            true => Word::new("well", "good"),
            false => Word::new("look here", "bad"),
        };
        Self { what, state, why }
    }
}

pub async fn checks(gateway: &Gateway, status: &Status) -> Vec<Check> {
    vec![
        index(gateway).await,
        disk(gateway),
        queue(gateway, status),
        letters(status),
        model(gateway),
    ]
}

async fn index(gateway: &Gateway) -> Check {
    let snapshot = gateway.engine().parts().index.snapshot(index::Flush(0));
    let (well, why) = match snapshot.await {
        Ok(_) => (true, "It opens and answers.".to_owned()),
        Err(error) => (false, format!("It does not answer: {error}.")),
    };
    Check::new("Index", well, why)
}

fn disk(gateway: &Gateway) -> Check {
    let reserve = gateway.settings().disk_reserve;
    match gateway.free_bytes() {
        Some(free) => {
            let why = format!("{} free; uploads stop below {}.", size(free), size(reserve));
            Check::new("Disk", free >= reserve, why)
        }
        None => Check::new("Disk", false, "How full it is cannot be told.".to_owned()),
    }
}

fn queue(gateway: &Gateway, status: &Status) -> Check {
    let queue = &status.queue;
    let due = queue.oldest_due.filter(|_| queue.ready > 0);
    let late = due.map_or(0, |due| (gateway.now() - due).num_seconds().max(0));
    let why = match queue.ready {
        0 => "Nothing is due.".to_owned(),
        ready => format!(
            "{} steps due, the oldest for {}.",
            count(ready),
            duration(late as f64)
        ),
    };
    Check::new("Queue", late < LATE, why)
}

fn letters(status: &Status) -> Check {
    let why = match status.dead_letters {
        0 => "None.".to_owned(),
        1 => "One step was tried and came to nothing; see Runs.".to_owned(),
        many => format!(
            "{} steps were tried and came to nothing; see Runs.",
            count(many)
        ),
    };
    Check::new("Dead letters", status.dead_letters == 0, why)
}

fn model(gateway: &Gateway) -> Check {
    let info = gateway.engine().parts().embedder.info();
    let why = format!("{}, {} dimensions.", info.name, info.dimension);
    Check::new("Model", true, why)
}
