//! Dates, which a workbook keeps as days since 1900 (or 1904).

/// Whether a number format shows a date or a time.
pub(super) fn is_date_format(code: &str) -> bool {
    let mut quoted = false;
    let mut bracketed = false;
    for c in code.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' => bracketed = true,
            ']' => bracketed = false,
            'y' | 'Y' | 'd' | 'D' | 'm' | 'M' | 'h' | 'H' if !quoted && !bracketed => return true,
            _ => {}
        }
    }
    false
}

/// ISO 8601; the time only where there is one, the date only where there is one.
pub(super) fn written(serial: f64, since_1904: bool) -> Option<String> {
    if !(0.0..2_958_466.0).contains(&serial) {
        return None;
    }
    let seconds = (serial.fract() * 86_400.0).round() as u64;
    let time = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60
    );
    let days = serial.trunc() as i64;
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
        assert!(!is_date_format("[Red]0.00\" days\""));
        assert!(is_date_format("dd/mm/yyyy"));
    }
}
