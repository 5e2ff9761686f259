//! A catalog in PostgreSQL that cannot be reached.

use std::net::TcpListener;

use crate::mill::{Catalog, Mill};

fn listening() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn a_server_that_is_down_or_silent_is_named_and_no_password_is() {
    // One that takes the connection and never says a word.
    let (_silent, mute) = listening();
    let (gone, closed) = listening();
    drop(gone);
    for (url, place, why) in [
        (
            format!("postgres://miller:grist@127.0.0.1:{closed}/mill"),
            format!("127.0.0.1:{closed}"),
            "refused",
        ),
        (
            format!("postgres://miller@127.0.0.1:{mute}/mill?password=grist"),
            format!("127.0.0.1:{mute}"),
            "has not answered",
        ),
    ] {
        let mill = Mill::new(Catalog::Postgres { url });
        std::fs::create_dir(mill.data()).unwrap();
        for command in ["status", "jobs"] {
            let output = mill.run(&[command]);
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success(), "{command}: {told}");
            for said in [&*place, why, "hint: check catalog.url"] {
                assert!(told.contains(said), "{command}: {said} is not in {told}");
            }
            assert!(
                !told.contains("grist@") && !told.contains("=grist"),
                "{told}"
            );
        }
    }
}
