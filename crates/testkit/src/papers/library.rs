//! A small library about milling, in several formats.

use super::Part::{Heading, Table, Text, Title};
use super::{docx, pdf};

/// Stands in the handbook, on its fourth page.
pub const HANDBOOK_SENTENCE: &str = "Rye keeps best at a moisture of fourteen per cent";
/// Stands in the report.
pub const REPORT_SENTENCE: &str = "The new sluice gate halved the water lost in August";

/// A PDF of six pages.
pub fn handbook() -> Vec<u8> {
    pdf(&[
        &[
            Title("The Water Mill: A Handbook"),
            Text(
                "For everyone who works at the mill, and for those who look after it when the miller is away. Keep this book dry and within reach of the hopper.",
            ),
            Heading("1. The mill at a glance"),
            Text(
                "Water from the pond runs through the sluice and over the wheel. The wheel turns the great spur wheel, which drives two pairs of stones. Grain falls from the hopper through the shoe into the eye of the runner stone, is ground on its way outwards, and leaves as meal through the spout.",
            ),
            Text(
                "One pair of stones is dressed for wheat, the other for rye. Never grind rye on the wheat stones: the flour turns grey and the furrows fill.",
            ),
            Heading("2. Before you begin"),
            Text(
                "Walk around the mill once. Look for drift wood at the trash rack, for grease on the gudgeons, and for anything that was left on the stones. Listen to the wheel for a full turn before you lift the sluice.",
            ),
        ],
        &[
            Heading("3. Water"),
            Text(
                "The pond holds enough for nine hours at full flow. Lift the sluice slowly, a hand's breadth at a time, and wait until the wheel has settled before you lift it further.",
            ),
            Text(
                "When the level at the gauge falls below forty centimetres, close the sluice and wait. A wheel that runs on too little water strikes the buckets and shakes the whole house.",
            ),
            Heading("4. Stones"),
            Text(
                "The gap between bed stone and runner decides how fine the meal is. For wholemeal leave the thickness of brown paper at the eye and of tissue paper at the skirt.",
            ),
            Text(
                "Dress the stones after every hundred tonnes, or as soon as the meal feels warm to the hand. Dull stones crush instead of cutting, and warm meal does not keep.",
            ),
        ],
        &[
            Heading("5. Wheat"),
            Text(
                "Temper hard wheat the evening before: sprinkle it with water, two litres to a hundred kilograms, and turn it twice. The bran toughens and comes away in flakes that the sieve can hold back.",
            ),
            Text(
                "Soft wheat needs no tempering. Grind it cooler and a little coarser, and rest the flour for a week before it is baked.",
            ),
            Heading("6. Spelt and emmer"),
            Text(
                "Both come in their husks and must be shelled first. Set the shelling stones wide and run the grain through twice rather than once too close.",
            ),
        ],
        &[
            Heading("7. Rye"),
            Text(
                "Rye keeps best at a moisture of fourteen per cent. Above sixteen it heats in the bin within a week; below twelve it breaks under the stones and the bran colours the flour.",
            ),
            Text(
                "Turn stored rye every ten days in summer. Smell it each time: rye that is about to spoil smells of honey first and of earth later.",
            ),
            Heading("8. Storage"),
            Text(
                "Bins stand a hand's breadth from the wall on all sides. Sweep them out before each harvest, and burn what was swept.",
            ),
        ],
        &[
            Heading("9. When something goes wrong"),
            Text(
                "If the stones run dry, lift the runner at once, then close the sluice. Stones that touch throw sparks, and meal dust burns.",
            ),
            Text(
                "If the bell above the hopper rings, the grain is running out. There are two minutes between the bell and bare stones.",
            ),
            Heading("10. Fire"),
            Text(
                "Buckets stand filled on every floor. Open no lamp in the meal floor while the stones are turning, and let no one smoke in the house.",
            ),
        ],
        &[
            Heading("11. Closing down"),
            Text(
                "Lower the sluice, let the wheel come to rest, raise the runner, brush the stones, empty the shoe, and write the day's weights into the book.",
            ),
            Heading("12. People"),
            Text(
                "Two people are always in the house while the stones turn: one at the hopper, one at the spout. A third looks after the water in times of flood.",
            ),
        ],
    ])
}

/// A Word file with a table.
pub fn report() -> Vec<u8> {
    docx(&[
        Title("Milling report, third quarter"),
        Text(
            "This report covers July to September. It was compiled from the day book and from the weights at the spout.",
        ),
        Heading("Summary"),
        Text(
            "We ground 412 tonnes, six per cent more than a year before. The new sluice gate halved the water lost in August, and there was no day on which the mill stood still for want of water.",
        ),
        Heading("Grain by month"),
        Table(&[
            &["Month", "Wheat (t)", "Rye (t)", "Spelt (t)"],
            &["July", "88", "31", "6"],
            &["August", "97", "40", "9"],
            &["September", "92", "38", "11"],
        ]),
        Heading("Repairs"),
        Text(
            "The runner of the rye pair was dressed on 14 August. Two buckets of the wheel were replaced in September; the others will last another winter.",
        ),
        Text("The bell rope was renewed after it had been found frayed."),
        Heading("Outlook"),
        Text(
            "The harvest of spelt was early and plentiful. We expect to run the shelling stones twice a week until the end of the year.",
        ),
    ])
}

const NOTES: &str = "# Notes on sourdough\n\nA rye starter wakes faster than a wheat starter.\n\n## Feeding\n\n- Feed at dusk, at twenty-four degrees.\n- Equal parts of flour and water.\n\n> A starter forgives a missed day, not a missed week.\n\n```\n100 g starter\n100 g rye flour\n100 g water\n```\n";

const PRICES: &str = "grain,grade,price per tonne\nwheat,bread,248\nwheat,feed,211\nrye,bread,226\nrye,feed,190\nspelt,dehulled,610\n";

const PAGE: &str = "<!doctype html><html lang=\"en\"><head><title>Opening hours</title></head><body><main><h1>Visiting the mill</h1><p>The mill is open to visitors on the first Sunday of each month, from ten in the morning until four in the afternoon. Children pay nothing.</p><p>Groups are asked to write two weeks ahead, so that the stones can be running when they arrive and somebody has the time to show them around.</p></main></body></html>";

/// File names with their bytes.
pub fn library() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("mill-handbook.pdf", handbook()),
        ("milling-report.docx", report()),
        ("sourdough.md", NOTES.into()),
        ("grain-prices.csv", PRICES.into()),
        ("opening-hours.html", PAGE.into()),
    ]
}
