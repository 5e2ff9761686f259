//! Clears the content found of what does not belong: link lists, forms, boxes.

use super::chrome;
use super::dom::{Dom, Id};
use super::main_content::Attempt;
use super::measure::{Figures, Measure};
use super::table;

pub(super) fn clean(dom: &mut Dom, kept: &[Id], attempt: Attempt) {
    let tables = in_data_tables(dom);
    for tags in [
        &["form", "fieldset"][..],
        &["table"],
        &["ul", "ol"],
        &["div", "section"],
    ] {
        clean_conditionally(dom, kept, tags, &tables, attempt);
    }
    drop_named(dom, kept);
}

/// Which nodes are tables of data or stand in one.
fn in_data_tables(dom: &Dom) -> Vec<bool> {
    let mut inside = vec![false; dom.len()];
    let mut end = 0;
    for id in dom.all() {
        if id >= end && dom.tag(id) == "table" && table::is_data(dom, id) {
            end = dom.node(id).end;
        }
        inside[id] = id < end;
    }
    inside
}

fn inside(dom: &Dom, holders: &[Id], id: Id) -> bool {
    holders.iter().any(|h| *h < id && id < dom.node(*h).end)
}

/// Boxes for sharing.
fn drop_named(dom: &mut Dom, kept: &[Id]) {
    let measure = Measure::of(dom);
    for id in dom.all() {
        if !inside(dom, kept, id) || !dom.is_element(id) {
            continue;
        }
        let shares = chrome::telling_names(dom, id)
            .split([' ', '_', '-'])
            .any(|word| matches!(word, "share" | "sharedaddy"));
        if shares && measure.chars(dom, id) < 500 {
            dom.drop(id);
        }
    }
}

fn clean_conditionally(
    dom: &mut Dom,
    kept: &[Id],
    tags: &[&str],
    tables: &[bool],
    attempt: Attempt,
) {
    let measure = Measure::of(dom);
    // Inner ones first, so that what they lose no longer speaks for the outer.
    for id in dom.all().rev() {
        let candidate =
            tags.contains(&dom.tag(id)) && inside(dom, kept, id) && !dom.node(id).dropped;
        let spared = || tables[id] || dom.has_ancestor(id, &["code", "pre"]);
        if candidate && !spared() && is_clutter(dom, &measure, id, attempt) {
            dom.drop(id);
        }
    }
}

fn is_clutter(dom: &Dom, measure: &Measure, id: Id, attempt: Attempt) -> bool {
    let weight = if attempt.by_weights {
        chrome::weight(dom, id)
    } else {
        0.0
    };
    if weight < 0.0 {
        return !chrome::is_spared(dom, measure, id);
    }
    let figures = measure.figures(dom, id);
    if figures.commas >= 10 {
        return false;
    }
    let links = measure.link_density(dom, id);
    let is_list = matches!(dom.tag(id), "ul" | "ol")
        || figures.chars > 0 && figures.item_chars as f64 / figures.chars as f64 > 0.9;
    let in_figure = dom.has_ancestor(id, &["figure"]);
    too_pictorial(&figures, in_figure)
        || (!is_list && figures.items > figures.paragraphs + 100)
        || figures.inputs > figures.paragraphs / 3
        || too_thin(&figures, links, is_list, in_figure)
        || (!is_list && weight < 25.0 && links > 0.2)
        || (weight >= 25.0 && links > 0.5)
        || (figures.pictures == 0 && figures.chars == 0)
}

fn too_pictorial(figures: &Figures, in_figure: bool) -> bool {
    figures.pictures > 1 && figures.paragraphs * 2 < figures.pictures && !in_figure
}

fn too_thin(figures: &Figures, links: f64, is_list: bool, in_figure: bool) -> bool {
    let headings = match figures.chars {
        0 => 0.0,
        chars => figures.heading_chars as f64 / chars as f64,
    };
    let pictures = figures.pictures == 0 || figures.pictures > 2;
    !is_list && headings < 0.9 && figures.chars < 25 && pictures && links > 0.0 && !in_figure
}
