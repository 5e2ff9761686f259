//! Documents printed by an office suite, real and pretended.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use samples::pdf::Page;
use sandbox::{Error, Office, Program, Sandbox, Settings};
use tempfile::TempDir;

fn sandbox(office: Office) -> Sandbox {
    let settings = Settings {
        children: 1,
        office: Some(office),
        ..Settings::default()
    };
    let program = Program::new(env!("CARGO_BIN_EXE_sandbox-test-child"), &[]);
    Sandbox::new(settings, program)
}

/// An office suite that does what the script says; its home is the document's folder.
fn pretended(folder: &TempDir, script: &str) -> Office {
    let (program, scratch) = (folder.path().join("office"), folder.path().join("scratch"));
    std::fs::create_dir(&scratch).unwrap();
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    Office::new(program, scratch)
}

async fn printed(office: Office) -> Result<Bytes, Error> {
    let scratch = office.scratch.clone();
    let ended = sandbox(office).print(Bytes::from_static(b"words")).await;
    let left = std::fs::read_dir(scratch).unwrap().count();
    assert_eq!(left, 0, "nothing of a document stays behind");
    ended
}

#[tokio::test]
async fn who_prints_sees_the_document_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "sesame\n").unwrap();
    // A shell that stays one process: what it is built with has to do.
    let script = format!(
        r#"read words <"$HOME/document.docx"
printf %s "$words" >"$HOME/document.pdf"
if true <'{0}' || true >>'{0}' || true </etc/passwd || true </proc/1/cmdline || kill -0 "$PPID"; then
    printf %s escaped >>"$HOME/document.pdf"
fi
exit 0"#,
        secret.display()
    );
    let pdf = printed(pretended(&folder, &script)).await.unwrap();
    assert_eq!(pdf, "words");
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "sesame\n");
}

#[tokio::test]
async fn who_prints_is_one_process_and_changes_no_modes() {
    for script in [
        r#"echo done >"$HOME/document.pdf"; (true); exit 0"#,
        r#"echo done >"$HOME/document.pdf"; exec chmod 777 "$HOME/document.pdf""#,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ended = printed(pretended(&folder, script)).await;
        assert!(
            matches!(ended, Err(Error::Tool { .. })),
            "{script}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn who_prints_neither_signals_nor_slows_others_nor_changes_their_files_nor_lifts_its_limits()
{
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("private");
    std::fs::write(&file, "sesame\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    // It waits for words until this test hangs up.
    let mut other = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let document = format!("{} {}", other.id(), file.display());
    let hostile = Office {
        program: PathBuf::from(env!("CARGO_BIN_EXE_sandbox-test-child")),
        ..pretended(&folder, "")
    };
    let allowed = sandbox(hostile).print(document.into()).await.unwrap();
    assert_eq!(allowed, "nothing else");
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success(), "it was sent a signal");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_second_start_has_no_more_time_than_the_first_left() {
    let script = r#"if test -e "$HOME/once"; then echo done >"$HOME/document.pdf"; exit 0; fi
echo new >"$HOME/once"; exit 81"#;
    let folder = tempfile::tempdir().unwrap();
    let office = Office {
        // The first second that was begun is gone.
        cpu: Duration::from_secs(1),
        ..pretended(&folder, script)
    };
    let ended = printed(office).await;
    assert!(matches!(ended, Err(Error::Tool { .. })), "{ended:?}");
}

#[tokio::test]
async fn who_never_ends_or_writes_without_end_is_ended() {
    for script in [
        "while :; do :; done",
        r#"while :; do echo and more and more and more; done >"$HOME/heap""#,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("echo done >\"$HOME/document.pdf\"\n{script}");
        let office = Office {
            cpu: Duration::from_secs(1),
            wall: Duration::from_secs(3),
            scratch_bytes: 64 << 10,
            ..pretended(&folder, &script)
        };
        let ended = printed(office).await;
        assert!(
            matches!(ended, Err(Error::Tool { .. })),
            "{script}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn who_does_not_listen_when_its_cpu_time_is_over_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let office = Office {
        cpu: Duration::from_secs(1),
        wall: Duration::from_secs(3600),
        ..pretended(&folder, "trap '' XCPU; while :; do :; done")
    };
    let ended = printed(office).await.unwrap_err();
    assert!(ended.to_string().contains("signal: 9"), "{ended}");
}

#[tokio::test]
async fn a_link_a_pipe_or_nothing_in_the_place_of_a_print_is_refused() {
    for script in [
        r#"exec ln -s "$HOME/document.docx" "$HOME/document.pdf""#,
        r#"exec mkfifo "$HOME/document.pdf""#,
        "exit 0",
        "exit 1",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ended = printed(pretended(&folder, script)).await;
        assert!(
            matches!(ended, Err(Error::Tool { .. })),
            "{script}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn an_office_that_wants_a_second_start_gets_one_and_no_third() {
    let second = r#"if test -e "$HOME/once"; then echo done >"$HOME/document.pdf"; exit 0; fi
echo new >"$HOME/once"; exit 81"#;
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(printed(pretended(&folder, second)).await.unwrap(), "done\n");
    let folder = tempfile::tempdir().unwrap();
    let never = printed(pretended(&folder, "exit 81")).await;
    assert!(matches!(never, Err(Error::Tool { .. })), "{never:?}");
}

#[tokio::test]
async fn libreoffice_prints_a_document_where_it_is_installed() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(office) = libreoffice(&scratch) else {
        return;
    };
    let sandbox = sandbox(office);
    let document = samples::office::docx(&samples::office::docx_body());
    let pdf = sandbox.print(document.into()).await.unwrap();
    let read = sandbox.read_print(pdf.clone()).await.unwrap();
    assert_eq!(read.media_type, "application/pdf");
    assert_eq!(read.pages.len(), 1, "{:?}", read.pages);
    assert!(read.text.contains("A heading"), "{}", read.text);
    let png = sandbox.render(pdf, 1, 0.5).await.unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");

    // It reads HTML, too, but not when it is to read DOCX.
    let other = Bytes::from_static(b"<html><p>words</p></html>");
    let refused = sandbox.print(other).await;
    assert!(matches!(refused, Err(Error::Tool { .. })), "{refused:?}");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}

#[tokio::test]
async fn libreoffice_follows_no_link_out_of_a_document() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(office) = libreoffice(&scratch) else {
        return;
    };
    let host = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let secrets = tempfile::tempdir().unwrap();
    let (picture, words) = (
        secrets.path().join("secret.png"),
        secrets.path().join("secret.txt"),
    );
    std::fs::write(&words, "open sesame").unwrap();
    let drawn = parse::pdf::render_page(&samples::pdf::pdf(&[Page::Text("sesame")]), 1, 1.0);
    std::fs::write(&picture, drawn.unwrap().png).unwrap();
    let address = host.local_addr().unwrap();
    let document = linking(
        &[
            format!("file://{}", picture.display()),
            format!("http://{address}/picture.png"),
        ],
        &format!("file://{}", words.display()),
    );
    let sandbox = sandbox(office);
    let pdf = sandbox.print(document.into()).await.unwrap();
    let nobody = host.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    let read = sandbox.read_print(pdf.clone()).await.unwrap();
    assert!(read.text.contains("Before the links"), "{}", read.text);
    assert!(!read.text.contains("sesame"), "{}", read.text);
    let embedded = pdf.windows(14).any(|part| part == b"/Subtype/Image");
    assert!(!embedded, "a picture was taken from outside");
}

/// A document that draws pictures and includes a text from elsewhere.
fn linking(pictures: &[String], text: &str) -> Vec<u8> {
    const KINDS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const DRAWING: &str = "http://schemas.openxmlformats.org/drawingml/2006";
    let relations: String = (1..)
        .zip(pictures)
        .map(|(at, target)| format!(r#"<Relationship Id="p{at}" Type="{KINDS}/image" Target="{target}" TargetMode="External"/>"#))
        .collect();
    let drawings: String = (1..=pictures.len())
        .map(|at| format!(r#"<w:p><w:r><w:drawing><wp:inline><wp:extent cx="990000" cy="990000"/><wp:docPr id="{at}" name="p{at}"/><a:graphic><a:graphicData uri="{DRAWING}/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="{at}" name="p{at}"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:link="p{at}"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="990000" cy="990000"/></a:xfrm><a:prstGeom prst="rect"/></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>"#))
        .collect();
    let document = format!(
        r#"<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="{KINDS}" xmlns:a="{DRAWING}/main" xmlns:pic="{DRAWING}/picture" xmlns:wp="{DRAWING}/wordprocessingDrawing"><w:body><w:p><w:r><w:t>Before the links</w:t></w:r></w:p>{drawings}<w:p><w:fldSimple w:instr=" INCLUDETEXT &quot;{text}&quot; "><w:r><w:t>kept</w:t></w:r></w:fldSimple></w:p></w:body></w:document>"#
    );
    samples::archive(&[
        (
            "[Content_Types].xml",
            r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"#,
        ),
        (
            "_rels/.rels",
            &format!(
                r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="{KINDS}/officeDocument" Target="word/document.xml"/></Relationships>"#
            ),
        ),
        (
            "word/_rels/document.xml.rels",
            &format!(
                r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{relations}</Relationships>"#
            ),
        ),
        ("word/document.xml", &document),
    ])
}

fn libreoffice(scratch: &TempDir) -> Option<Office> {
    let office = installed("soffice").and_then(|at| Office::behind(&at, scratch.path()));
    if office.is_none() {
        let needed = std::env::var_os("GRISTMILL_OFFICE").is_some();
        assert!(!needed, "LibreOffice is not installed");
        eprintln!("LibreOffice is not installed: this was not tried (`make office`)");
    }
    office
}

fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file: &PathBuf| Path::is_file(file))
}
