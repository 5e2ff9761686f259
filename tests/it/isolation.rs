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
        "PATCH /v1/tenants/{tenant}",
        "POST /mcp",
    ] {
        assert!(tried(name), "{name}");
    }
    let door = |one: &&serde_json::Value| one["operation"] == "POST /internal/process";
    let door = found.iter().find(door).expect("it is described");
    assert_eq!(door["status"], 401, "it is there, and opens to no tenant");
}

#[test]
fn a_planted_leak_is_found_on_every_kind_of_thing() {
    let leaky = [
        ("/history", "GET /v1/documents/{document}/history"),
        ("/pages/", "GET /v1/versions/{version}/pages/{page}"),
        ("/events/stream", "GET /v1/events/stream"),
        ("/problems", "GET /v1/jobs/{job}/problems"),
        ("/replay", "POST /v1/dead-letters/{letter}/replay"),
        ("/redeliver", "POST /v1/deliveries/{delivery}/redeliver"),
    ];
    let mill = Mill::sqlite();
    let output = mill
        .command(&["doctor", "isolation"])
        .env(
            "GRISTMILL_PLANT",
            "leaky:".to_owned() + &leaky.map(|(part, _)| part).join(","),
        )
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    let leaks = said.lines().filter(|line| line.starts_with("LEAK"));
    // What the leaks let happen is told beside them.
    let routes: Vec<&str> = leaks.filter(|line| !line.contains("everything")).collect();
    assert_eq!(routes.len(), leaky.len(), "{said}");
    for (_, route) in leaky {
        let named = routes.iter().any(|line| line.contains(route));
        assert!(named, "{route}\n{said}");
    }
}
