//! Office mathematics on one line, in the notation of TeX.

use crate::xml::Element;

pub(crate) fn linear(element: &Element) -> String {
    let mut out = String::new();
    content(element, &mut out);
    out
}

fn content(parent: &Element, out: &mut String) {
    for element in parent.elements() {
        part(element, out);
    }
}

fn part(element: &Element, out: &mut String) {
    let of = |name: &str| element.child(name).map(linear).unwrap_or_default();
    match element.name.as_str() {
        "m:r" => text(element, out),
        "m:f" => out.push_str(&format!("\\frac{{{}}}{{{}}}", of("m:num"), of("m:den"))),
        "m:sSup" => out.push_str(&format!("{}^{{{}}}", of("m:e"), of("m:sup"))),
        "m:sSub" => out.push_str(&format!("{}_{{{}}}", of("m:e"), of("m:sub"))),
        "m:sSubSup" => {
            out.push_str(&format!(
                "{}_{{{}}}^{{{}}}",
                of("m:e"),
                of("m:sub"),
                of("m:sup")
            ));
        }
        "m:rad" => match of("m:deg") {
            degree if degree.trim().is_empty() => out.push_str(&format!("\\sqrt{{{}}}", of("m:e"))),
            degree => out.push_str(&format!("\\sqrt[{degree}]{{{}}}", of("m:e"))),
        },
        "m:nary" => nary(element, out),
        "m:d" => delimited(element, out),
        "m:limLow" => out.push_str(&format!("{}_{{{}}}", of("m:e"), of("m:lim"))),
        "m:limUpp" => out.push_str(&format!("{}^{{{}}}", of("m:e"), of("m:lim"))),
        "m:func" => out.push_str(&format!("{} {}", of("m:fName"), of("m:e"))),
        "m:mr" => row(element, out),
        name if name.ends_with("Pr") => {}
        "w:del" | "w:moveFrom" => {}
        _ => content(element, out),
    }
}

fn text(run: &Element, out: &mut String) {
    for element in run.elements() {
        if matches!(element.name.as_str(), "m:t" | "w:t") {
            out.push_str(&element.text());
        }
    }
}

fn nary(element: &Element, out: &mut String) {
    let sign = element
        .at(&["m:naryPr", "m:chr"])
        .and_then(|c| c.attribute("val"));
    out.push_str(sign.unwrap_or("\u{222b}"));
    for (name, mark) in [("m:sub", '_'), ("m:sup", '^')] {
        let limit = element.child(name).map(linear).unwrap_or_default();
        if !limit.is_empty() {
            out.push_str(&format!("{mark}{{{limit}}}"));
        }
    }
    out.push(' ');
    out.push_str(&element.child("m:e").map(linear).unwrap_or_default());
}

fn delimited(element: &Element, out: &mut String) {
    let sign = |name: &str, usual: &'static str| {
        let given = element
            .at(&["m:dPr", name])
            .and_then(|c| c.attribute("val"));
        given.map_or_else(|| usual.to_owned(), str::to_owned)
    };
    out.push_str(&sign("m:begChr", "("));
    let parts: Vec<String> = element.children("m:e").map(linear).collect();
    out.push_str(&parts.join(&sign("m:sepChr", "|")));
    out.push_str(&sign("m:endChr", ")"));
}

fn row(element: &Element, out: &mut String) {
    let cells: Vec<String> = element.children("m:e").map(linear).collect();
    out.push_str(&cells.join(" & "));
    out.push_str(" \\\\ ");
}
