//! Files that come in: whole, signed, doubled, broken off, too large, of the wrong kind.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use futures::future::join_all;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::served::{Answer, Served, send};
use crate::mill::{Mill, text};

super::on_both_catalogs!(
    a_file_is_uploaded_followed_searched_and_skipped_the_next_time,
    the_same_bytes_at_once_share_one_run,
    what_cannot_be_kept_is_refused_and_leaves_nothing,
    a_signed_address_takes_one_file_of_one_length_and_type,
);

async fn a_file_is_uploaded_followed_searched_and_skipped_the_next_time(served: &Served) {
    let queued = served
        .upload("bread.txt", "Rye bread keeps longer than wheat bread.")
        .await;
    let queued = queued.expect(202);
    let kinds = served.follow(&served.token, text(&queued["run_id"])).await;
    assert_eq!(kinds.first().map(String::as_str), Some("run.queued"));
    assert_eq!(kinds.last().map(String::as_str), Some("run.succeeded"));

    let found = served.search("how long does rye keep").await;
    let hit = &found["hits"][0];
    assert_eq!(hit["citation"]["document_id"], queued["doc_id"], "{found}");
    for name in ["version_id", "pages", "boxes", "char_range", "chunk_hash"] {
        assert!(!hit["citation"][name].is_null(), "{name}: {hit}");
    }
    let path = format!("/v1/versions/{}/original", text(&queued["version_id"]));
    let original = served.get(&path).await;
    assert_eq!(original.text, "Rye bread keeps longer than wheat bread.");
    let shown = original.headers["content-disposition"].to_str().unwrap();
    assert_eq!(shown, "attachment; filename*=UTF-8''bread%2Etxt");
    let again = served
        .upload("bread.txt", "Rye bread keeps longer than wheat bread.")
        .await;
    let again = again.expect(200);
    assert_eq!(
        (&again["status"], &again["reason"]),
        (&json!("skipped"), &json!("same_content"))
    );
}

async fn the_same_bytes_at_once_share_one_run(served: &Served) {
    let same = || served.upload("same.txt", "The very same words, sent eight times at once.");
    let answers = join_all((0..8).map(|_| same())).await;
    let queued = answers.iter().filter(|answer| answer.status == 202).count();
    assert_eq!(queued, 1, "one of them begins the run");
    let documents: std::collections::BTreeSet<_> = answers
        .iter()
        .map(|answer| text(&answer.json()["doc_id"]).to_owned())
        .collect();
    assert_eq!(documents.len(), 1);
    let runs = served.get("/v1/runs").await.expect(200);
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(1));
}

async fn what_cannot_be_kept_is_refused_and_leaves_nothing(served: &Served) {
    let large = vec![b'a'; (50 << 20) + 1];
    assert_eq!(
        served.upload("large.txt", large).await.problem(413),
        "too_large"
    );
    let large = vec![b'a'; (50 << 20) + 1];
    let looked_at = served.request(Method::POST, "/v1/extract?filename=large.txt");
    let refused = Answer::of(send(looked_at.body(large)).await).await;
    assert_eq!(refused.problem(413), "too_large");
    let said = refused.json();
    assert!(text(&said["detail"]).contains("52428800"), "{said}");
    assert!(text(&said["hint"]).contains("upload.max_mb"), "{said}");
    let picture = b"\x89PNG\r\n\x1a\n".to_vec();
    let refused = served.upload("claims-to-be.txt", picture).await;
    assert_eq!(refused.problem(415), "unsupported_type");
    let large = [&b"\x89PNG\r\n\x1a\n"[..], &[0; 2 << 20]].concat();
    let refused = served.upload("large-picture.txt", large).await;
    assert_eq!(refused.problem(415), "unsupported_type");
    let large = Part::bytes(vec![b'a'; 2 << 20]).file_name("a.txt");
    let form = Form::new().text("kb", "nowhere").part("file", large);
    let request = served.request(Method::POST, "/v1/ingest").multipart(form);
    assert_eq!(
        Answer::of(send(request).await).await.problem(404),
        "not_found"
    );
    broken_off(served);
    let documents = served.get("/v1/documents?active=all").await.expect(200);
    assert_eq!(documents["items"], json!([]));
    // What was refused is taken away beside the answer.
    let staged = served.mill.data().join("objects/staging");
    while std::fs::read_dir(&staged).map_or(0, Iterator::count) > 0 {
        served.get("/livez").await;
    }
}

/// A client that announces more than it sends, then closes: one file whole, another begun.
fn broken_off(served: &Served) {
    let address = served.base.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /v1/ingest HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: multipart/form-data; boundary=b\r\ncontent-length: 9000000\r\n\r\n\
         --b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"x.txt\"\r\n\r\n",
        served.token
    );
    let next =
        "\r\n--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"y.txt\"\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b'x'; 3 << 20]).unwrap();
    stream.write_all(next.as_bytes()).unwrap();
    stream.write_all(&vec![b'y'; 2 << 20]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    // The server ends the connection once it has given up what came.
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.contains(" 202 "), "{answer}");
}

#[test]
fn a_client_that_stops_sending_is_given_up_and_a_slow_one_is_not() {
    let served = Served::with(Mill::sqlite(), &[("GRISTMILL_HTTP_IDLE_SECONDS", "1")]);
    let address = served.base.strip_prefix("http://").unwrap().to_owned();
    let body = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"slow.txt\"\r\n\r\n\
        Slowly, slowly, a word at a time.\r\n--b--\r\n";
    let head = format!(
        "POST /v1/ingest HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         connection: close\r\ncontent-type: multipart/form-data; boundary=b\r\n\
         content-length: {}\r\n\r\n",
        served.token,
        body.len()
    );
    let mut slow = TcpStream::connect(&address).unwrap();
    slow.set_nodelay(true).unwrap();
    slow.write_all(head.as_bytes()).unwrap();
    for byte in body.as_bytes() {
        slow.write_all(&[*byte]).unwrap();
    }
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");

    let mut stalled = TcpStream::connect(&address).unwrap();
    stalled.write_all(head.as_bytes()).unwrap();
    stalled.write_all(&body.as_bytes()[..90]).unwrap();
    let mut answer = String::new();
    stalled.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert!(answer.contains("broken_upload"), "{answer}");

    // So is one whose file is only looked at.
    let mut stalled = TcpStream::connect(&address).unwrap();
    let head = head.replace("/v1/ingest", "/v1/chunk");
    stalled.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stalled.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
}

#[test]
fn an_upload_under_way_is_finished_when_the_server_is_told_to_stop() {
    let mut served = Served::with(Mill::sqlite(), &[]);
    let address = served.base.strip_prefix("http://").unwrap().to_owned();
    let body = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"late.txt\"\r\n\r\n\
        Late, but whole.\r\n--b--\r\n";
    let head = format!(
        "POST /v1/ingest HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: multipart/form-data; boundary=b\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\n\r\n",
        served.token,
        body.len()
    );
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    // It says so once it reads the body: the request is under way.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100 "));
    served.tell_to_stop();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    assert!(served.ends_well());
    let runs = served.mill.lines(&["runs", "--json"]);
    assert_eq!(runs.len(), 1, "{runs:?}");
}

async fn ticket(served: &Served, size: usize) -> Value {
    let body = json!({ "filename": "rye.txt", "fileSize": size, "contentType": "text/plain" });
    let answer = served.post("/v1/kbs/default/upload-url", &body).await;
    assert_eq!(answer.status, 201, "{}", served.log());
    answer.json()
}

async fn put(served: &Served, url: &str, kind: &str, body: &str) -> Answer {
    let request = served.http.put(url).header("content-type", kind);
    Answer::of(send(request.body(body.to_owned())).await).await
}

async fn a_signed_address_takes_one_file_of_one_length_and_type(served: &Served) {
    let body = "Rye is sown in autumn.";
    let made = ticket(served, body.len()).await;
    let url = text(&made["uploadUrl"]);
    assert!(url.starts_with(&served.base), "{url}");
    assert_eq!(
        put(served, url, "text/plain", "Rye").await.problem(400),
        "invalid_request"
    );
    assert_eq!(
        put(served, url, "text/html", body).await.problem(415),
        "other_type"
    );
    let forged = url.replace(
        text(&made["uploadId"]),
        "0192f0c0-0000-7000-8000-000000000000",
    );
    assert_eq!(
        put(served, &forged, "text/plain", body).await.problem(403),
        "bad_signature"
    );
    let longer = url.replace("expires=", "expires=9");
    assert_eq!(
        put(served, &longer, "text/plain", body).await.problem(403),
        "bad_signature"
    );

    let done = put(served, url, "text/plain", body).await.expect(200);
    assert_eq!(
        done["document_id"], made["documentId"],
        "the promise is kept"
    );
    let once_more = put(served, url, "text/plain", body).await.expect(200);
    assert_eq!(once_more["run_id"], done["run_id"]);
    served.follow(&served.token, text(&done["run_id"])).await;
    let shown = served
        .get(&format!("/v1/uploads/{}", text(&made["uploadId"])))
        .await;
    assert_eq!(shown.expect(200)["state"], "admitted");

    let second = ticket(served, body.len()).await;
    let url = text(&second["uploadUrl"]);
    let same = put(served, url, "text/plain", body).await.expect(200);
    assert_eq!(
        same["document_id"], made["documentId"],
        "the same bytes are the same document"
    );

    let other = served.tenant("other").await;
    let body = json!({ "filename": "x.txt", "fileSize": 1 });
    let kb = served.get("/v1/kbs/default").await.expect(200);
    let path = format!("/v1/kbs/{}/upload-url", text(&kb["id"]));
    assert_eq!(
        served.post_as(&other, &path, &body).await.problem(404),
        "not_found"
    );
    let foreign = format!("/v1/uploads/{}", text(&made["uploadId"]));
    assert_eq!(
        served.get_as(&other, &foreign).await.problem(404),
        "not_found"
    );
    let huge = json!({ "filename": "x.txt", "fileSize": 51 << 20 });
    let huge = served.post("/v1/kbs/default/upload-url", &huge).await;
    assert_eq!(huge.problem(413), "too_large");
    let unsigned = served.bare(
        Method::PUT,
        &format!("{foreign}/content?key=a&expires=1&signature=b"),
    );
    assert_eq!(
        Answer::of(send(unsigned.body("x")).await)
            .await
            .problem(403),
        "bad_signature"
    );
}
