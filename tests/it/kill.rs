//! The process is killed while it works; what it then holds is what an undisturbed one holds.

use std::process::Stdio;
use std::time::Duration;

use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::mill::{Folder, Mill, path};

const FILES: usize = 200;
const KILLS: usize = 20;

fn many_files() -> Folder {
    let folder = Folder::of(&[]);
    for n in 0..FILES {
        let topic = ["stone", "wheel", "sluice", "hopper"][n % 4];
        let text = format!(
            "# Part {n}\n\nThe {topic} numbered {n} is checked every spring.\n\n\
             ## Care\n\nGrease the {topic} and look for cracks, {n} times in all.\n"
        );
        folder.write(&format!("{}/{n}.md", n % 7), &text);
    }
    folder
}

#[test]
fn killed_at_twenty_moments_it_ends_where_an_undisturbed_run_ends() {
    killed_at_twenty_moments(&Mill::sqlite());
}

#[tokio::test]
async fn killed_at_twenty_moments_on_postgres_it_ends_there_too() {
    killed_at_twenty_moments(&Mill::postgres().await);
}

fn killed_at_twenty_moments(killed: &Mill) {
    let folder = many_files();
    let calm = Mill::sqlite();
    calm.ingest(folder.path());

    let seed = rand::random::<u64>();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..KILLS {
        let mut child = killed
            .command(&["ingest", path(folder.path()), "--json"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        // Not a wait for anything: the moment is what is drawn.
        std::thread::sleep(Duration::from_millis(random.random_range(20..1500)));
        child.kill().expect("it is ours to kill");
        child.wait().expect("it has ended");
    }
    killed.ingest(folder.path());

    assert_eq!(killed.digest(), calm.digest(), "seed {seed}");
    let status = &killed.lines(&["status", "--json"])[0];
    assert_eq!(status["documents"], FILES, "seed {seed}: {status}");
    assert_eq!(status["work"], 0, "seed {seed}: {status}");
}
