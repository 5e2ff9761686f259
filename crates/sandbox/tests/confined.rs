//! Children that misbehave, and a parent that stays as it was.

use std::time::Duration;

use bytes::Bytes;
use parse::Hints;
use sandbox::{Death, Error, Fault, Program, Sandbox, Settings};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_sandbox-test-child"), &[])
}

fn strict() -> Settings {
    Settings {
        children: 1,
        cpu: Duration::from_secs(1),
        wall: Duration::from_secs(3600),
        silence: Duration::from_secs(3600),
        memory_bytes: 300 << 20,
        ..Settings::default()
    }
}

async fn read(sandbox: &Sandbox, document: &str) -> Result<model::Parsed, Error> {
    let bytes = Bytes::copy_from_slice(document.as_bytes());
    sandbox.parse(bytes, Hints::of_filename("note.txt")).await
}

async fn death(document: &str, settings: Settings) -> Death {
    let sandbox = Sandbox::new(settings, program());
    let ended = read(&sandbox, document).await;
    // Whatever happened, the next document is read by the same sandbox.
    let next = read(&sandbox, "Still here.").await.unwrap();
    assert_eq!(next.text, "Still here.");
    match ended {
        Err(Error::Deadly { death }) => death,
        other => panic!("{document} should have been deadly, not {other:?}"),
    }
}

#[tokio::test]
async fn a_child_reads_what_the_parent_would_have_read() {
    let text = "# Mills\n\nThey grind.\n";
    let hints = Hints::of_filename("mills.md");
    let bytes = Bytes::from_static(text.as_bytes());
    let sandbox = Sandbox::new(Settings::default(), program());
    let confined = sandbox.parse(bytes.clone(), hints.clone()).await.unwrap();
    let here = Sandbox::unconfined_for_tests();
    assert_eq!(confined, here.parse(bytes, hints).await.unwrap());
}

#[tokio::test]
async fn what_the_parent_holds_is_not_held_against_its_children() {
    let held = vec![1u8; 200 << 20];
    let sandbox = Sandbox::new(Settings::default(), program());
    read(&sandbox, "Small.").await.unwrap();
    let largest = sandbox.largest_child();
    assert!((1 << 20..150 << 20).contains(&largest), "{largest}");
    drop(held);
}

#[tokio::test]
async fn an_endless_loop_ends_with_its_cpu_time() {
    assert_eq!(death("!loop", strict()).await, Death::Cpu);
}

#[tokio::test]
async fn a_child_that_sleeps_is_ended_for_its_silence() {
    let settings = Settings {
        silence: Duration::from_millis(500),
        ..strict()
    };
    assert_eq!(death("!sleep", settings).await, Death::Silence);
}

#[tokio::test]
async fn a_memory_bomb_hits_its_own_ceiling() {
    assert_eq!(death("!memory", strict()).await, Death::Memory);
}

#[tokio::test]
async fn a_panic_or_an_abort_costs_one_child() {
    let how = |death| match death {
        Death::Crashed(how) => how,
        other => panic!("{other:?} is no crash"),
    };
    assert_eq!(how(death("!panic", strict()).await), "as ordered");
    assert_eq!(how(death("!abort", strict()).await), "signal 6");
}

#[tokio::test]
async fn a_child_opens_no_file_and_no_socket() {
    let sandbox = Sandbox::new(strict(), program());
    for order in ["!file", "!socket"] {
        read(&sandbox, order).await.unwrap();
    }
}

#[tokio::test]
async fn a_child_cannot_limit_another_process() {
    let sandbox = Sandbox::new(strict(), program());
    let order = format!("!limit {}", std::process::id());
    read(&sandbox, &order).await.unwrap();
}

#[tokio::test]
async fn whose_fault_it_was_can_be_told() {
    let sandbox = Sandbox::new(strict(), program());
    let broken = Bytes::from_static(b"%PDF-1.7\nnothing of the kind");
    let error = sandbox.parse(broken, Hints::default()).await.unwrap_err();
    assert_eq!(error.fault(), Fault::Document);

    let bomb = read(&sandbox, "!memory").await.unwrap_err();
    assert_eq!(bomb.fault(), Fault::Budget);

    let nowhere = Sandbox::new(strict(), Program::new("/nonexistent/reader", &[]));
    let error = read(&nowhere, "text").await.unwrap_err();
    assert_eq!(error.fault(), Fault::Ours);
}
