//! The contracts on the wire are those that are written down.

#![expect(
    clippy::disallowed_methods,
    reason = "writes what is kept, when asked to"
)]

use std::path::{Path, PathBuf};

use model::contract::{BatchRequest, ChunkEnvelope, ProcessRequest, UploadNotification};
use schemars::{Schema, schema_for};
use serde_json::{Value, json};

/// Set to write the files anew.
const WRITE: &str = "GRISTMILL_WRITE_CONTRACTS";

fn contracts() -> [(&'static str, Schema); 4] {
    [
        ("upload-notification", schema_for!(UploadNotification)),
        ("chunk-envelope", schema_for!(ChunkEnvelope)),
        ("batch-request", schema_for!(BatchRequest)),
        ("process-request", schema_for!(ProcessRequest)),
    ]
}

fn file(name: &str) -> PathBuf {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/contracts");
    kept.join(format!("{name}.schema.json"))
}

#[test]
fn every_contract_is_written_down_as_it_is() {
    for (name, schema) in contracts() {
        let path = file(name);
        if std::env::var_os(WRITE).is_some() {
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            std::fs::write(&path, text).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            serde_json::from_str(&kept).ok() == Some(schema.to_value()),
            "{name} is not what {} says; if the change is meant, and adds only what may be \
             left out, write it anew with {WRITE}=1",
            path.display()
        );
    }
}

fn request() -> Value {
    json!({
        "job_type": "upload",
        "run_id": "0198a1de-0000-7000-8000-000000000001",
        "doc_id": "0198a1de-0000-7000-8000-000000000002",
        "tenant_id": "0198a1de-0000-7000-8000-000000000003",
        "upload_uri": "objects:///originals/0198a1de-0000-7000-8000-000000000003/00",
        "title": "On mills",
        "source_type": "upload",
        "source_uri": "upload://sha256:00",
        "original_filename": "mills.pdf",
        "content_hash": "5d5b09f6dcb2d53a5fffc60c4ac0d55fabdf556069d6631545f42aa6e3500f2e",
        "embedding_model": "local:all-MiniLM-L6-v2@1a2b3c4d",
        "embedding_dim": 384,
        "submitted_at": "2026-01-01T12:00:00Z",
    })
}

#[test]
fn a_request_to_process_is_read_and_written_field_for_field() {
    let read: ProcessRequest = serde_json::from_value(request()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), request());
}

#[test]
fn only_the_title_of_a_request_may_be_left_out_and_more_may_be_said() {
    for name in request().as_object().unwrap().keys() {
        let mut without = request();
        without.as_object_mut().unwrap().remove(name);
        let read = serde_json::from_value::<ProcessRequest>(without);
        assert_eq!(read.is_ok(), name == "title", "{name}");
    }
    let mut more = request();
    more["priority"] = json!("high");
    assert!(serde_json::from_value::<ProcessRequest>(more).is_ok());
}
