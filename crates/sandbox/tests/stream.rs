//! Texts read in pieces.

use bytes::Bytes;
use parse::{Format, Hints};
use sandbox::{Program, Sandbox, Settings};

fn sandbox() -> Sandbox {
    let program = Program::new(env!("CARGO_BIN_EXE_sandbox-test-child"), &[]);
    let settings = Settings {
        children: 1,
        ..Settings::default()
    };
    Sandbox::new(settings, program)
}

#[tokio::test]
async fn a_text_in_pieces_is_the_text_as_a_whole() {
    let line = |n: u32| format!("## Part {n}\n\nWords of part {n}, and more of them.\n\n");
    let document = Bytes::from((0..12_000).map(line).collect::<String>());
    let hints = Hints::of_filename("parts.md");
    let sandbox = sandbox();
    let whole = sandbox
        .parse(document.clone(), hints.clone())
        .await
        .unwrap();

    let head = document.slice(..Format::HEAD_BYTES);
    let begun = sandbox.stream(&head, hints.clone()).await.unwrap();
    let mut reading = begun.expect("Markdown is read in pieces");
    let (mut text, mut atoms) = (String::new(), Vec::new());
    for start in (0..document.len()).step_by(100_000) {
        let end = (start + 100_000).min(document.len());
        if let Some(slice) = reading.push(document.slice(start..end)).await.unwrap() {
            text.push_str(&slice.text);
            atoms.extend(slice.atoms);
        }
    }
    let last = reading.finish().await.unwrap();
    text.push_str(&last.text);
    atoms.extend(last.atoms);
    assert!(text == whole.text && atoms == whole.atoms);

    // Another child goes on where the first one said it had come to.
    let mut reading = sandbox.stream(&head, hints.clone()).await.unwrap().unwrap();
    let first = reading.push(document.slice(..600_000)).await.unwrap();
    let first = first.expect("so much is more than a slice");
    drop(reading);
    let rest = document.slice(first.resume.source_byte as usize..);
    let mut reading = sandbox.resume(first.resume).await.unwrap();
    assert_eq!(reading.format(), Format::Markdown);
    let second = reading.push(rest).await.unwrap();
    let last = reading.finish().await.unwrap();
    let second = second.map(|slice| slice.text).unwrap_or_default();
    assert!(first.text + &second + &last.text == whole.text);

    // The child is free again, for a document of another kind.
    let pdf = samples::pdf::leaflet();
    assert!(
        sandbox
            .stream(&pdf, Hints::default())
            .await
            .unwrap()
            .is_none()
    );
    assert!(sandbox.parse(document, hints).await.unwrap() == whole);
}
