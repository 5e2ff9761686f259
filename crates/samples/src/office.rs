//! Office documents and books, written part by part.

use crate::{archive, archive_of_bytes};

const W: &str = r#"xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;

/// What an office suite wants to know of the parts before it reads one; our reader does not.
const CONTENT_TYPES: &str = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/>
<Override PartName="/word/numbering.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.numbering+xml"/>
<Override PartName="/word/footnotes.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"/>
<Override PartName="/word/header1.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml"/></Types>"#;

fn relations(entries: &[(&str, &str, &str)]) -> String {
    let entries: String = entries
        .iter()
        .map(|(id, kind, target)| {
            let outside = match *kind {
                "hyperlink" => r#" TargetMode="External""#,
                _ => "",
            };
            format!(r#"<Relationship Id="{id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}" Target="{target}"{outside}/>"#)
        })
        .collect();
    format!(
        r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{entries}</Relationships>"#
    )
}

pub fn docx(body: &str) -> Vec<u8> {
    let styles = format!(
        r#"<w:styles {W}>
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="My own"/><w:basedOn w:val="H1"/></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:type="paragraph" w:styleId="TH"><w:name w:val="Table Heading"/></w:style>
<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style></w:styles>"#
    );
    let numbering = format!(
        r#"<w:numbering {W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>"#
    );
    let notes = format!(
        r#"<w:footnotes {W}><w:footnote w:id="7"><w:p><w:r><w:t>The note.</w:t></w:r></w:p></w:footnote></w:footnotes>"#
    );
    let header = format!(r#"<w:hdr {W}><w:p><w:r><w:t>Running head</w:t></w:r></w:p></w:hdr>"#);
    let document = format!(r#"<w:document {W}><w:body>{body}</w:body></w:document>"#);
    archive(&[
        ("[Content_Types].xml", CONTENT_TYPES),
        (
            "_rels/.rels",
            &relations(&[("r1", "officeDocument", "word/document.xml")]),
        ),
        ("word/document.xml", &document),
        (
            "word/_rels/document.xml.rels",
            &relations(&[
                ("r1", "styles", "styles.xml"),
                ("r2", "numbering", "numbering.xml"),
                ("r3", "footnotes", "footnotes.xml"),
                ("r4", "header", "header1.xml"),
                ("r5", "hyperlink", "https://example.org/mills"),
                ("r6", "hyperlink", "javascript:alert(1)"),
            ]),
        ),
        ("word/styles.xml", &styles),
        ("word/numbering.xml", &numbering),
        ("word/footnotes.xml", &notes),
        ("word/header1.xml", &header),
    ])
}

fn paragraph(properties: &str, content: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>")
}

fn run(text: &str) -> String {
    format!(r#"<w:r><w:t xml:space="preserve">{text}</w:t></w:r>"#)
}

pub fn docx_body() -> String {
    let style = |id: &str| format!(r#"<w:pStyle w:val="{id}"/>"#);
    let list = |num: u8, level: u8| {
        format!(r#"<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num}"/></w:numPr>"#)
    };
    let field = r#"<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>12</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>"#;
    let cell = |properties: &str, text: &str| {
        format!(
            "<w:tc><w:tcPr>{properties}</w:tcPr><w:p>{}</w:p></w:tc>",
            run(text)
        )
    };
    [
        paragraph(&style("H1"), &run("A heading")),
        paragraph(&style("Own"), &run("Of its own style")),
        paragraph(r#"<w:outlineLvl w:val="1"/>"#, &run("By its level")),
        paragraph(
            &style("Loop"),
            &format!(
                "{}<w:ins>{}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>{}",
                run("Kept "),
                run("new"),
                r#"<w:r><w:footnoteReference w:id="7"/></w:r>"#
            ),
        ),
        paragraph("", &format!("{}{field}", run("See page "))),
        paragraph(
            "",
            &format!(
                r#"{}<w:hyperlink r:id="r5">{}</w:hyperlink>{}<w:hyperlink r:id="r6">{}</w:hyperlink>."#,
                run("See "),
                run("all mills"),
                run(", not "),
                run("this"),
            ),
        ),
        paragraph(&list(1, 0), &run("one")),
        paragraph(&list(1, 1), &run("inner")),
        paragraph(&list(1, 0), &run("two")),
        paragraph(&list(2, 0), &run("bullet")),
        paragraph(&style("Code"), &run("let x = 1;")),
        paragraph(&style("Code"), &run("let y = 2;")),
        paragraph("<w:rPr><w:del/></w:rPr>", &run("Joined ")),
        paragraph("", &run("to the next.")),
        format!(
            "<w:tbl><w:tblPr><w:tblLook w:firstRow=\"1\"/></w:tblPr><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
            cell("", "Grain"),
            cell("", "Share"),
            cell(r#"<w:vMerge w:val="restart"/>"#, "rye"),
            cell("", "30"),
            cell("<w:vMerge/>", ""),
            cell("", "31"),
        ),
    ]
    .concat()
}

pub fn pptx() -> Vec<u8> {
    let shape = |kind: &str, text: &str| {
        format!(
            r#"<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"#
        )
    };
    let shapes = [
        shape("body", "A point"),
        shape("title", "The slide"),
        shape("sldNum", "3"),
    ];
    pptx_of(&shapes.concat(), &[])
}

/// One slide with these shapes, and what it leads to by relation, kind and target.
pub fn pptx_of(shapes: &str, leads: &[(&str, &str, &str)]) -> Vec<u8> {
    let names = r#"xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;
    let presentation = format!(
        r#"<p:presentation {names}><p:sldIdLst><p:sldId id="256" r:id="rId2"/></p:sldIdLst></p:presentation>"#
    );
    let slide = format!("<p:sld {names}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>");
    let slides = relations(&[("rId2", "slide", "slides/slide1.xml")]);
    let leads = (!leads.is_empty()).then(|| relations(leads));
    let mut parts = vec![
        ("ppt/presentation.xml", presentation.as_str()),
        ("ppt/_rels/presentation.xml.rels", slides.as_str()),
        ("ppt/slides/slide1.xml", slide.as_str()),
    ];
    parts.extend(
        leads
            .iter()
            .map(|leads| ("ppt/slides/_rels/slide1.xml.rels", leads.as_str())),
    );
    archive(&parts)
}

pub fn xlsx() -> Vec<u8> {
    let x = r#"xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;
    archive(&[
        (
            "xl/workbook.xml",
            &format!(
                r#"<workbook {x}><sheets><sheet name="Yield" sheetId="1" r:id="rId1"/></sheets></workbook>"#
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            &relations(&[
                ("rId1", "worksheet", "worksheets/sheet1.xml"),
                ("rId2", "sharedStrings", "sharedStrings.xml"),
                ("rId3", "styles", "styles.xml"),
            ]),
        ),
        (
            "xl/sharedStrings.xml",
            &format!(
                "<sst {x}><si><t>Grain</t></si><si><r><t>Sown </t></r><r><t>on</t></r></si></sst>"
            ),
        ),
        (
            "xl/styles.xml",
            &format!(
                r#"<styleSheet {x}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            &format!(
                r#"<worksheet {x}><sheetData><row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row><c r="A2" t="inlineStr"><is><t>rye</t></is></c><c r="B2"><v>30</v></c><c r="C2" s="1"><v>45000</v></c></row><row><c r="A3"/><c r="B3"><v>31</v></c></row></sheetData><mergeCells count="2"><mergeCell ref="A2:A3"/><mergeCell ref="A1:B1"/></mergeCells></worksheet>"#
            ),
        ),
    ])
}

pub const ODT_MIMETYPE: (&str, &[u8]) = ("mimetype", b"application/vnd.oasis.opendocument.text");

/// The content part of an OpenDocument text with this body.
pub fn odt_content(body: &str) -> String {
    let names = r#"xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0""#;
    format!(
        "<office:document-content {names}><office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
}

pub fn odt() -> Vec<u8> {
    let body = r#"<text:h text:outline-level="2">A heading</text:h><text:p>Some<text:s text:c="2"/>text<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>The note.</text:p></text:note-body></text:note>.</text:p><text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner</text:p></text:list-item></text:list></text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>"#;
    odt_of(body)
}

/// An OpenDocument text with this body and no styles.
pub fn odt_of(body: &str) -> Vec<u8> {
    let content = odt_content(body);
    archive_of_bytes(&[ODT_MIMETYPE, ("content.xml", content.as_bytes())])
}

pub fn epub() -> Vec<u8> {
    let chapter = |n: u8| {
        format!(
            r#"<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body><h1 id="c{n}">Chapter {n}</h1><p>Text of {n}.</p></body></html>"#
        )
    };
    archive(&[
        ("mimetype", "application/epub+zip"),
        (
            "META-INF/container.xml",
            r#"<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>"#,
        ),
        (
            "OEBPS/content.opf",
            r#"<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The book</dc:title><dc:creator>Ann</dc:creator><dc:language>en</dc:language></metadata><manifest><item id="a" href="a%20b.xhtml"/><item id="b" href="two.xhtml"/></manifest><spine><itemref idref="b"/><itemref idref="a"/></spine></package>"#,
        ),
        ("OEBPS/a b.xhtml", &chapter(2)),
        ("OEBPS/two.xhtml", &chapter(1)),
    ])
}

/// The parts a reader of an archive looks for, by the file's name; none if it is no archive.
pub fn parts(name: &str) -> Option<&'static [&'static str]> {
    Some(match name.rsplit('.').next()? {
        "docx" => &[
            "word/document.xml",
            "word/_rels/document.xml.rels",
            "word/styles.xml",
            "word/numbering.xml",
            "word/footnotes.xml",
            "word/header1.xml",
        ],
        "pptx" => &[
            "ppt/presentation.xml",
            "ppt/_rels/presentation.xml.rels",
            "ppt/slides/slide1.xml",
        ],
        "xlsx" => &[
            "xl/workbook.xml",
            "xl/_rels/workbook.xml.rels",
            "xl/sharedStrings.xml",
            "xl/styles.xml",
            "xl/worksheets/sheet1.xml",
        ],
        "odt" => &["content.xml", "mimetype"],
        "epub" => &[
            "META-INF/container.xml",
            "OEBPS/content.opf",
            "OEBPS/two.xhtml",
        ],
        _ => return None,
    })
}
