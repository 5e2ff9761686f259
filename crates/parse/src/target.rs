//! Where a document's links may lead.
//!
//! A target is shown, and somebody may follow it: only schemes that open a page or a letter
//! pass, never one that runs something or reads a file. Nothing is fetched here.

/// A longer address is no address.
const LONGEST: usize = 2048;
const SCHEMES: [&str; 5] = ["http", "https", "ftp", "mailto", "doi"];

/// The address without what is invisible in it, its blanks escaped; `None` if it may not pass.
pub(crate) fn safe_target(address: &str) -> Option<String> {
    if address.len() > LONGEST {
        return None;
    }
    // Browsers pass over these, so that `java\nscript:` would be one word.
    let shown = address.trim().chars().filter(|c| !c.is_control());
    let mut target = String::with_capacity(address.len());
    for c in shown {
        match c {
            c if c.is_whitespace() => target.push_str("%20"),
            '<' => target.push_str("%3C"),
            '>' => target.push_str("%3E"),
            '"' => target.push_str("%22"),
            '\\' => target.push_str("%5C"),
            c => target.push(c),
        }
    }
    let (scheme, rest) = target.split_once(':')?;
    let known = SCHEMES.iter().any(|one| scheme.eq_ignore_ascii_case(one));
    (known && !rest.trim_matches('/').is_empty()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_pages_and_letters_pass() {
        let passes = |address: &str| safe_target(address).as_deref() == Some(address);
        assert!(passes("https://example.org/a?b=c#d"));
        assert!(passes("HTTP://example.org"));
        assert!(passes("mailto:miller@example.org"));
        for hostile in [
            "javascript:alert(1)",
            " java\nscript:alert(1)",
            "data:text/html,<script>",
            "file:///etc/passwd",
            "vbscript:x",
            "/relative",
            "https://",
            "",
        ] {
            assert_eq!(safe_target(hostile), None, "{hostile}");
        }
        let long = format!("https://example.org/{}", "a".repeat(LONGEST));
        assert_eq!(safe_target(&long), None);
    }

    #[test]
    fn what_could_end_an_address_early_is_escaped() {
        let target = safe_target("https://example.org/a b<c>\t\"d\"").unwrap();
        assert_eq!(target, "https://example.org/a%20b%3Cc%3E%22d%22");
    }
}
