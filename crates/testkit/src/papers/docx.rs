//! A Word file of the few parts every one of them has.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;

use super::Part;

const TYPES: &str = r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"#;

const RELATIONS: &str = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"#;

const STYLES: &str = r#"<?xml version="1.0"?><w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>"#;

const PARTS: &str = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>"#;

pub fn docx(parts: &[Part<'_>]) -> Vec<u8> {
    let body: String = parts.iter().map(part).collect();
    let document = format!(
        r#"<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>"#
    );
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let files = [
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", RELATIONS),
        ("word/document.xml", &document),
        ("word/_rels/document.xml.rels", PARTS),
        ("word/styles.xml", STYLES),
    ];
    for (name, content) in files {
        zip.start_file(name, SimpleFileOptions::default())
            .expect("memory takes any file");
        zip.write_all(content.as_bytes())
            .expect("memory takes any bytes");
    }
    zip.finish().expect("memory takes the end").into_inner()
}

fn part(part: &Part<'_>) -> String {
    match part {
        Part::Title(text) => paragraph("Title", text),
        Part::Heading(text) => paragraph("Heading1", text),
        Part::Text(text) => paragraph("Normal", text),
        Part::Scan => String::new(),
        Part::Table(rows) => {
            let rows = rows.iter().enumerate();
            let rows: String = rows.map(|(at, cells)| row(at == 0, cells)).collect();
            format!("<w:tbl>{rows}</w:tbl>")
        }
    }
}

fn row(is_head: bool, cells: &[&str]) -> String {
    let cell = |text: &&str| format!("<w:tc>{}</w:tc>", paragraph("Normal", text));
    let head = match is_head {
        true => "<w:trPr><w:tblHeader/></w:trPr>",
        false => "",
    };
    format!(
        "<w:tr>{head}{}</w:tr>",
        cells.iter().map(cell).collect::<String>()
    )
}

fn paragraph(style: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        r#"<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>"#
    )
}
