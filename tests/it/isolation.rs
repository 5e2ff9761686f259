//! The doctor finds no leak, and would find one.

use crate::mill::Mill;

#[test]
fn every_route_is_tried_as_another_tenant_and_none_leaks() {
    let lines = Mill::sqlite().lines(&["doctor", "isolation", "--json"]);
    let (total, found) = lines.split_last().unwrap();
    assert_eq!(total["leaks"], 0);
    assert!(found.len() > 60, "{} operations", found.len());
    let tried = |name: &str| found.iter().any(|one| one["operation"] == name);
    for name in [
        "GET /v1/versions/{version}/pages/{page}",
        "GET /v1/events/stream",
        "POST /v1/citations/verify",
        "POST /mcp",
    ] {
        assert!(tried(name), "{name}");
    }
}

#[test]
fn a_planted_leak_is_found() {
    let mill = Mill::sqlite();
    let output = mill
        .command(&["doctor", "isolation"])
        .env("GRISTMILL_PLANT", "leaky_route")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    let leaks: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("LEAK"))
        .collect();
    assert_eq!(leaks.len(), 1, "{said}");
    assert!(
        leaks[0].contains("GET /v1/documents/{document}/history"),
        "{said}"
    );
}
