//! PDFs written by hand, as small as they can be.

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

fn file(objects: &[String]) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).bytes());
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
