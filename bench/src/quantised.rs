//! What eight bits save the local model, and how far their vectors are from full precision's.
//!
//! The texts of topic `embed`, through both forms of the same weights. What it costs in
//! answers found is in topic `embed-ir`.

use providers::Precision;

use crate::embed::{cases, cosine, open, timed};
use crate::peers::model_folder;
use crate::report::Report;

const FULL: &str = "full precision";

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let folder = model_folder()?;
    let runtime = tokio::runtime::Runtime::new()?;
    let [full, eight_bit] =
        [Precision::Full, Precision::EightBit].map(|precision| open(&folder, 1, precision));
    let (full, eight_bit) = (full?, eight_bit?);
    let mut agreement = f32::INFINITY;
    for (name, case) in cases() {
        let (_, theirs, expected) = runtime.block_on(timed(&full, &case))?;
        let (_, ours, vectors) = runtime.block_on(timed(&eight_bit, &case))?;
        let nearest = expected.iter().zip(&vectors).map(|(a, b)| cosine(a, b));
        agreement = nearest.fold(agreement, f32::min);
        let rate = |seconds: f64| case.texts.len() as f64 / seconds;
        let name = format!("{name}, 1 thread");
        report.against(name, rate(ours), "texts/cpu-s", (FULL, rate(theirs)));
    }
    let name = format!("least cosine with {FULL}");
    report.figure(name, f64::from(agreement), "");
    Ok(())
}
