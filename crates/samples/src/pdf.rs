//! PDFs written by hand.

/// What one page holds.
pub enum Page<'t> {
    Text(&'t str),
    /// A font that claims two thousand million characters before its first.
    Poison,
}

/// A file with these pages.
pub fn pdf(pages: &[Page<'_>]) -> Vec<u8> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        String::new(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        "<</Type/Font/Subtype/TrueType/BaseFont/Bad/FirstChar 2000000000/LastChar 2000000001\
         /Widths[500 500]>>"
            .to_owned(),
    ];
    let mut kids = String::new();
    for page in pages {
        let (font, text) = match page {
            Page::Text(text) => (3, *text),
            Page::Poison => (4, "poison"),
        };
        let content = format!("BT /F 12 Tf 72 700 Td ({text}) Tj ET");
        let number = objects.len() + 1;
        kids.push_str(&format!("{number} 0 R "));
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {} 0 R\
             /Resources<</Font<</F {font} 0 R>>>>>>",
            number + 1
        ));
        objects.push(format!(
            "<</Length {}>>stream\n{content}\nendstream",
            content.len()
        ));
    }
    objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len());
    file(&objects)
}

/// Two pages as a press would print them: running heads, an outline, headings, a hyphen at
/// a line end, a list, a ruled table, a drawn form, a link and two fields that are filled in.
pub fn leaflet() -> Vec<u8> {
    let line = |font: &str, size: u8, x: u16, y: u16, text: &str| {
        format!("BT /{font} {size} Tf {x} {y} Td ({text}) Tj ET\n")
    };
    let head = |page: u8| {
        [
            line("R", 9, 72, 750, "The leaflet of mills"),
            line("R", 9, 300, 30, &page.to_string()),
        ]
        .concat()
    };
    let first = [
        head(1),
        line("B", 20, 72, 700, "Of water mills"),
        line(
            "R",
            11,
            72,
            670,
            "The wheel turns in the stream and drives the ma-",
        ),
        line(
            "R",
            11,
            72,
            656,
            "chine that lifts the stone, day after day.",
        ),
        line("B", 14, 72, 620, "1 What is ground"),
        line("R", 11, 72, 600, "\\225 rye and wheat"),
        line("R", 11, 72, 586, "\\225 malt"),
        table(),
    ];
    let second = [
        head(2),
        line("B", 14, 72, 700, "2 Who grinds"),
        line(
            "R",
            11,
            72,
            680,
            "The miller, whose name stands over the door.",
        ),
        line("R", 11, 72, 640, "Name:"),
        "q 1 0 0 1 72 600 cm /X Do Q\n".to_owned(),
    ];
    let stream = |dict: &str, content: &str| {
        format!(
            "<<{dict}/Length {}>>stream\n{content}\nendstream",
            content.len()
        )
    };
    let page = |content: u8, notes: &str| {
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {content} 0 R\
             /Resources<</Font<</R 3 0 R/B 4 0 R>>/XObject<</X 9 0 R>>>>/Annots[{notes}]>>"
        )
    };
    let font = |name: &str| {
        format!("<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding>>")
    };
    file(&[
        "<</Type/Catalog/Pages 2 0 R/Outlines 11 0 R/Lang(en)>>".to_owned(),
        "<</Type/Pages/Kids[5 0 R 7 0 R]/Count 2>>".to_owned(),
        font("Helvetica"),
        font("Helvetica-Bold"),
        page(6, "10 0 R"),
        stream("", &first.concat()),
        page(8, "10 0 R 13 0 R 14 0 R"),
        stream("", &second.concat()),
        stream(
            "/Type/XObject/Subtype/Form/BBox[0 0 200 50]/Resources<</Font<</R 3 0 R>>>>",
            &line("R", 11, 0, 10, "Drawn in a form."),
        ),
        "<</Type/Annot/Subtype/Link/Rect[72 670 300 690]/A<</S/URI/URI(https://example.org/)>>>>"
            .to_owned(),
        "<</Type/Outlines/First 12 0 R/Last 12 0 R/Count 1>>".to_owned(),
        "<</Title(Of water mills)/Parent 11 0 R/Dest[5 0 R/Fit]>>".to_owned(),
        "<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Anna)/Rect[108 636 208 652]\
         /AP<</N 15 0 R>>>>"
            .to_owned(),
        "<</Type/Annot/Subtype/Widget/Parent<</FT/Ch/T(grain)/V(rye flour)>>\
         /Rect[72 560 172 576]>>"
            .to_owned(),
        stream(
            "/Type/XObject/Subtype/Form/BBox[0 0 50 8]/Resources<</Font<</R 3 0 R>>>>",
            "/Tx BMC q BT /R 5.5 Tf 1 2 Td (Anna M.) Tj ET Q EMC",
        ),
    ])
}

/// Two columns and three rows between rulings.
fn table() -> String {
    let mut drawn = String::from("0.5 w\n");
    for y in [500, 520, 540, 560] {
        drawn.push_str(&format!("72 {y} m 272 {y} l S\n"));
    }
    for x in [72, 172, 272] {
        drawn.push_str(&format!("{x} 500 m {x} 560 l S\n"));
    }
    let rows = [("Grain", "Share"), ("rye", "30"), ("wheat", "70")];
    for (row, (grain, share)) in rows.into_iter().enumerate() {
        let y = 546 - 20 * row;
        for (x, text) in [(76, grain), (176, share)] {
            drawn.push_str(&format!("BT /R 11 Tf {x} {y} Td ({text}) Tj ET\n"));
        }
    }
    drawn
}

/// A page for each of these, which are its instructions, deflated.
pub fn packed(contents: &[Vec<u8>]) -> Vec<u8> {
    let kids: String = (0..contents.len())
        .map(|page| format!("{} 0 R ", 4 + 2 * page))
        .collect();
    let mut objects: Vec<Vec<u8>> = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Kids[{kids}]/Count {}>>", contents.len()).into(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_vec(),
    ];
    for content in contents {
        let page = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {} 0 R\
             /Resources<</Font<</F 3 0 R>>>>>>",
            objects.len() + 2
        );
        objects.push(page.into());
        let head = format!("<</Filter/FlateDecode/Length {}>>stream\n", content.len());
        let mut stream = head.into_bytes();
        stream.extend_from_slice(content);
        stream.extend(b"\nendstream");
        objects.push(stream);
    }
    file(&objects)
}

/// A file of these objects, numbered from 1, with its table and trailer.
pub fn file(objects: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n", index + 1).bytes());
        out.extend_from_slice(object.as_ref());
        out.extend(b"\nendobj\n");
    }
    let table = out.len();
    let count = objects.len() + 1;
    out.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let trailer = format!("trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n");
    out.extend(trailer.bytes());
    out
}

/// A book of so many full pages, no two alike.
pub fn book(pages: u32) -> Vec<u8> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        String::new(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
    ];
    let mut kids = String::new();
    for page in 1..=pages {
        let mut content = String::from("BT /F 11 Tf 14 TL 72 720 Td\n");
        for line in 1..=44 {
            let words = "the wheel, the stone and the sack, and what each of them costs";
            content.push_str(&format!("(Page {page}, line {line}: {words}) Tj T*\n"));
        }
        content.push_str("ET");
        let number = objects.len() + 1;
        kids.push_str(&format!("{number} 0 R "));
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {} 0 R\
             /Resources<</Font<</F 3 0 R>>>>>>",
            number + 1
        ));
        let length = content.len();
        objects.push(format!("<</Length {length}>>stream\n{content}\nendstream"));
    }
    objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {pages}>>");
    file(&objects)
}

/// A page that is nothing but this picture: PNG of eight-bit colours, as pages are drawn
/// here. `None` if it is anything else. A PDF takes the packed rows of a PNG as they are.
pub fn scan(png: &[u8]) -> Option<Vec<u8>> {
    let (mut size, mut rows) = (None, Vec::new());
    let mut rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let (kind, after) = after.split_first_chunk::<4>()?;
        let (data, after) = after.split_at_checked(length)?;
        match kind {
            b"IHDR" if data.get(8..10) == Some(&[8, 2]) => {
                let side = |at: usize| data[at..at + 4].try_into().map(u32::from_be_bytes);
                size = Some((side(0).ok()?, side(4).ok()?));
            }
            b"IDAT" => rows.extend_from_slice(data),
            _ => {}
        }
        rest = after.get(4..)?;
    }
    let (width, height) = size?;
    let head = format!(
        "<</Type/XObject/Subtype/Image/Width {width}/Height {height}/BitsPerComponent 8\
         /ColorSpace/DeviceRGB/Filter/FlateDecode\
         /DecodeParms<</Predictor 15/Colors 3/Columns {width}>>/Length {}>>stream\n",
        rows.len()
    );
    let picture = [head.as_bytes(), &rows, b"\nendstream"].concat();
    let content = "q 612 0 0 792 0 0 cm /P Do Q";
    let text = |text: &str| text.as_bytes().to_vec();
    Some(file(&[
        text("<</Type/Catalog/Pages 2 0 R>>"),
        text("<</Type/Pages/Kids[3 0 R]/Count 1>>"),
        text(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
             /Resources<</XObject<</P 5 0 R>>>>>>",
        ),
        format!("<</Length {}>>stream\n{content}\nendstream", content.len()).into(),
        picture,
    ]))
}

/// A page of these instructions, with Helvetica as `/F`.
pub fn drawn(content: &str) -> Vec<u8> {
    let length = content.len();
    file(&[
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
         /Resources<</Font<</F 5 0 R/M 6 0 R>>>>>>"
            .to_owned(),
        format!("<</Length {length}>>stream\n{content}\nendstream"),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/AAAAAA+CMMI10/Encoding/WinAnsiEncoding>>".to_owned(),
    ])
}
