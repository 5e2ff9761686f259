use std::io::Write as _;

use super::*;

fn env(pairs: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect::<Vec<_>>().into_iter()
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[test]
fn every_setting_is_listed_and_every_listed_key_is_a_setting() {
    let table = toml::Table::try_from(Config::default()).unwrap();
    let in_config = |path: &str| layers::get(&table, path).is_some();
    let missing: Vec<_> = keys::KEYS
        .iter()
        .filter(|key| !in_config(key.path))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let leaves: usize = table
        .values()
        .map(|value| value.as_table().map_or(1, toml::Table::len))
        .sum();
    assert_eq!(leaves, keys::KEYS.len());
}

#[test]
fn a_later_layer_wins() {
    let file = file("listen = '127.0.0.1:1'\n[upload]\nmax_mb = 10\n[http]\nconcurrency = 3\n");
    let environment = [
        ("UPLOAD_MAX_SIZE_MB", "20"),
        ("GRISTMILL_UPLOAD_MAX_MB", "30"),
    ];
    let flags = vec![("listen", "127.0.0.1:2".to_owned())];
    let loaded = load(Some(file.path()), env(&environment), flags).unwrap();
    assert_eq!(loaded.listen.port(), 2);
    assert_eq!(loaded.upload.max_mb, 30);
    assert_eq!(loaded.http.concurrency, 3);
    assert_eq!(loaded.auth.token_hours, 24);
}

#[test]
fn unknown_keys_are_refused_wherever_they_stand() {
    let misspelt = file("[upload]\nmax_bm = 10\n");
    let error = load(Some(misspelt.path()), env(&[]), vec![]).unwrap_err();
    assert!(format!("{error:#}").contains("max_bm"), "{error:#}");
    let error = load(None, env(&[("GRISTMILL_LISTNE", "x")]), vec![]).unwrap_err();
    assert!(error.to_string().contains("GRISTMILL_LISTNE"));
    let error = load(None, env(&[("GRISTMILL_UPLOAD_MAX_MB", "lots")]), vec![]).unwrap_err();
    assert!(format!("{error:#}").contains("GRISTMILL_UPLOAD_MAX_MB"));
}

#[test]
fn a_complaint_about_the_file_is_one_line_and_tells_no_secret() {
    let misspelt = "[auth]\njwt_secrt = 'hunter2'\n";
    let unquoted = "[auth]\ntoken_hours = 1\nadmin_password = 7275727\n";
    for (text, line, name) in [(misspelt, 2, "jwt_secrt"), (unquoted, 3, "admin_password")] {
        let error = load(Some(file(text).path()), env(&[]), vec![]).unwrap_err();
        let said = format!("{error:#}");
        assert!(said.contains(&format!("line {line}: ")), "{said}");
        assert!(said.contains(name), "{said}");
        assert!(
            !said.contains("hunter2") && !said.contains("7275727"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn numbers_that_would_overflow_are_refused() {
    for name in [
        "GRISTMILL_PARSE_TIMEOUT_SECONDS",
        "GRISTMILL_CATALOG_CONNECTIONS",
    ] {
        let error = load(None, env(&[(name, "4294967295")]), vec![]).unwrap_err();
        assert!(error.to_string().contains("is more than"), "{error}");
    }
}

#[test]
fn secrets_are_masked_and_origins_told() {
    let environment = [
        ("JWT_SECRET", "hunter2-hunter2"),
        ("AUTH_ENABLED", "false"),
        ("GRISTMILL_EMBEDDING_URL", "https://me:hunter2@host/v1"),
        ("COHERE_API_KEY", "co-hunter2"),
    ];
    let shown = show(&load(None, env(&environment), vec![]).unwrap());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("jwt_secret = \"********\"  # from JWT_SECRET"));
    assert!(shown.contains("url = \"https://********@host/v1\""));
    assert!(shown.contains("api_key = \"********\"  # from COHERE_API_KEY"));
    assert!(shown.contains("enabled = false  # from AUTH_ENABLED"));
    assert!(shown.parse::<toml::Table>().is_ok());
}

#[test]
fn a_run_that_is_posted_is_given_time_to_find_a_worker() {
    let hours = |runtime| {
        let environment = [
            ("GRISTMILL_GUARD_QUEUED_HOURS", "0"),
            ("INGEST_MODE", runtime),
        ];
        load(None, env(&environment), Vec::new())
    };
    assert!(hours("inline").is_ok());
    let refused = hours("http").unwrap_err().to_string();
    assert!(refused.contains("`guard.queued_hours` is 0"), "{refused}");
}
