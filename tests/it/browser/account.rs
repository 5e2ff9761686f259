//! Who may see what: the admin's pages, the other role, the other tenant.

use testkit::papers::handbook;

use super::Room;
use crate::served::PASSWORD;

#[tokio::test]
async fn an_admin_manages_users_keys_and_sees_settings_health_and_history() {
    let Some(room) = Room::open("browser::admin") else {
        return;
    };
    let tab = room.signed_in("admin").await;
    tab.click_on("nav a", "Admin").await;
    tab.sees("It opens and answers.").await;
    tab.sees("upload.max_mb").await;
    let text = tab.text().await;
    assert!(text.contains("from GRISTMILL_DATA"), "{text}");
    assert!(!text.contains(PASSWORD), "a secret is shown");

    tab.fill("#users .line:last-child [name=login]", "una")
        .await;
    tab.fill("#users > form [name=password]", PASSWORD).await;
    tab.click_on("button", "Add a user").await;
    tab.until("document.querySelector('#users tbody').innerText.includes('una')")
        .await;
    tab.fill("#keys [name=name]", "importer").await;
    tab.click_on("button", "Make a key").await;
    let secret = tab
        .until("document.querySelector('.secret')?.innerText")
        .await;
    let secret = secret.as_str().unwrap();
    let answer = room
        .served
        .get("/v1/status")
        .bearer_auth(secret)
        .send()
        .await;
    assert!(answer.unwrap().status().is_success(), "the key works");
    // Whoever comes back to where it was shown finds the page without it.
    tab.go("/admin/api-keys").await;
    tab.until("location.pathname === '/admin'").await;
    assert!(!tab.text().await.contains(secret), "shown this once");
    tab.click_on("#keys button", "Revoke").await;
    tab.until("document.querySelector('#keys tbody').innerText.includes('revoked')")
        .await;
    tab.fill("#kbs [name=name]", "archive").await;
    tab.click_on("button", "Add a knowledge base").await;
    tab.until("location.pathname === '/kb/archive'").await;
    // Pages of the whole house lead back to the knowledge base one came from.
    tab.click_on("nav a", "Runs").await;
    tab.click_on("nav a", "Documents").await;
    tab.until("location.pathname === '/kb/archive'").await;

    tab.go("/dashboard").await;
    tab.until("document.querySelectorAll('.plot').length === 6")
        .await;
    tab.go_until("/dashboard", "!!document.querySelector('.plot path')")
        .await;
    tab.is_blameless();
}

#[tokio::test]
async fn the_other_role_finds_the_admin_pages_closed_and_another_tenant_sees_nothing() {
    let Some(room) = Room::open("browser::account") else {
        return;
    };
    let admin = room.served.session("admin").await;
    room.served.add_tenant(&admin).await;
    room.served
        .ingest(&admin, "mill-handbook.pdf", handbook())
        .await;
    let form = format!("login=una&password={PASSWORD}&role=user");
    room.served.submit(&admin, "/admin/users", &form).await;

    let user = room.signed_in("una").await;
    user.until("document.querySelector('#documents tbody tr')")
        .await;
    let document = user
        .eval("document.querySelector('td.name a').getAttribute('href')")
        .await;
    let inspect = user
        .eval("document.querySelector('td.act a').getAttribute('href')")
        .await;
    assert_eq!(
        user.eval("document.querySelector('nav').innerText.includes('Admin')")
            .await,
        false
    );
    user.go("/admin").await;
    user.sees("403").await;
    user.expect_wrong("403");
    user.go("/jobs").await;
    assert_eq!(
        user.eval("document.querySelectorAll('main form').length")
            .await,
        0
    );
    user.is_blameless();

    let other = room.signed_in("other").await;
    other.sees("Nothing here yet").await;
    for path in ["/runs", "/jobs", "/sources", "/kb/default/search?q=rye"] {
        other.go(path).await;
        assert!(!other.text().await.contains("handbook"), "{path}");
    }
    // Its admin runs no machine: neither folders nor settings of the server are offered.
    other.go("/admin").await;
    assert!(!other.text().await.contains("upload.max_mb"));
    for path in [document, inspect] {
        other.go(path.as_str().unwrap()).await;
        other.sees("404").await;
        other.expect_wrong("404");
    }
    other.is_blameless();
}
