//! Documents of every kind, small and made here.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Writes that many files below a folder, of each kind in turn.
pub fn write_documents(folder: &Path, number: usize) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for n in 0..number {
        let (kind, bytes) = document(n)?;
        fs::write(folder.join(format!("{n:03}.{kind}")), bytes)?;
    }
    Ok(())
}

fn document(n: usize) -> io::Result<(&'static str, Vec<u8>)> {
    let title = format!("Mill {n}");
    let said = format!(
        "Mill {n} grinds {} sacks of wheat between two harvests.",
        n * 3
    );
    Ok(match n % 9 {
        0 => (
            "md",
            format!("# {title}\n\n{said}\n\n## Care\n\nOil it.\n").into(),
        ),
        1 => ("txt", format!("{title}\n\n{said}\n").into()),
        2 => ("html", html(&title, &said).into()),
        3 => ("csv", csv(n).into()),
        4 => (
            "json",
            format!(r#"{{"title":"{title}","text":"{said}"}}"#).into(),
        ),
        5 => ("eml", email(&title, &said).into()),
        6 => (
            "rtf",
            format!(r"{{\rtf1\ansi {{\b {title}}}\par {said}\par}}").into(),
        ),
        7 => ("docx", docx(&title, &said)?),
        _ => ("pdf", pdf(&said)),
    })
}

fn html(title: &str, said: &str) -> String {
    format!(
        "<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{said}</p></body></html>"
    )
}

fn csv(n: usize) -> String {
    let row = |at: usize| format!("{at},stone {at} of mill {n}\n");
    let rows: String = (0..20).map(row).collect();
    format!("number,name\n{rows}")
}

fn email(title: &str, said: &str) -> String {
    format!(
        "From: miller@example.org\r\nTo: farmer@example.org\r\nSubject: {title}\r\n\
         Date: Thu, 1 Jan 2026 12:00:00 +0000\r\nContent-Type: text/plain\r\n\r\n{said}\r\n"
    )
}

fn docx(title: &str, said: &str) -> io::Result<Vec<u8>> {
    const TYPES: &str = r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"#;
    const RELATIONS: &str = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"#;
    let paragraph = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let body = format!("{}{}", paragraph(title), paragraph(said));
    let document = format!(
        r#"<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>"#
    );
    let mut archive = ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, text) in [
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", RELATIONS),
        ("word/document.xml", &document),
    ] {
        archive.start_file(name, SimpleFileOptions::default())?;
        archive.write_all(text.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}

/// One page with one line on it.
fn pdf(said: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 720 Td ({said}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R \
         /Resources << /Font << /F1 4 0 R >> >> >>"
            .to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
    ];
    let mut out = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (at, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", out.len());
        out += &format!("{} 0 obj\n{object}\nendobj\n", at + 1);
    }
    let start = out.len();
    let size = objects.len() + 1;
    out += &format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    out.into_bytes()
}
