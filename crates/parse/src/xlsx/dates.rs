//! Dates, which a workbook keeps as days since 1900 (or 1904).

/// What a number format makes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Number,
    /// A day, a time of it, or both.
    Date,
    /// Time that has passed, which may be more than a day.
    Elapsed,
}

pub(super) fn shown_by(code: &str) -> Shown {
    let (mut quoted, mut shown) = (false, Shown::Number);
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            // The sign after these stands for itself, for its width, or fills the cell.
            '\\' | '_' | '*' => {
                chars.next();
            }
            '[' => {
                let inner: String = chars.by_ref().take_while(|c| *c != ']').collect();
                let is_unit = |c: char| matches!(c, 'h' | 'H' | 'm' | 'M' | 's' | 'S');
                if !inner.is_empty() && inner.chars().all(is_unit) {
                    return Shown::Elapsed;
                }
            }
            'y' | 'Y' | 'd' | 'D' | 'm' | 'M' | 'h' | 'H' => shown = Shown::Date,
            _ => {}
        }
    }
    shown
}

/// Hours, minutes and seconds, however many hours.
pub(super) fn elapsed(serial: f64) -> Option<String> {
    let seconds = seconds(serial)?;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    Some(format!("{hours}:{minutes:02}:{:02}", seconds % 60))
}

/// `None` for what no sheet shows as a date.
fn seconds(serial: f64) -> Option<u64> {
    let is_shown = (0.0..2_958_466.0).contains(&serial);
    is_shown.then(|| (serial * 86_400.0).round() as u64)
}

/// ISO 8601; the time only where there is one, the date only where there is one.
pub(super) fn written(serial: f64, since_1904: bool) -> Option<String> {
    let total = seconds(serial)?;
    let (days, seconds) = ((total / 86_400) as i64, total % 86_400);
    let time = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if days == 0 && !since_1904 {
        return Some(time);
    }
    // Excel believes 1900 was a leap year; from March on its count is one too far.
    let since_1970 = match since_1904 {
        true => days - 24_107,
        false if days < 60 => days - 25_568,
        false => days - 25_569,
    };
    let (year, month, day) = civil(since_1970);
    let date = format!("{year:04}-{month:02}-{day:02}");
    Some(match seconds {
        0 => date,
        _ => format!("{date} {time}"),
    })
}

/// Year, month and day of a count of days since 1970-01-01 in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_are_the_days_the_sheet_shows() {
        assert_eq!(written(1.0, false).unwrap(), "1900-01-01");
        assert_eq!(written(61.0, false).unwrap(), "1900-03-01");
        assert_eq!(written(45_000.5, false).unwrap(), "2023-03-15 12:00:00");
        assert_eq!(written(0.0, true).unwrap(), "1904-01-01");
    }

    #[test]
    fn colours_and_words_in_a_format_make_no_date() {
        assert_eq!(shown_by("[Red]0.00\" days\""), Shown::Number);
        assert_eq!(shown_by("0\\h"), Shown::Number);
        assert_eq!(shown_by("dd/mm/yyyy"), Shown::Date);
        assert_eq!(shown_by("[h]:mm"), Shown::Elapsed);
    }
}
