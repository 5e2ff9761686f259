//! Numbers as pages bear them.

/// The number a line consists of, give or take ornaments: `- 12 -`, `Page 12`, `xii`.
pub(super) fn page_number(text: &str) -> Option<i64> {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    let bare = bare
        .strip_prefix("Page ")
        .or(bare.strip_prefix("page "))
        .unwrap_or(bare);
    let bare = bare
        .split_once(" of ")
        .map_or(bare, |(first, _)| first)
        .trim();
    if bare.len() <= 5
        && let Ok(number) = bare.parse()
    {
        return Some(number);
    }
    roman(bare)
}

fn roman(text: &str) -> Option<i64> {
    if text.is_empty() || text.len() > 8 {
        return None;
    }
    let value = |c: char| {
        Some(match c.to_ascii_lowercase() {
            'i' => 1,
            'v' => 5,
            'x' => 10,
            'l' => 50,
            'c' => 100,
            _ => return None,
        })
    };
    let digits: Vec<i64> = text.chars().map(value).collect::<Option<_>>()?;
    let signed = digits.iter().enumerate().map(|(at, digit)| {
        let smaller = digits.get(at + 1).is_some_and(|next| next > digit);
        if smaller { -digit } else { *digit }
    });
    Some(signed.sum())
}
