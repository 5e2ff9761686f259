//! A file that has arrived and waits to be admitted.
//!
//! However its request ends before that, by a refusal, a form that breaks off or a client
//! that goes away, nothing of it stays.

use std::sync::Arc;

use engine::Engine;
use engine::intake::Staged;

pub struct Arrived {
    engine: Arc<Engine>,
    staged: Option<Staged>,
}

impl Arrived {
    pub fn new(engine: &Arc<Engine>, staged: Staged) -> Self {
        Self {
            engine: engine.clone(),
            staged: Some(staged),
        }
    }

    pub fn staged(&self) -> &Staged {
        self.staged.as_ref().expect("only `admit` takes it out")
    }

    /// What was staged, for the engine to admit: from here on it is the engine's.
    pub fn admit(mut self) -> Staged {
        self.staged.take().expect("it is taken out once")
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        if let Some(staged) = self.staged.take() {
            let engine = self.engine.clone();
            tokio::spawn(async move { engine.discard(staged).await });
        }
    }
}
