//! Numbers as lists print them.

/// A … Z, AA, BB …, as word processors go on after Z.
pub(crate) fn letters(value: u32) -> String {
    let value = value.clamp(1, 26 * 20) - 1;
    let letter = char::from(b'A' + (value % 26) as u8);
    std::iter::repeat_n(letter, (value / 26 + 1) as usize).collect()
}

pub(crate) fn roman(value: u32) -> String {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut value = value.min(4_999);
    let mut out = String::new();
    for (worth, digit) in DIGITS {
        while value >= worth {
            out.push_str(digit);
            value -= worth;
        }
    }
    out
}
