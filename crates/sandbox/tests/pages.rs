//! Documents with pages that hurt.

mod made;

use std::time::Duration;

use bytes::Bytes;
use made::{Page, pdf};
use parse::Hints;
use sandbox::{Fault, Program, Sandbox, Settings};

fn sandbox() -> Sandbox {
    let settings = Settings {
        children: 2,
        cpu: Duration::from_secs(60),
        wall: Duration::from_secs(3600),
        silence: Duration::from_secs(3600),
        memory_bytes: 160 << 20,
        ..Settings::default()
    };
    let program = Program::new(env!("CARGO_BIN_EXE_sandbox-test-child"), &[]);
    Sandbox::new(settings, program)
}

#[tokio::test]
async fn one_poison_page_costs_that_page_and_is_disclosed() {
    let texts: Vec<String> = (1..=30)
        .map(|n| format!("These are the words of page {n}"))
        .collect();
    let mut pages: Vec<Page<'_>> = texts.iter().map(|text| Page::Text(text)).collect();
    pages[16] = Page::Poison;
    let parsed = sandbox()
        .parse(pdf(&pages).into(), Hints::default())
        .await
        .unwrap();
    let gaps: Vec<_> = parsed.gaps.iter().filter_map(|gap| gap.pages).collect();
    assert_eq!(gaps, [(17, 17)]);
    assert!(
        parsed.gaps[0].reason.contains("memory"),
        "{}",
        parsed.gaps[0].reason
    );
    let missing: Vec<_> = (0..30)
        .filter(|n| !parsed.text.contains(&texts[*n]))
        .collect();
    assert_eq!(missing, [16]);
    assert_eq!(parsed.pages.len(), 30);
}

#[tokio::test]
async fn a_page_is_rendered_in_the_child() {
    let document = Bytes::from(pdf(&[Page::Text("A picture of words")]));
    let png = sandbox().render(document, 1, 0.5).await.unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
}

/// A small generator, so that a failure can be repeated from its number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

fn mutated(original: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = original.to_vec();
    match dice.roll(4) {
        0 => bytes.truncate(dice.roll(original.len())),
        1 => {
            let (from, to) = (dice.roll(bytes.len()), dice.roll(bytes.len()));
            let piece = bytes[from.min(to)..from.max(to)].to_vec();
            bytes.splice(from..from, piece);
        }
        _ => {
            for _ in 0..=dice.roll(12) {
                let at = dice.roll(bytes.len());
                bytes[at] ^= 1 << dice.roll(8);
            }
        }
    }
    bytes
}

#[tokio::test]
async fn damaged_files_give_an_answer_and_leave_the_parent_standing() {
    let sandbox = sandbox();
    let original = pdf(&[Page::Text("One"), Page::Text("Two"), Page::Text("Three")]);
    for seed in 1..=150 {
        let bytes = mutated(&original, &mut Dice(seed * 0x9e37_79b9));
        // Text, gaps or a reason: anything but our own fault.
        if let Err(error) = sandbox
            .parse(bytes.into(), Hints::of_filename("a.pdf"))
            .await
        {
            assert_ne!(error.fault(), Fault::Ours, "seed {seed}: {error}");
        }
    }
}
