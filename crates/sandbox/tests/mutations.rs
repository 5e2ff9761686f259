//! Damaged files of every format: an answer for each, and a parent that stays as it was.

use std::time::Duration;

use parse::Hints;
use samples::{Dice, damaged};
use sandbox::{Fault, Program, Sandbox, Settings};

#[tokio::test]
async fn damaged_files_give_an_answer_and_leave_the_parent_standing() {
    let settings = Settings {
        children: 2,
        cpu: Duration::from_secs(60),
        wall: Duration::from_secs(3600),
        silence: Duration::from_secs(3600),
        memory_bytes: 160 << 20,
        ..Settings::default()
    };
    let program = Program::new(env!("CARGO_BIN_EXE_sandbox-test-child"), &[]);
    let sandbox = Sandbox::new(settings, program);
    let originals = samples::all();
    for number in 0..280 {
        let mut dice = Dice::new(number);
        let original = &originals[number as usize % originals.len()];
        let other = &originals[dice.roll(originals.len())];
        let bytes = damaged(&original.bytes, &other.bytes, &mut dice);
        let hints = Hints::of_filename(original.name.as_str());
        // Text, gaps or a reason: anything but our own fault.
        if let Err(error) = sandbox.parse(bytes.into(), hints).await {
            let name = &original.name;
            assert_ne!(error.fault(), Fault::Ours, "{name}, {number}: {error}");
        }
    }
}
